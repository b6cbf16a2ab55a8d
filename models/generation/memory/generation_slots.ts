/**
 * Plans the sizes of a generation: as many slots as there are branches, or as fit its memory
 * limits. The prompt cache then has room for about twice the prompts whose branches fill the slots.
 * So a prompt rarely has to wait because of a branch that takes long or because of gaps in the
 * cache.
 */
import { largestThat } from "./largest_that.ts";
import { rowsFor } from "../decoder.ts";
import { promptAlignment } from "../cache/cached_prompt.ts";
import { countGeneration, type GenerationSizes } from "./counted_generation.ts";
import { maxOf, mean } from "../../../core/statistics.ts";
import type { ModelSizes } from "../../network/weights/model_sizes.ts";
import type { DialogueRoom, GenerateRequest } from "../types.ts";

/**
 * Prompt rows in one prefill, enough for the matrix products' full speed: on a CPU, and on a GPU.
 */
export const PREFILL_ROWS = 1024, PREFILL_ROWS_GPU = 16384;

/** The part of a request that its memory depends on. */
type RequestSize = Pick<GenerateRequest, "n"> & { promptIds: { readonly length: number } };

/** What else its memory depends on. */
type SampledSizes = Pick<GenerationSizes, "adjusted" | "kvCacheDtype">;

export interface SlotLimits {
  /** Maximum number of bytes of all its buffers, and of each of them. */
  bytes: number;
  largestBuffer: number;
  maxSlots: number;
  /** Maximum number of prompt rows in one prefill; a longer prompt runs alone. */
  prefillRows: number;
}

/** The largest sizes within the limits, with at least one branch. */
export async function planSlots(
  sizes: ModelSizes,
  requests: readonly RequestSize[],
  { maxNewTokens, adjusted = false, kvCacheDtype }:
    & Pick<GenerationSizes, "maxNewTokens">
    & SampledSizes,
  limits: SlotLimits,
): Promise<GenerationSizes> {
  const align = promptAlignment(sizes.config, kvCacheDtype);
  const sized = requests.filter(({ n }) => n > 0).map(({ n, promptIds: { length } }) => ({
    n,
    length,
    rows: Math.ceil(length / align) * align,
  }));
  // A prefill has one row per token; gaps exist only in the cache.
  const longest = sized.reduce((max, { length }) => Math.max(max, length), limits.prefillRows);
  const passRows = Math.min(longest, sized.reduce((sum, { length }) => sum + length, 0));
  const total = requests.reduce((sum, { n }) => sum + n, 0);
  const most = Math.max(1, Math.min(total, limits.maxSlots));
  const fewest = sized.reduce((least, { n }) => Math.min(least, n), Infinity);
  return await largestWithin(sizes, most, limits, (branches) => ({
    promptRows: promptRowsFor(sized, branches),
    promptStates: promptsFor(sized.length, fewest, branches),
    passRows,
    branches,
    maxNewTokens,
    adjusted,
    kvCacheDtype,
  }));
}

/** Dialogues that are between their turns, for each slot. */
const WAITING = 3;
/** The rows that may be missing are tried in so many parts: each try takes a moment. */
const PARTS = 8;

/**
 * The sizes for dialogues, whose prompts grow turn by turn. The slots are for dialogues in the
 * middle. As far as the memory reaches, the caches have room for all dialogues that are under way,
 * prompts at their maximum length and newest answers, so that no turn is computed again.
 */
export async function planDialogues(
  sizes: ModelSizes,
  { prompts, tokens, turnTokens }: DialogueRoom,
  sampled: SampledSizes,
  limits: SlotLimits,
): Promise<GenerationSizes> {
  const align = promptAlignment(sizes.config, sampled.kvCacheDtype);
  const longest = sizes.config.maxPositions - 1;
  const lengths = prompts.map((length) => Math.min(longest, length + Math.max(0, tokens - 1)));
  const rows = lengths.map((length) => Math.ceil(length / align) * align);
  const requests = prompts.map((length) => ({
    n: 1,
    promptIds: { length: Math.min(longest, length + Math.floor(tokens / 2)) },
  }));
  const first = await planSlots(sizes, requests, { maxNewTokens: turnTokens, ...sampled }, limits);
  const most = maxOf(rows), underWay = Math.min(prompts.length, (1 + WAITING) * first.branches);
  // Twice: a prompt begins with a copy of the one before it.
  const all = Math.ceil(2 * mean(rows) * underWay / align) * align;
  const computed = lengths.reduce((sum, length) => sum + length, 0);
  const passRows = Math.max(maxOf(lengths), Math.min(limits.prefillRows, computed));
  const least = Math.max(most, first.promptRows), more = Math.max(0, all - least);
  const { promptStates: states = first.branches } = first;
  const sized = (parts: number) => ({
    ...first,
    passRows,
    promptRows: least + Math.ceil(more * parts / PARTS / align) * align,
    // At the ends of a prompt, of its answer, and of the prompt that goes on with them.
    promptStates: states + Math.ceil(Math.max(0, 3 * underWay - states) * parts / PARTS),
    // A card computes prompts as a whole, and reads the cache of branches in equal runs.
    ...(sizes.card === null && {
      branchRows: rowsFor(turnTokens) * (first.branches + Math.ceil(underWay * parts / PARTS)),
    }),
  });
  return await largestWithin(sizes, more > 0 ? PARTS : 0, limits, sized, 0);
}

/** The sizes of the largest number, from `least` to `most`, whose memory is within the limits. */
async function largestWithin(
  sizes: ModelSizes,
  most: number,
  { bytes, largestBuffer }: Pick<SlotLimits, "bytes" | "largestBuffer">,
  sizesOf: (number: number) => GenerationSizes,
  least = 1,
): Promise<GenerationSizes> {
  const limited = Number.isFinite(bytes) || Number.isFinite(largestBuffer);
  const left = async (number: number) => {
    const count = await countGeneration(sizes, sizesOf(number));
    return Math.min(bytes - count.bytes, largestBuffer - count.largest);
  };
  return sizesOf(limited && most > least ? Math.max(least, await largestThat(most, left)) : most);
}

/**
 * Number of rows of the prompt cache for `branches` slots. Assumes that half of each request's
 * branches have ended. (They end at different times, and the last one keeps the prompt.) The result
 * is the largest number of rows that consecutive requests then need, plus three of the longest
 * prompts: one that is prefilled next, one whose rows others reuse (../cache/cached_prompt.ts), and
 * one for gaps.
 */
function promptRowsFor(
  requests: readonly { n: number; rows: number }[],
  branches: number,
): number {
  let first = 0, held = 0, count = 0, maxHeld = 0, longest = 0, all = 0;
  for (const { n, rows } of requests) {
    all += rows;
    held += rows;
    count += Math.ceil(n / 2);
    for (;;) {
      const oldest = requests[first]!, left = count - Math.ceil(oldest.n / 2);
      if (left < branches) break;
      count = left;
      held -= oldest.rows;
      first++;
    }
    maxHeld = Math.max(maxHeld, held);
    longest = Math.max(longest, rows);
  }
  return Math.min(all, maxHeld + 3 * longest);
}

/** The same number of prompts, which have `each` branches or more. */
function promptsFor(prompts: number, each: number, branches: number): number {
  return Math.min(prompts, Math.ceil(branches / Math.ceil(each / 2)) + 3);
}

/** More equal requests than these change no plan. */
const MAX_REQUESTS = 2 ** 16;

/** `planSlots` for requests of `each` completions whose prompts have `length` tokens. */
export function planEqualRequests(
  sizes: ModelSizes,
  { prompts, each, length }: { prompts: number; each: number; length: number },
  generation: Pick<GenerationSizes, "maxNewTokens"> & SampledSizes,
  limits: SlotLimits,
): Promise<GenerationSizes> {
  const request = { n: each, promptIds: { length } };
  const requests = Array<RequestSize>(Math.min(prompts, MAX_REQUESTS)).fill(request);
  return planSlots(sizes, requests, generation, limits);
}

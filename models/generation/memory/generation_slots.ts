/**
 * Plans the sizes of a generation: as many slots as there are branches, or as fit its memory
 * limits. The prompt cache then has room for about twice the prompts whose branches fill the slots.
 * So a prompt rarely has to wait because of a branch that takes long or because of gaps in the
 * cache.
 */
import { promptAlignment } from "../cache/cached_prompt.ts";
import {
  type GenerationSizes,
  planGenerationBytes,
  planLargestBuffer,
} from "./generation_bytes.ts";
import type { ModelSizes } from "../../network/weights/model_sizes.ts";
import type { GenerateRequest } from "../types.ts";

/**
 * Prompt rows in one prefill, enough for the matrix products' full speed: on a CPU, and on a GPU.
 */
export const PREFILL_ROWS = 1024, PREFILL_ROWS_GPU = 16384;

/** The part of a request that its memory depends on. */
type RequestSize = Pick<GenerateRequest, "n"> & { promptIds: { readonly length: number } };

/** Limits on the sizes of a generation. */
export interface SlotLimits {
  /** Maximum number of bytes of all its buffers, and of each of them. */
  bytes: number;
  largestBuffer: number;
  /** Maximum number of branches that decode together. */
  maxSlots: number;
  /** Maximum number of prompt rows in one prefill; a longer prompt runs alone. */
  prefillRows: number;
}

/** The largest sizes within the limits, with at least one branch. */
export function planSlots(
  sizes: ModelSizes,
  requests: readonly RequestSize[],
  { maxNewTokens, adjusted }: Pick<GenerationSizes, "maxNewTokens" | "adjusted">,
  { bytes, largestBuffer, maxSlots, prefillRows }: SlotLimits,
): GenerationSizes {
  const align = promptAlignment(sizes.config);
  const sized = requests.filter(({ n }) => n > 0).map(({ n, promptIds: { length } }) => ({
    n,
    length,
    rows: Math.ceil(length / align) * align,
  }));
  // A prefill has one row per token; gaps exist only in the cache.
  const longest = sized.reduce((max, { length }) => Math.max(max, length), prefillRows);
  const passRows = Math.min(longest, sized.reduce((sum, { length }) => sum + length, 0));
  const total = requests.reduce((sum, { n }) => sum + n, 0);
  const shape = (branches: number): GenerationSizes => ({
    promptRows: promptRowsFor(sized, branches),
    passRows,
    branches,
    maxNewTokens,
    adjusted: adjusted ?? false,
  });
  let low = 1, high = Math.max(1, Math.min(total, maxSlots));
  while (low < high) {
    const middle = Math.ceil((low + high) / 2), tried = shape(middle);
    const fits = planGenerationBytes(sizes, tried) <= bytes &&
      planLargestBuffer(sizes, tried) <= largestBuffer;
    if (fits) low = middle;
    else high = middle - 1;
  }
  return shape(low);
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

/**
 * The result of `planSlots` without memory limits for `prompts` requests of `each` completions
 * whose prompts have `length` tokens. It needs no list, since there may be millions of requests.
 */
export function planEqualRequests(
  sizes: ModelSizes,
  { prompts, each, length }: { prompts: number; each: number; length: number },
  { maxSlots, prefillRows }: Pick<SlotLimits, "maxSlots" | "prefillRows">,
): Required<Pick<GenerationSizes, "promptRows" | "passRows" | "branches">> {
  const align = promptAlignment(sizes.config), rows = Math.ceil(length / align) * align;
  const branches = Math.max(1, Math.min(prompts * each, maxSlots));
  const held = Math.ceil(branches / Math.ceil(each / 2)) + 3;
  return {
    promptRows: rows * Math.min(prompts, held),
    passRows: Math.min(Math.max(prefillRows, length), prompts * length),
    branches,
  };
}

/**
 * Takes the prompts of the next prefill from the queue: finds which of their beginnings are in the
 * cache, and gives them rows of it.
 */
import type { RopeScaling } from "../architectures/rope_scaling.ts";
import {
  type CachedPrompt,
  type RowAllocator,
  type RowRange,
  sharedPrefixOf,
} from "./cache/cached_prompt.ts";
import { type PrefillPrompt, sharedPrefixLength } from "./cache/prefill_batch.ts";
import { type KeptPrompt, type PromptCache, sourceOf } from "./cache/prompt_cache.ts";
import type { Decoder } from "./decoder.ts";
import type { Job } from "./generation_job.ts";

/** What a prompt shares; without `kept`, with the prompt before it in the batch. */
interface Shared {
  shared: number;
  kept: KeptPrompt<Decoder> | null;
}

/** A prompt that has rows, and what the prefill computes of it. */
export interface PlacedPrompt extends PrefillPrompt {
  job: Job;
  cached: CachedPrompt;
}

/**
 * As many jobs from the start of the queue as the limits allow and as have room, all of one model:
 * the rows of other models are computed by other passes. They get consecutive rows, and a state
 * each where prompts have one. They stay in the queue.
 * @param queue at least one job
 * @param limits of a prefill; the first prompt is always taken
 * @returns null when there is no room for the first of them
 */
export function nextPrompts(
  queue: readonly Job[],
  kept: PromptCache<Decoder>,
  cache: RowAllocator,
  limits: { branches: number; rows: number },
  scaling: RopeScaling | null,
): PlacedPrompt[] | null {
  const { decoder } = queue[0]!, chosen: Shared[] = [], { align, states } = cache;
  let before: readonly number[] = [], branches = 0, rows = 0, wanted = 0;
  for (const { decoder: other, keys, request: { n } } of queue) {
    if (other !== decoder) break;
    let found = beginningOf(keys, before, decoder, kept, scaling);
    const lost = lostAnswer(keys, found.shared);
    // Prompts whose answers are decoded again are computed alone.
    if (lost !== null && chosen.length > 0) break;
    if (lost !== null && found.shared >= lost.begin) {
      // It is decoded from its beginning on, behind a token that is computed.
      found = decoder.hasStates ? NOTHING : { ...found, shared: lost.begin - 1 };
    }
    const computed = keys.length - found.shared;
    if (chosen.length > 0 && (branches >= limits.branches || rows + computed > limits.rows)) break;
    wanted += cacheRows(keys, decoder, align);
    rows += computed;
    branches += n;
    chosen.push(found);
    before = keys;
    if (lost !== null) break;
  }
  const run = states?.freeRows === 0 ? null : cache.allocate(queue[0]!.keys.length, wanted);
  if (run === null) return null;
  const placed: PlacedPrompt[] = [];
  let { begin } = run;
  for (const [i, { shared, kept: source }] of chosen.entries()) {
    const job = queue[i]!, { request: { promptIds: ids, promptId } } = job;
    const end = begin + ids.length;
    if (end > run.end || states?.freeRows === 0) break;
    const state = states?.allocate(1, 1)?.begin;
    const allocatedEnd = Math.min(begin + cacheRows(ids, decoder, align), run.end);
    const sharedPrefix = decoder.usesSharedPrefixes
      ? sharedPrefixOf(source?.prompt ?? placed.at(-1)?.cached ?? null, shared)
      : null;
    const cached = { begin, end, allocatedEnd, references: job.left, sharedPrefix, state };
    if (source !== null) kept.touch(source);
    placed.push({
      job,
      ids,
      promptId,
      cached,
      state,
      shared,
      source: source === null ? null : sourceOf(source),
    });
    begin = allocatedEnd;
  }
  cache.release({ begin, end: run.end });
  return placed;
}

const NOTHING: Shared = { shared: 0, kept: null };

/** Where the longest known beginning of a prompt is: kept, or in the prompt before it. */
function beginningOf(
  keys: readonly number[],
  before: readonly number[],
  decoder: Decoder,
  kept: PromptCache<Decoder>,
  scaling: RopeScaling | null,
): Shared {
  const { sharesPrefixes, hasStates } = decoder;
  if (!sharesPrefixes) return NOTHING;
  const found = kept.best(decoder, keys, scaling, hasStates) ?? NOTHING;
  const shared = hasStates ? 0 : sharedPrefixLength(before, keys, scaling);
  return found.shared > shared ? found : { shared, kept: null };
}

/** The first answer of a prompt whose keys are not all among its first `shared` ones; or null. */
export function lostAnswer(keys: readonly number[], shared: number): RowRange | null {
  const at = keys.findIndex((key, i) => key < 0 && i >= shared);
  if (at < 0) return null;
  const end = keys.findIndex((key, i) => key >= 0 && i > at);
  return { begin: keys.findLastIndex((key, i) => key >= 0 && i < at) + 1, end };
}

/** Rows of the cache that a prompt takes. Prompts that share prefixes each begin aligned. */
function cacheRows(ids: readonly number[], decoder: Decoder, align: number): number {
  return decoder.sharesPrefixes ? Math.ceil(ids.length / align) * align : ids.length;
}

/**
 * Chooses the prompts of the next prefill, finds which of their beginnings are in the cache, and
 * gives them rows of it.
 */
import type { RopeScaling } from "../architectures/rope_scaling.ts";
import {
  type CachedPrompt,
  type PromptSource,
  type RowAllocator,
  type RowRange,
  sharedPrefixOf,
} from "./cache/cached_prompt.ts";
import { type PrefillPrompt, sharedPrefixLength } from "./cache/prefill_batch.ts";
import {
  type KeptPrompt,
  type PromptCache,
  type SharedPrompt,
  sourceOf,
} from "./cache/prompt_cache.ts";
import type { Decoder } from "./decoder.ts";
import type { Job } from "./generation_job.ts";

/** What a prompt shares; without `kept`, with the prompt before it in the batch. */
type Shared = SharedPrompt<Decoder> | { shared: number; kept: null };

/** Limits of a prefill. The first prompt is always taken. */
interface PrefillLimits {
  branches: number;
  rows: number;
  /** Alignment of prompts that share prefixes in the cache. */
  align: number;
}

/**
 * As many jobs from the start of the queue as the limits allow, all of one model: the rows of other
 * models are computed by other passes.
 * @param queue at least one job
 * @returns where the beginning of each prompt is, and how many cache rows all of them take
 */
export function nextPrompts(
  queue: readonly Job[],
  kept: PromptCache<Decoder>,
  limits: PrefillLimits,
  scaling: RopeScaling | null,
): { sources: Shared[]; wanted: number } {
  const { decoder } = queue[0]!, sources: Shared[] = [];
  let before: readonly number[] = [], branches = 0, rows = 0, wanted = 0;
  for (const { decoder: other, keys, request: { n } } of queue) {
    if (other !== decoder) break;
    const { sharesPrefixes, hasStates } = decoder;
    const found = sharesPrefixes ? kept.best(decoder, keys, scaling, hasStates) : null;
    let source = hasStates || !sharesPrefixes
      ? found ?? { shared: 0, kept: null }
      : longerOf(keys, before, found, scaling);
    const lost = lostAnswer(keys, source.shared);
    // Prompts whose answers are decoded again are computed alone.
    if (lost !== null && sources.length > 0) break;
    if (lost !== null && source.shared >= lost.begin) {
      // It is decoded from its beginning on, behind a token that is computed.
      source = hasStates ? { shared: 0, kept: null } : { ...source, shared: lost.begin - 1 };
    }
    const computed = keys.length - source.shared;
    if (sources.length > 0 && (branches >= limits.branches || rows + computed > limits.rows)) break;
    wanted += cacheRows(keys, decoder, limits.align);
    rows += computed;
    branches += n;
    sources.push(source);
    before = keys;
    if (lost !== null) break;
  }
  return { sources, wanted };
}

/** The first answer of a prompt whose keys are not all among its first `shared` ones; or null. */
export function lostAnswer(keys: readonly number[], shared: number): RowRange | null {
  const at = keys.findIndex((key, i) => key < 0 && i >= shared);
  if (at < 0) return null;
  const end = keys.findIndex((key, i) => key >= 0 && i > at);
  return { begin: keys.findLastIndex((key, i) => key >= 0 && i < at) + 1, end };
}

export interface PlacedPrompt {
  job: Job;
  cached: CachedPrompt;
  /** A kept prompt that has its beginning; null = none, or the prompt before it has. */
  source: KeptPrompt<Decoder> | null;
  /** What the prefill computes of it. */
  prefill: PrefillPrompt;
}

/**
 * Gives the first prompts of the queue consecutive rows, as many prompts as fit, and a state each
 * where they have one.
 * @param sources where the beginnings of the prompts are, from `nextPrompts`
 * @param rows free rows, enough for the first prompt
 * @returns the prompts, and the first row that is still free
 */
export function placePrompts(
  queue: readonly Job[],
  sources: readonly Shared[],
  rows: RowRange,
  { align, states }: RowAllocator,
): { placed: PlacedPrompt[]; end: number } {
  const placed: PlacedPrompt[] = [];
  let { begin } = rows;
  for (const [i, { shared, kept }] of sources.entries()) {
    const job = queue[i]!, { decoder, request: { promptIds: ids, promptId } } = job;
    const end = begin + ids.length;
    if (end > rows.end || states?.freeRows === 0) break;
    const state = states?.allocate(1, 1)?.begin;
    const allocatedEnd = Math.min(begin + cacheRows(ids, decoder, align), rows.end);
    const sharedPrefix = decoder.usesSharedPrefixes
      ? sharedPrefixOf(kept?.prompt ?? placed.at(-1)?.cached ?? null, shared)
      : null;
    const cached = { begin, end, allocatedEnd, references: job.left, sharedPrefix, state };
    const source: PromptSource | null = kept === null ? null : sourceOf(kept);
    const prefill = { ids, cached, state, shared, source, promptId };
    placed.push({ job, cached, source: kept, prefill });
    begin = allocatedEnd;
  }
  return { placed, end: begin };
}

function longerOf(
  keys: readonly number[],
  before: readonly number[],
  found: SharedPrompt<Decoder> | null,
  scaling: RopeScaling | null,
): Shared {
  const shared = sharedPrefixLength(before, keys, scaling);
  return found !== null && found.shared > shared ? found : { shared, kept: null };
}

/** Rows of the cache that a prompt takes. Prompts that share prefixes each begin aligned. */
function cacheRows(ids: readonly number[], decoder: Decoder, align: number): number {
  return decoder.sharesPrefixes ? Math.ceil(ids.length / align) * align : ids.length;
}

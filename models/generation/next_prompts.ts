/**
 * Chooses the prompts of the next prefill, finds which of their beginnings are in the cache, and
 * gives them rows of it.
 */
import type { RopeScaling } from "../architectures/rope_scaling.ts";
import {
  type CachedPrompt,
  type RowAllocator,
  type RowRange,
  sharedPrefixOf,
} from "./cache/cached_prompt.ts";
import { type PrefillPrompt, sharedPrefixLength } from "./cache/prefill_batch.ts";
import type { PromptCache, SharedPrompt } from "./cache/prompt_cache.ts";
import type { Decoder } from "./decoder.ts";
import type { Job } from "./generation_job.ts";

/** What a prompt shares; without `prompt`, with the prompt before it in the batch. */
type PromptSource = SharedPrompt | { shared: number; prompt: null };

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
): { sources: PromptSource[]; wanted: number } {
  const { decoder } = queue[0]!, sources: PromptSource[] = [];
  let before: readonly number[] = [], branches = 0, rows = 0, wanted = 0;
  for (const { decoder: other, request: { promptIds, n } } of queue) {
    if (other !== decoder) break;
    const { sharesPrefixes, hasStates } = decoder;
    const found = sharesPrefixes ? kept.best(decoder, promptIds, scaling, hasStates) : null;
    const source = hasStates || !sharesPrefixes
      ? found ?? { shared: 0, prompt: null }
      : sourceOf(promptIds, before, found, scaling);
    const computed = promptIds.length - source.shared;
    if (sources.length > 0 && (branches >= limits.branches || rows + computed > limits.rows)) break;
    wanted += cacheRows(promptIds, decoder, limits.align);
    rows += computed;
    branches += n;
    sources.push(source);
    before = promptIds;
  }
  return { sources, wanted };
}

export interface PlacedPrompt {
  job: Job;
  cached: CachedPrompt;
  /** A kept prompt that has its beginning; null = none, or the prompt before it has. */
  source: CachedPrompt | null;
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
  sources: readonly PromptSource[],
  rows: RowRange,
  { align, states }: RowAllocator,
): { placed: PlacedPrompt[]; end: number } {
  const placed: PlacedPrompt[] = [];
  let { begin } = rows;
  for (const [i, { shared, prompt: source }] of sources.entries()) {
    const job = queue[i]!, { decoder, request: { promptIds: ids, promptId } } = job;
    const end = begin + ids.length;
    if (end > rows.end || states?.freeRows === 0) break;
    const state = states?.allocate(1, 1)?.begin;
    const allocatedEnd = Math.min(begin + cacheRows(ids, decoder, align), rows.end);
    const sharedPrefix = decoder.usesSharedPrefixes
      ? sharedPrefixOf(source ?? placed.at(-1)?.cached ?? null, shared)
      : null;
    const cached = { begin, end, allocatedEnd, references: job.left, sharedPrefix, state };
    placed.push({ job, cached, source, prefill: { ids, cached, state, shared, source, promptId } });
    begin = allocatedEnd;
  }
  return { placed, end: begin };
}

function sourceOf(
  ids: readonly number[],
  before: readonly number[],
  kept: SharedPrompt | null,
  scaling: RopeScaling | null,
): PromptSource {
  const shared = sharedPrefixLength(before, ids, scaling);
  return kept !== null && kept.shared > shared ? kept : { shared, prompt: null };
}

/** Rows of the cache that a prompt takes. Prompts that share prefixes each begin aligned. */
function cacheRows(ids: readonly number[], decoder: Decoder, align: number): number {
  return decoder.sharesPrefixes ? Math.ceil(ids.length / align) * align : ids.length;
}

/** Chooses the prompts of the next prefill, and which of their beginnings are in the cache. */
import type { RopeScaling } from "../architectures/rope_scaling.ts";
import { sharedPrefixLength } from "./cache/prefill_batch.ts";
import type { PromptCache, SharedPrompt } from "./cache/prompt_cache.ts";
import type { Decoder } from "./decoder.ts";
import type { Job } from "./generation_job.ts";

/** What a prompt shares; without `prompt`, with the prompt before it in the batch. */
type PromptSource = SharedPrompt | { shared: number; prompt: null };

/** Limits of a prefill. The first prompt is always taken. */
interface PrefillLimits {
  /** Free slots. */
  branches: number;
  /** Maximum number of rows that are computed. */
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
    const source = decoder.sharesPrefixes
      ? sourceOf(promptIds, before, kept.best(decoder, promptIds, scaling), scaling)
      : { shared: 0, prompt: null };
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
export function cacheRows(ids: readonly number[], decoder: Decoder, align: number): number {
  return decoder.sharesPrefixes ? Math.ceil(ids.length / align) * align : ids.length;
}

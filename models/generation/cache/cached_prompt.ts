/**
 * A prompt in the KV cache. It stays there as long as branches read it. Prompts with a common
 * prefix all read the prefix from one of them. A decode step then reads these rows in one place,
 * and the CPU's caches hold them once for all these prompts.
 */
import { PANEL } from "../../../kernels/ops/matmul/spec.ts";
import { VIEW_ALIGNMENT } from "../../../kernels/tensor.ts";
import type { ModelConfig } from "../../architectures/model_config.ts";
import type { RowAllocator, RowRange } from "./row_allocator.ts";

/** Where a prompt is in the cache. */
export interface PromptRows extends RowRange {
  /** Another prompt whose first `rows` rows are the same. */
  sharedPrefix: { prompt: RowRange; rows: number } | null;
}

export interface CachedPrompt extends PromptRows {
  /** End of the rows that were allocated for it. */
  allocatedEnd: number;
  /** Number of branches that read it and of prompts that reuse its rows. */
  references: number;
  sharedPrefix: { prompt: CachedPrompt; rows: number } | null;
}

/**
 * The earlier prompt whose cache rows a prompt reuses, and how many of them.
 * @param before the previous prompt. Normally the result is the prompt that this one reuses; if
 *   that covers less than half of the shared rows, it is the previous prompt itself
 * @param shared number of rows that both have in common
 */
export function sharedPrefixOf(
  before: CachedPrompt | null,
  shared: number,
): CachedPrompt["sharedPrefix"] {
  const rows = Math.floor(shared / PANEL) * PANEL;
  if (before === null || rows === 0) return null;
  const inherited = before.sharedPrefix, common = Math.min(inherited?.rows ?? 0, rows);
  const sharedPrefix = inherited !== null && 2 * common >= rows
    ? { prompt: inherited.prompt, rows: common }
    : { prompt: before, rows };
  sharedPrefix.prompt.references++;
  return sharedPrefix;
}

/** Removes one reference. Without references the rows are released. */
export function releasePrompt(prompt: CachedPrompt, cache: RowAllocator): void {
  if (--prompt.references > 0) return;
  cache.release({ begin: prompt.begin, end: prompt.allocatedEnd });
  if (prompt.sharedPrefix !== null) releasePrompt(prompt.sharedPrefix.prompt, cache);
}

/**
 * Prompts begin at multiples of this number of rows in the cache, so that tensor views and panels
 * of packed keys can begin there.
 */
export function promptAlignment({ numKvHeads, headDim }: ModelConfig): number {
  let rows = VIEW_ALIGNMENT;
  while (rows % 2 === 0 && (rows / 2 * numKvHeads * headDim) % VIEW_ALIGNMENT === 0) rows /= 2;
  return Math.max(rows, PANEL);
}

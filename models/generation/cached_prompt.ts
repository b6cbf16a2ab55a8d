/**
 * A prompt in the KV cache. It stays there as long as branches read it. Prompts that share a prefix
 * refer to one of them for it, so that a decode step reads the rows of the prefix in one place: the
 * CPU's caches then hold them once for all these prompts.
 */
import { PANEL } from "../../kernels/ops/matmul/spec.ts";
import { VIEW_ALIGNMENT } from "../../kernels/tensor.ts";
import type { ModelConfig } from "../architectures/model_config.ts";
import type { RowAllocator } from "./row_allocator.ts";
import type { PromptRows } from "./step_table.ts";

export interface CachedPrompt extends PromptRows {
  /** End of the rows that were allocated for it. */
  allocatedEnd: number;
  /** Number of branches that read it and of prompts that refer to it. */
  references: number;
  sharedPrefix: { prompt: CachedPrompt; rows: number } | null;
}

/**
 * What a prompt refers to for a prefix of `shared` rows that it has in common with the prompt
 * before it. This is the prompt that the one before refers to, unless that covers less than half of
 * the shared rows; then it is the one before.
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

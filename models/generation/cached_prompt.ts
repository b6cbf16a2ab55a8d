/**
 * A prompt in the cache, which stays there as long as branches read it. Prompts that begin alike name one of them, so
 * that a step reads the rows of their beginning in one place: the processor's caches then hold them once for all.
 */
import { PANEL } from "../../kernels/ops/matmul/spec.ts";
import { VIEW_ALIGNMENT } from "../../kernels/tensor.ts";
import type { ModelConfig } from "../architectures/model_config.ts";
import type { RowAllocator } from "./row_allocator.ts";
import type { PromptRows } from "./step_table.ts";

export interface CachedPrompt extends PromptRows {
  /** End of the rows that it was lent. */
  allocatedEnd: number;
  /** Branches that read it, and prompts that name it. */
  references: number;
  sharedPrefix: { prompt: CachedPrompt; rows: number } | null;
}

/**
 * What a prompt names that has its first `shared` rows in common with the one before it: what that one names, unless
 * it is much shorter than what the two have in common.
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

/** One user less; the last one gives the rows back. */
export function releasePrompt(prompt: CachedPrompt, cache: RowAllocator): void {
  if (--prompt.references > 0) return;
  cache.release({ begin: prompt.begin, end: prompt.allocatedEnd });
  if (prompt.sharedPrefix !== null) releasePrompt(prompt.sharedPrefix.prompt, cache);
}

/** Multiples of rows at which a prompt can begin in the cache: those where views can, and panels of packed keys. */
export function promptAlignment({ numKvHeads, headDim }: ModelConfig): number {
  let rows = VIEW_ALIGNMENT;
  while (rows % 2 === 0 && (rows / 2 * numKvHeads * headDim) % VIEW_ALIGNMENT === 0) rows /= 2;
  return Math.max(rows, PANEL);
}

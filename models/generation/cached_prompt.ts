/**
 * A prompt in the cache, which stays there as long as branches read it. Prompts that begin alike name one of them, so
 * that a step reads the rows of their beginning in one place: the processor's caches then hold them once for all.
 */
import { PANEL } from "../../kernels/ops/matmul/spec.ts";
import { VIEW_ALIGNMENT } from "../../kernels/tensor.ts";
import type { ModelConfig } from "../architectures/model_config.ts";
import type { CacheRows } from "./cache_rows.ts";
import type { PromptRows } from "./step_table.ts";

export interface CachedPrompt extends PromptRows {
  /** End of the rows that it was lent. */
  lentEnd: number;
  /** Branches that read it, and prompts that name it. */
  users: number;
  alike: { prompt: CachedPrompt; rows: number } | null;
}

/**
 * What a prompt names that has its first `shared` rows in common with the one before it: what that one names, unless
 * it is much shorter than what the two have in common.
 */
export function alikeOf(before: CachedPrompt | null, shared: number): CachedPrompt["alike"] {
  const rows = Math.floor(shared / PANEL) * PANEL;
  if (before === null || rows === 0) return null;
  const named = before.alike, common = Math.min(named?.rows ?? 0, rows);
  const alike = named !== null && 2 * common >= rows
    ? { prompt: named.prompt, rows: common }
    : { prompt: before, rows };
  alike.prompt.users++;
  return alike;
}

/** One user less; the last one gives the rows back. */
export function leavePrompt(prompt: CachedPrompt, cache: CacheRows): void {
  if (--prompt.users > 0) return;
  cache.give({ begin: prompt.begin, end: prompt.lentEnd });
  if (prompt.alike !== null) leavePrompt(prompt.alike.prompt, cache);
}

/** Multiples of rows at which a prompt can begin in the cache: those where views can, and panels of packed keys. */
export function promptAlignment({ numKvHeads, headDim }: ModelConfig): number {
  let rows = VIEW_ALIGNMENT;
  while (rows % 2 === 0 && (rows / 2 * numKvHeads * headDim) % VIEW_ALIGNMENT === 0) rows /= 2;
  return Math.max(rows, PANEL);
}

/**
 * Packs prompts for one pass of which each may begin as the one before it does: what they have in common is computed
 * once, and its keys and values are copied to the other prompts' rows of the cache. A prompt's rows there are whole
 * and in order, as if it had been alone, so every later sum over them has the same bits.
 */
import type { RowRange } from "./row_allocator.ts";
import { type PackedBatch, packGroups, type PackLimits } from "../network/packing.ts";

/** A prompt to be run. */
export interface PrefillPrompt {
  ids: readonly number[];
  /** Its rows of the cache, one a token. */
  cached: RowRange;
  /** How many of its first tokens come from the prompt before it: less than all. */
  shared: number;
}

/** The prompts' rows that have to be computed, as groups without branches. */
export interface PrefillBatch extends PackedBatch {
  /** Row of the cache for each row. */
  cacheRow: Uint32Array; // [rows]
  /** Rows of the cache that each prompt consists of. */
  keys: Uint32Array; // [prompts, 2]
  /** Rows of the cache to be copied when `cacheRow` are there, and where to. */
  copies: { from: Uint32Array; to: Uint32Array };
}

/** How many of its first tokens `ids` has in common with `before`; the last token is always its own. */
export function sharedPrefixLength(before: readonly number[], ids: readonly number[]): number {
  const limit = Math.min(before.length, ids.length - 1);
  let common = 0;
  while (common < limit && before[common] === ids[common]) common++;
  return common;
}

/** @param before rows of the cache with the prompt that the first one shares a beginning with */
export function packPrefill(
  prompts: readonly PrefillPrompt[],
  before: RowRange | null,
  limits: PackLimits,
): PrefillBatch {
  const packed = packGroups(
    prompts.map(({ ids, shared }) => ({ promptIds: ids.slice(shared), branches: [] })),
    limits,
  );
  const cacheRow = new Uint32Array(packed.rows), keys = new Uint32Array(2 * prompts.length);
  const from: number[] = [], to: number[] = [];
  // Where each token of the prompt before has been computed.
  let origin: number[] = [];
  for (let row = before?.begin ?? 0; row < (before?.end ?? 0); row++) origin.push(row);
  let row = 0;
  prompts.forEach(({ ids, cached: { begin, end }, shared }, p) => {
    origin = origin.slice(0, shared);
    origin.forEach((source, i) => {
      from.push(source);
      to.push(begin + i);
    });
    for (let i = shared; i < ids.length; i++, row++) {
      packed.positions[row] = i;
      cacheRow[row] = begin + i;
      origin.push(begin + i);
    }
    packed.maxPosition = Math.max(packed.maxPosition, ids.length - 1);
    keys.set([begin, end], 2 * p);
  });
  const copies = { from: Uint32Array.from(from), to: Uint32Array.from(to) };
  return { ...packed, cacheRow, keys, copies };
}

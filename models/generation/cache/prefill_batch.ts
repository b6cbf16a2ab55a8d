/**
 * Packs prompts for one prefill in which a prompt may share a prefix with the prompt before it. The
 * prefix is computed once, and its keys and values are copied to the cache rows of the other
 * prompts. Each prompt's rows in the cache are complete and in order, as if it had been alone, so
 * all later sums over them have the same bits.
 */
import { frequencyLength } from "../../architectures/rope_frequencies.ts";
import type { RopeScaling } from "../../architectures/rope_scaling.ts";
import type { RowRange } from "./row_allocator.ts";
import { type PackedBatch, packGroups, type PackLimits } from "../../network/packing.ts";

/** A prompt to be prefilled. */
export interface PrefillPrompt {
  ids: readonly number[];
  /** Its number in the run. */
  promptId: number;
  /** Its rows of the prompt cache, one per token. */
  cached: RowRange;
  /** Number of tokens at its start that are shared with another prompt; less than all of them. */
  shared: number;
  /** Cache rows of an earlier prompt that has them; null = the prompt before it in the batch. */
  source: RowRange | null;
}

/** The rows of the prompts that have to be computed, as groups without branches. */
export interface PrefillBatch extends PackedBatch {
  /** Cache row of each row. */
  cacheRow: Uint32Array; // [rows]
  /** Range of cache rows of each prompt. */
  keys: Uint32Array; // [prompts, 2]
  /** Cache rows that are copied after the rows of `cacheRow` have been written, and where to. */
  copies: { from: Uint32Array; to: Uint32Array };
}

/**
 * Number of tokens that `ids` and `before` have in common at their start, if these have the same
 * keys in both. The last token of `ids` never counts.
 */
export function sharedPrefixLength(
  before: readonly number[],
  ids: readonly number[],
  scaling: RopeScaling | null = null,
): number {
  if (frequencyLength(scaling, before.length) !== frequencyLength(scaling, ids.length)) return 0;
  const limit = Math.min(before.length, ids.length - 1);
  let common = 0;
  while (common < limit && before[common] === ids[common]) common++;
  return common;
}

/** The first prompt cannot share with one before it in the batch. */
export function packPrefill(
  prompts: readonly Omit<PrefillPrompt, "promptId">[],
  limits: PackLimits,
): PrefillBatch {
  const packed = packGroups(
    prompts.map(({ ids, shared }) => ({ promptIds: ids.slice(shared), branches: [] })),
    limits,
  );
  const cacheRow = new Uint32Array(packed.rows), keys = new Uint32Array(2 * prompts.length);
  const from: number[] = [], to: number[] = [];
  // Cache row where each token of the previous prompt was computed.
  let origin: number[] = [];
  let row = 0;
  prompts.forEach(({ ids, cached: { begin, end }, shared, source }, p) => {
    origin = source === null
      ? origin.slice(0, shared)
      : Array.from({ length: shared }, (_, i) => source.begin + i);
    origin.forEach((source, i) => {
      from.push(source);
      to.push(begin + i);
    });
    for (let i = shared; i < ids.length; i++, row++) {
      packed.positions[row] = i;
      packed.lengths[row] = ids.length;
      cacheRow[row] = begin + i;
      origin.push(begin + i);
    }
    packed.maxPosition = Math.max(packed.maxPosition, ids.length - 1);
    keys.set([begin, end], 2 * p);
  });
  const copies = { from: Uint32Array.from(from), to: Uint32Array.from(to) };
  return { ...packed, cacheRow, keys, copies };
}

/**
 * Packs prompts for one prefill on a device whose attention reads only keys of the batch.
 * Neighbours that share a prefix become branches of it, as completions are branches of their
 * prompt, so it is computed once. Left out: prefixes shared with prompts of an earlier batch. Where
 * attention can read them in the cache, prefill_batch.ts is used.
 */
import type { RopeScaling } from "../../architectures/rope_scaling.ts";
import { type PackedBatch, packGroups, type PackLimits } from "../../network/packing.ts";
import { sharedPrefixLength } from "./prefill_batch.ts";

/** Sharing fewer tokens is not worth the copies of their keys and values. */
export const MIN_SHARED_TOKENS = 16;

/** Prompts, and the number of leading tokens that are computed once for all of them. */
interface PromptGroup {
  common: number;
  prompts: (readonly number[])[];
}

export interface PrefillGroups extends PackedBatch {
  /**
   * Row of the batch for each token of each prompt, one prompt after the other. Null when these are
   * all rows in order.
   */
  rowOfToken: Uint32Array | null;
}

/**
 * A prompt joins the group before it when the group saves at least as many rows then, even if it
 * has fewer tokens in common.
 */
function groupByPrefix(
  prompts: readonly (readonly number[])[],
  minShared: number,
  scaling: RopeScaling | null,
): PromptGroup[] {
  const groups: PromptGroup[] = [];
  for (const ids of prompts) {
    const last = groups.at(-1), n = last?.prompts.length ?? 0;
    if (last !== undefined) {
      const shared = sharedPrefixLength(last.prompts.at(-1)!, ids, scaling);
      const common = n === 1 ? shared : Math.min(last.common, shared);
      if (common >= minShared && n * common >= (n - 1) * last.common) {
        last.prompts.push(ids);
        last.common = common;
        continue;
      }
    }
    groups.push({ common: ids.length, prompts: [ids] });
  }
  return groups;
}

/**
 * In the result, `lastPromptRow` has an entry for each prompt, not for each group.
 * @param minShared minimum number of tokens that a group shares; Infinity = every prompt alone
 */
export function packPrefillGroups(
  prompts: readonly (readonly number[])[],
  minShared: number,
  limits: PackLimits,
  scaling: RopeScaling | null = null,
): PrefillGroups {
  const groups = groupByPrefix(prompts, minShared, scaling);
  // The last token of a branch is only a target and gets no row, so another token is added.
  const packed = packGroups(
    groups.map(({ common, prompts }) => ({
      promptIds: prompts[0]!.slice(0, common),
      branches: prompts.map((ids) => [...ids.slice(common), ids[0]!]),
    })),
    limits,
  );
  const rowOfToken: number[] = [], lastPromptRow: number[] = [];
  let row = 0;
  for (const { common, prompts } of groups) {
    const begin = row;
    row += common;
    packed.lengths.fill(prompts[0]!.length, begin, row);
    for (const { length } of prompts) {
      packed.lengths.fill(length, row, row + length - common);
      for (let i = 0; i < common; i++) rowOfToken.push(begin + i);
      for (let i = common; i < length; i++) rowOfToken.push(row++);
      lastPromptRow.push(rowOfToken.at(-1)!);
    }
  }
  return {
    ...packed,
    lastPromptRow: Uint32Array.from(lastPromptRow),
    rowOfToken: rowOfToken.length === packed.rows ? null : Uint32Array.from(rowOfToken),
  };
}

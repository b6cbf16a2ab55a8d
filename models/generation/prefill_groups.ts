/**
 * Packs prompts for one pass of a device whose attention reads keys of the batch only: neighbours that begin alike
 * become branches of what they have in common, as completions are of their prompt, so it is computed once. Left out:
 * what a prompt has in common with one of an earlier batch; keys that lie apart are for prompt_batch.ts.
 */
import { type PackedBatch, packGroups, type PackLimits } from "../network/packing.ts";
import { sharedPrefixLength } from "./prefill_batch.ts";

/** Fewer tokens in common are not worth the copies of their keys and values. */
export const MIN_SHARED_TOKENS = 16;

/** Prompts, and how many of their first tokens are computed once for all of them. */
interface PromptGroup {
  common: number;
  prompts: (readonly number[])[];
}

export interface PrefillGroups extends PackedBatch {
  /** Row of the batch for each token of each prompt, prompt after prompt; null = the batch is these tokens. */
  rowOfToken: Uint32Array | null;
}

/** A prompt joins the group before it where that does not spare less, although it may have less in common. */
function groupByPrefix(
  prompts: readonly (readonly number[])[],
  minShared: number,
): PromptGroup[] {
  const groups: PromptGroup[] = [];
  for (const ids of prompts) {
    const last = groups.at(-1), n = last?.prompts.length ?? 0;
    if (last !== undefined) {
      const shared = sharedPrefixLength(last.prompts.at(-1)!, ids);
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
 * `lastPromptRow` is a prompt's, not a group's.
 * @param leastCommon tokens that a group must have in common; Infinity = every prompt alone
 */
export function packPrefillGroups(
  prompts: readonly (readonly number[])[],
  minShared: number,
  limits: PackLimits,
): PrefillGroups {
  const groups = groupByPrefix(prompts, minShared);
  // The last token of a branch is a target and gets no row: one more stands behind it.
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
    for (const { length } of prompts) {
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

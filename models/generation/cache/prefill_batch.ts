/**
 * Packs prompts for one prefill in which a prompt may share a prefix with the prompt before it. The
 * prefix is computed once, and its keys and values are copied to the cache rows of the other
 * prompts. Each prompt's rows in the cache are complete and in order, as if it had been alone, so
 * all later sums over them have the same bits.
 */
import { frequencyLength } from "../../architectures/rope_frequencies.ts";
import type { RopeScaling } from "../../architectures/rope_scaling.ts";
import type { PromptSource, RowRange } from "./cached_prompt.ts";
import { type PackedBatch, packGroups, type PackLimits } from "../../network/packing.ts";

export interface PrefillPrompt {
  ids: readonly number[];
  promptId: number;
  /** Its rows of the prompt cache, one per token. */
  cached: RowRange;
  /** The number of the state at its end, in models with delta rules. */
  state?: number | undefined;
  /** Number of tokens at its start that are shared with another prompt; less than all of them. */
  shared: number;
  /** An earlier prompt in the cache that has them; null = the prompt before it in the batch. */
  source: PromptSource | null;
}

/** The rows of the prompts that have to be computed, as groups without branches. */
export interface PrefillBatch extends PackedBatch {
  /** Cache row of each row. */
  cacheRow: Uint32Array; // [rows]
  /** Range of cache rows of each prompt. */
  keys: Uint32Array; // [prompts, 2]
  /** Rows of the branch cache that are copied to rows of the prompt cache, and where to. */
  answers: RowCopies;
  /** Cache rows that are copied after all those have been written, and where to. */
  copies: RowCopies;
}

export interface RowCopies {
  from: Uint32Array;
  to: Uint32Array;
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
  const copies = { from: [] as number[], to: [] as number[] };
  const answers = { from: [] as number[], to: [] as number[] };
  // Cache row where each token of the previous prompt was computed.
  let origin: number[] = [];
  let row = 0;
  prompts.forEach(({ ids, cached: { begin, end }, shared, source }, p) => {
    origin = source === null
      ? origin.slice(0, shared)
      : Array.from({ length: shared }, (_, i) => source.begin + i);
    const inPrompts = Math.min(shared, source === null ? shared : source.end - source.begin);
    for (let i = 0; i < shared; i++) {
      const isAnswer = i >= inPrompts;
      // The prompt itself may have been computed up to here.
      if (!isAnswer && origin[i] === begin + i) continue;
      const { from, to } = isAnswer ? answers : copies;
      from.push(isAnswer ? source!.answer!.begin + i - inPrompts : origin[i]!);
      to.push(begin + i);
      if (isAnswer) origin[i] = begin + i;
    }
    for (let i = shared; i < ids.length; i++, row++) {
      packed.positions[row] = i;
      packed.lengths[row] = ids.length;
      cacheRow[row] = begin + i;
      origin.push(begin + i);
    }
    packed.maxPosition = Math.max(packed.maxPosition, ids.length - 1);
    keys.set([begin, end], 2 * p);
  });
  const copied = ({ from, to }: typeof copies) => ({
    from: Uint32Array.from(from),
    to: Uint32Array.from(to),
  });
  return { ...packed, cacheRow, keys, answers: copied(answers), copies: copied(copies) };
}

// The same on a device whose attention reads only keys of the batch. Neighbours that share a prefix
// become branches of it, as completions are branches of their prompt, so it is computed once. Left
// out: prefixes shared with prompts of an earlier batch.

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

/**
 * Packs groups (a prompt once, and its branches) into the rows of one batch, ragged and without
 * padding: rows = prompt₀ · branch₀₀ · branch₀₁ … · prompt₁ …. It also says which hidden row
 * predicts which token. The last token of a branch is only a target: nothing attends to it and it
 * predicts nothing, so it has no row. All of this is integers on the host.
 */
import { RgxError } from "../../core/errors.ts";
import { SEGMENT } from "../../kernels/ops/attention/spec.ts";
import type { Group } from "./types.ts";

/** A packed batch. In every branch positions continue after the prompt's last one. */
export interface PackedBatch {
  rows: number;
  tokens: Uint32Array; // [rows]
  positions: Uint32Array; // [rows]
  /** Tokens of the text in whose pass a row is computed, for RoPE by length (rope_table.ts). */
  lengths: Uint32Array; // [rows]
  rowSegment: Uint32Array; // [rows]
  segments: Uint32Array; // [segmentCount, SEGMENT.columns]; segments without rows are left out
  segmentCount: number;
  /** Largest position, which decides the size of the RoPE tables. */
  maxPosition: number;
  /** Row of the last prompt token of each group. */
  lastPromptRow: Uint32Array; // [groups]
  /** Number of hidden rows that predict a token; `headIndex` lists them, ascending. */
  headRows: number;
  headIndex: Uint32Array; // [headRows]
  /** The pairs of head row r are [pairStart[r], pairStart[r + 1]). */
  pairStart: Uint32Array; // [headRows + 1]
  pairs: number;
  targets: Uint32Array; // [pairs]
  pairRow: Uint32Array; // [pairs]
  /** Place of each pair: (group, branch, position) of branch tokens, then their alternatives. */
  pairOutput: Uint32Array; // [pairs]
}

export interface PackLimits {
  vocabSize: number;
  maxPositions: number;
}

/** Packs groups. @param alternatives further targets by token. @throws RgxError as checkGroup */
export function packGroups(
  groups: readonly Group[],
  limits: PackLimits,
  alternatives: readonly (readonly number[])[] = [],
): PackedBatch {
  groups.forEach((group, g) => checkGroup(group, g, limits));
  const lengthsOf = ({ branches }: Group) => branches.map(({ length }) => length);
  const places = [groups.flatMap(lengthsOf).reduce((sum, length) => sum + length, 0)];
  for (const { length } of alternatives) places.push(places.at(-1)! + length);

  const tokens: number[] = [], positions: number[] = [], lengths: number[] = [];
  const rowSegment: number[] = [], segments: number[] = [], lastPromptRow: number[] = [];
  const headIndex: number[] = [], pairStart = [0];
  const targets: number[] = [], pairRow: number[] = [], pairOutput: number[] = [];
  let maxPosition = 0, output = 0;
  /** A prompt (without `prefix`), or a branch of the prompt in these rows. */
  const addSegment = (ids: readonly number[], count: number, prefix: [number, number] | null) => {
    const begin = tokens.length, at = segments.length, [from, to] = prefix ?? [begin, begin];
    const first = to - from, segment = at / SEGMENT.columns, end = begin + count;
    for (let i = 0; i < count; i++) {
      tokens.push(ids[i]!);
      positions.push(first + i);
      lengths.push(prefix === null ? count : first + i + 1);
      rowSegment.push(segment);
    }
    maxPosition = Math.max(maxPosition, first + count - 1);
    segments.push(...Array<number>(SEGMENT.columns).fill(0));
    segments[at + SEGMENT.begin] = begin;
    segments[at + SEGMENT.end] = segments[at + SEGMENT.groupEnd] = end;
    segments[at + SEGMENT.prefixBegin] = from;
    segments[at + SEGMENT.prefixEnd] = to;
    return at;
  };
  const addPair = (target: number, place: number) => {
    targets.push(target);
    pairRow.push(headIndex.length);
    pairOutput.push(place);
  };
  const addTarget = (target: number, place: number) => {
    addPair(target, place);
    alternatives[place]?.forEach((id, i) => addPair(id, places[place]! + i));
  };
  const endHeadRow = (row: number) => {
    headIndex.push(row);
    pairStart.push(targets.length);
  };

  for (const { promptIds, branches } of groups) {
    const promptBegin = tokens.length;
    const promptAt = addSegment(promptIds, promptIds.length, null), promptEnd = tokens.length;
    lastPromptRow.push(promptEnd - 1);

    const firstPair = targets.length;
    let place = output;
    for (const branch of branches) {
      if (branch.length > 0) addTarget(branch[0]!, place);
      place += branch.length;
    }
    if (targets.length > firstPair) endHeadRow(promptEnd - 1);

    for (const branch of branches) {
      if (branch.length > 1) {
        const begin = tokens.length;
        addSegment(branch, branch.length - 1, [promptBegin, promptEnd]);
        for (let i = 1; i < branch.length; i++) {
          addTarget(branch[i]!, output + i);
          endHeadRow(begin + i - 1);
        }
      }
      output += branch.length;
    }
    segments[promptAt + SEGMENT.groupEnd] = tokens.length;
  }
  return {
    rows: tokens.length,
    tokens: Uint32Array.from(tokens),
    positions: Uint32Array.from(positions),
    lengths: Uint32Array.from(lengths),
    rowSegment: Uint32Array.from(rowSegment),
    segments: Uint32Array.from(segments),
    segmentCount: segments.length / SEGMENT.columns,
    maxPosition,
    lastPromptRow: Uint32Array.from(lastPromptRow),
    headRows: headIndex.length,
    headIndex: Uint32Array.from(headIndex),
    pairStart: Uint32Array.from(pairStart),
    pairs: targets.length,
    targets: Uint32Array.from(targets),
    pairRow: Uint32Array.from(pairRow),
    pairOutput: Uint32Array.from(pairOutput),
  };
}

/** @param g its number in messages. @throws RgxError for a group that the model cannot process */
export function checkGroup(group: Group, g: number, limits: PackLimits): void {
  if (group.promptIds.length === 0) {
    throw new RgxError(`group ${g}: the prompt is empty; a prompt needs at least one token`, {
      advice: "begin prompts with the model's beginning-of-text token",
    });
  }
  checkIds(group.promptIds, `group ${g}, prompt`, limits.vocabSize);
  group.branches.forEach((branch, b) => {
    checkIds(branch, `group ${g}, branch ${b}`, limits.vocabSize);
    const length = group.promptIds.length + branch.length;
    if (length > limits.maxPositions) {
      throw new RgxError(
        `group ${g}, branch ${b}: ${group.promptIds.length} prompt tokens and ${branch.length} ` +
          `completion tokens are ${length} positions; the model has ${limits.maxPositions}`,
        { advice: "shorten the prompt or lower max_completion_length" },
      );
    }
  });
  if (group.promptIds.length > limits.maxPositions) {
    throw new RgxError(
      `group ${g}: the prompt has ${group.promptIds.length} tokens; the model has ` +
        `${limits.maxPositions} positions`,
      { advice: "shorten the prompt" },
    );
  }
}

function checkIds(ids: readonly number[], where: string, vocabSize: number): void {
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i]!;
    if (!(Number.isInteger(id) && id >= 0 && id < vocabSize)) {
      throw new RgxError(
        `${where}, token ${i}: id ${id} is not in the vocabulary (0 … ${vocabSize - 1})`,
        { advice: "check that the tokenizer belongs to the model" },
      );
    }
  }
}

/** Rows in the order of their tokens (stable). Run u is order[runs[u] … runs[u + 1]). */
export interface TokenRuns {
  order: Uint32Array; // [rows]
  runs: Uint32Array; // [runCount + 1]
  target: Uint32Array; // [runCount], the token of each run, ascending
  runCount: number;
}

/** Sorts rows by token, so that the gradient of each embedding row is one sum in row order. */
export function tokenRuns(tokens: Uint32Array): TokenRuns {
  const rows = tokens.length;
  // token·rows + row < 2^53 for every vocabulary and batch that fits in memory, so one numeric sort
  // is enough.
  const keys = new Float64Array(rows);
  for (let i = 0; i < rows; i++) keys[i] = tokens[i]! * rows + i;
  keys.sort();
  const order = new Uint32Array(rows);
  const runs: number[] = [], target: number[] = [];
  for (let i = 0; i < rows; i++) {
    const row = keys[i]! % rows, token = tokens[row]!;
    order[i] = row;
    if (target[target.length - 1] !== token) {
      target.push(token);
      runs.push(i);
    }
  }
  runs.push(rows);
  return {
    order,
    runs: Uint32Array.from(runs),
    target: Uint32Array.from(target),
    runCount: target.length,
  };
}

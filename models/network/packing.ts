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
  /**
   * Tokens of the text in whose pass each row is computed: of its prompt, or in a branch up to this
   * row. RoPE scalings that depend on the length need it (rope_table.ts).
   */
  lengths: Uint32Array; // [rows]
  rowSegment: Uint32Array; // [rows]
  segments: Uint32Array; // [segmentCount, SEGMENT.columns]; segments without rows are left out
  segmentCount: number;
  /** Largest position, which decides the size of the RoPE tables. */
  maxPosition: number;
  /** Row of the last prompt token of each group. */
  lastPromptRow: Uint32Array; // [groups]
  /**
   * Number of hidden rows that predict at least one token. `headIndex` lists them in ascending
   * order.
   */
  headRows: number;
  headIndex: Uint32Array; // [headRows]
  /** The pairs of head row r are [pairStart[r], pairStart[r + 1]). */
  pairStart: Uint32Array; // [headRows + 1]
  pairs: number;
  targets: Uint32Array; // [pairs]
  /** Head row of each pair. */
  pairRow: Uint32Array; // [pairs]
  /**
   * Index of each pair in the order (group, branch, position) of all branch tokens, which the
   * alternatives of all of them follow.
   */
  pairOutput: Uint32Array; // [pairs]
}

/** Limits on the ids and lengths of a batch. */
export interface PackLimits {
  vocabSize: number;
  maxPositions: number;
}

/**
 * Packs groups into one batch.
 * @param alternatives further targets in the place of each branch token
 * @throws RgxError for an empty prompt, an id outside the vocabulary, or a sequence that is too
 *   long.
 */
export function packGroups(
  groups: readonly Group[],
  limits: PackLimits,
  alternatives: readonly (readonly number[])[] = [],
): PackedBatch {
  let rows = 0, pairs = 0, headRows = 0, segmentCount = 0;
  groups.forEach((group, g) => {
    checkGroup(group, g, limits);
    rows += group.promptIds.length;
    segmentCount++;
    let predicts = false;
    for (const branch of group.branches) {
      if (branch.length === 0) continue;
      predicts = true;
      pairs += branch.length;
      rows += branch.length - 1;
      headRows += branch.length - 1;
      if (branch.length > 1) segmentCount++;
    }
    if (predicts) headRows++;
  });
  const places = [pairs];
  for (const { length } of alternatives) places.push(places.at(-1)! + length);
  pairs = places.at(-1)!;

  const batch: PackedBatch = {
    rows,
    tokens: new Uint32Array(rows),
    positions: new Uint32Array(rows),
    lengths: new Uint32Array(rows),
    rowSegment: new Uint32Array(rows),
    segments: new Uint32Array(segmentCount * SEGMENT.columns),
    segmentCount,
    maxPosition: 0,
    lastPromptRow: new Uint32Array(groups.length),
    headRows,
    headIndex: new Uint32Array(headRows),
    pairStart: new Uint32Array(headRows + 1),
    pairs,
    targets: new Uint32Array(pairs),
    pairRow: new Uint32Array(pairs),
    pairOutput: new Uint32Array(pairs),
  };

  let row = 0, segment = 0, head = 0, pair = 0, output = 0;
  const addSegment = (ids: readonly number[], count: number, prefix: [number, number] | null) => {
    const begin = row, at = segment * SEGMENT.columns;
    const firstPosition = prefix === null ? 0 : prefix[1] - prefix[0];
    for (let i = 0; i < count; i++, row++) {
      batch.tokens[row] = ids[i]!;
      batch.positions[row] = firstPosition + i;
      batch.lengths[row] = prefix === null ? count : firstPosition + i + 1;
      batch.rowSegment[row] = segment;
    }
    batch.maxPosition = Math.max(batch.maxPosition, firstPosition + count - 1);
    batch.segments[at + SEGMENT.begin] = begin;
    batch.segments[at + SEGMENT.end] = row;
    batch.segments[at + SEGMENT.prefixBegin] = prefix === null ? begin : prefix[0];
    batch.segments[at + SEGMENT.prefixEnd] = prefix === null ? begin : prefix[1];
    batch.segments[at + SEGMENT.groupEnd] = row;
    segment++;
    return at;
  };
  const addPair = (target: number, place: number) => {
    batch.targets[pair] = target;
    batch.pairRow[pair] = head;
    batch.pairOutput[pair] = place;
    pair++;
  };
  const addTarget = (target: number, place: number) => {
    addPair(target, place);
    alternatives[place]?.forEach((id, i) => addPair(id, places[place]! + i));
  };
  const endHeadRow = (hiddenRow: number) => {
    batch.headIndex[head++] = hiddenRow;
    batch.pairStart[head] = pair;
  };

  groups.forEach(({ promptIds, branches }, g) => {
    const promptBegin = row;
    const promptAt = addSegment(promptIds, promptIds.length, null);
    const promptEnd = row;
    batch.lastPromptRow[g] = promptEnd - 1;

    const firstPair = pair;
    let place = output;
    for (const branch of branches) {
      if (branch.length > 0) addTarget(branch[0]!, place);
      place += branch.length;
    }
    if (pair > firstPair) endHeadRow(promptEnd - 1);

    for (const branch of branches) {
      if (branch.length > 1) {
        const begin = row;
        addSegment(branch, branch.length - 1, [promptBegin, promptEnd]);
        for (let i = 1; i < branch.length; i++) {
          addTarget(branch[i]!, output + i);
          endHeadRow(begin + i - 1);
        }
      }
      output += branch.length;
    }
    batch.segments[promptAt + SEGMENT.groupEnd] = row;
  });
  return batch;
}

/**
 * @param g the group's number in messages
 * @throws RgxError for a group that the model cannot process
 */
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

/**
 * Rows sorted by token (stable), for the embedding's gradient. Run u is order[runs[u] … runs[u +
 * 1]).
 */
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

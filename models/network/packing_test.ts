import assert from "node:assert/strict";
import { refusal } from "../../core/testing.ts";
import { SEGMENT } from "../../kernels/ops/attention/spec.ts";
import { packGroups, tokenRuns } from "./packing.ts";

const limits = { vocabSize: 100, maxPositions: 8 };

Deno.test("a packed batch holds each prompt once, then every branch without its last token", () => {
  const p = packGroups([
    { promptIds: [1, 2, 3], branches: [[4, 5, 6], [], [7], [8, 9]] },
    { promptIds: [10], branches: [] },
    { promptIds: [11], branches: [[12, 13]] },
  ], limits);
  assert.deepEqual([...p.tokens], [1, 2, 3, 4, 5, 8, 10, 11, 12]);
  assert.deepEqual([...p.positions], [0, 1, 2, 3, 4, 3, 0, 0, 1]);
  assert.deepEqual([...p.rowSegment], [0, 0, 0, 1, 1, 2, 3, 4, 5]);
  assert.equal(p.segmentCount, 6);
  const segments = Array.from(
    { length: p.segmentCount },
    (_, s) => [...p.segments.subarray(s * SEGMENT.columns, (s + 1) * SEGMENT.columns)],
  );
  assert.deepEqual(segments, [
    [0, 3, 0, 0, 6],
    [3, 5, 0, 3, 5],
    [5, 6, 0, 3, 6],
    [6, 7, 6, 6, 7],
    [7, 8, 7, 7, 9],
    [8, 9, 7, 8, 9],
  ]);
  assert.deepEqual([...p.lastPromptRow], [2, 6, 7]);
  assert.equal(p.maxPosition, 4);
});

Deno.test("the last prompt row predicts the first token of every branch that has one", () => {
  const p = packGroups([
    { promptIds: [1, 2, 3], branches: [[4, 5, 6], [], [7], [8, 9]] },
    { promptIds: [10], branches: [[]] },
    { promptIds: [11], branches: [[12, 13]] },
  ], limits);
  assert.deepEqual([...p.headIndex], [2, 3, 4, 5, 7, 8]);
  assert.deepEqual([...p.pairStart], [0, 3, 4, 5, 6, 7, 8]);
  assert.deepEqual([...p.targets], [4, 7, 8, 5, 6, 9, 12, 13]);
  assert.deepEqual([...p.pairRow], [0, 0, 0, 1, 2, 3, 4, 5]);
  // The order of the output is 4 5 6 | 7 | 8 9 | 12 13.
  const output: number[] = [];
  p.pairOutput.forEach((place, i) => output[place] = p.targets[i]!);
  assert.deepEqual(output, [4, 5, 6, 7, 8, 9, 12, 13]);
});

Deno.test("no groups give an empty batch", () => {
  const p = packGroups([], limits);
  assert.deepEqual([p.rows, p.pairs, p.headRows, p.segmentCount], [0, 0, 0, 0]);
  assert.deepEqual([...p.pairStart], [0]);
});

Deno.test("impossible groups are refused and named", () => {
  const refuse = (promptIds: number[], branches: number[][], message: RegExp) =>
    assert.throws(
      () => packGroups([{ promptIds: [1], branches: [] }, { promptIds, branches }], limits),
      refusal(message),
    );
  refuse([], [[1]], /group 1: the prompt is empty/);
  refuse([1, 100], [], /group 1, prompt, token 1: id 100/);
  refuse([1], [[1], [2, 0.5]], /group 1, branch 1, token 1: id 0.5/);
  refuse([1, 2, 3], [[1, 2, 3, 4, 5, 6]], /9 positions; the model has 8/);
  refuse([1, 2, 3, 4, 5, 6, 7, 8, 9], [], /the prompt has 9 tokens/);
  assert.equal(packGroups([{ promptIds: [1, 2, 3], branches: [[1, 2, 3, 4, 5]] }], limits).rows, 7);
});

Deno.test("token runs list the rows of each token in row order", () => {
  const r = tokenRuns(Uint32Array.of(7, 2, 7, 0, 2, 7));
  assert.deepEqual([...r.target], [0, 2, 7]);
  assert.deepEqual([...r.runs], [0, 1, 3, 6]);
  assert.deepEqual([...r.order], [3, 1, 4, 0, 2, 5]);
  assert.equal(r.runCount, 3);
  assert.deepEqual([...tokenRuns(new Uint32Array(0)).runs], [0]);
});

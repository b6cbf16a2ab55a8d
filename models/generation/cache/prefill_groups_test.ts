/**
 * Prompts with a shared prefix in one pass of a device whose attention reads only keys of the
 * batch.
 */
import assert from "node:assert/strict";
import { SEGMENT } from "../../../kernels/ops/attention/spec.ts";
import { packPrefillGroups } from "./prefill_batch.ts";
import { createWebgpuDevice } from "../../../kernels/devices/webgpu/device.ts";
import { webgpuTest } from "../../../kernels/devices/webgpu/testing.ts";
import { randomModel, tinyConfig, watchRuns } from "../../testing.ts";

const limits = { vocabSize: 20, maxPositions: 16 };

Deno.test("a prefix that neighbours share is packed once, and every token has its row", () => {
  const prompts = [[7, 8, 1, 2], [7, 8, 1, 3, 4], [7, 8], [9], [9, 5, 6], [9, 5, 4]];
  const packed = packPrefillGroups(prompts, 2, limits);
  // [7 8 1 | 2 | 3 4], since only one token that the third shares is not its last; [7 8]; [9]; [9 5
  // | 6 | 4].
  assert.deepEqual([...packed.tokens], [7, 8, 1, 2, 3, 4, 7, 8, 9, 9, 5, 6, 4]);
  assert.deepEqual([...packed.positions], [0, 1, 2, 3, 3, 4, 0, 1, 0, 0, 1, 2, 2]);
  assert.deepEqual([...packed.lastPromptRow], [3, 5, 7, 8, 11, 12]);
  const rowOfToken = [...packed.rowOfToken!];
  assert.deepEqual(rowOfToken.map((row) => packed.tokens[row]), prompts.flat());
  assert.deepEqual(
    rowOfToken.map((row) => packed.positions[row]),
    prompts.flatMap((ids) => ids.map((_, i) => i)),
  );
  const column = (name: keyof typeof SEGMENT) =>
    Array.from(
      { length: packed.segmentCount },
      (_, s) => packed.segments[s * SEGMENT.columns + SEGMENT[name]],
    );
  assert.deepEqual(column("begin"), [0, 3, 4, 6, 8, 9, 11, 12]);
  assert.deepEqual(column("prefixBegin"), [0, 0, 0, 6, 8, 9, 9, 9]);
  assert.deepEqual(column("prefixEnd"), [0, 3, 3, 6, 8, 9, 11, 11]);
});

Deno.test("a group shortens its prefix when that saves more rows, and may be a whole prompt", () => {
  const long = Array.from({ length: 10 }, (_, i) => i);
  // Ten shared tokens, then eight: 2 · 8 ≥ 10. Then two: 3 · 2 < 2 · 8.
  const prompts = [[...long, 1], [...long, 2], [...long.slice(0, 8), 19, 3], [0, 1, 19]];
  const { tokens } = packPrefillGroups(prompts, 2, limits);
  assert.deepEqual([...tokens], [...long.slice(0, 8), 8, 9, 1, 8, 9, 2, 19, 3, 0, 1, 19]);
  const packed = packPrefillGroups([[1, 2], [1, 2, 3]], 2, limits);
  assert.deepEqual([...packed.tokens], [1, 2, 3]);
  assert.deepEqual([...packed.lastPromptRow], [1, 2]);
  assert.deepEqual([...packed.rowOfToken!], [0, 1, 0, 1, 2]);
  // What shares too little stands one after the other.
  for (const minShared of [2, Infinity]) {
    const apart = packPrefillGroups([[1, 2, 3], [1, 3, 3], [4]], minShared, limits);
    assert.equal(apart.rowOfToken, null);
    assert.deepEqual([...apart.tokens], [1, 2, 3, 1, 3, 3, 4]);
    assert.deepEqual([...apart.lastPromptRow], [2, 5, 6]);
  }
});

webgpuTest("a GPU computes a shared prefix once and samples the same tokens", async () => {
  using device = await createWebgpuDevice();
  const shared = Array.from({ length: 90 }, (_, i) => (i * i + 3) % 19);
  const requests = Array.from({ length: 6 }, (_, i) => ({
    promptIds: [...shared, ...Array.from({ length: 1 + i }, (_, j) => (i + j) % 19)],
    promptId: i,
    n: 1 + i % 2,
  }));
  const options = { maxNewTokens: 7, temperature: 0.8, seed: 5, eosIds: [2] };
  for (const slidingWindow of [null, 40]) {
    const config = { ...tinyConfig(true), maxPositions: 128, slidingWindow };
    const model = await randomModel(device, config, { trainable: "none" });
    const alone: number[][][] = [];
    for (const request of requests) {
      const [completions] = await model.generate([request], options);
      alone.push(completions!.map(({ ids }) => ids));
    }
    const runs = watchRuns(device);
    const together = await model.generate(requests, options);
    runs.restore();
    assert.deepEqual(together.map((group) => group.map(({ ids }) => ids)), alone);
    assert.deepEqual(runs.attentionRows(), Array(config.numLayers).fill(90 + 21));
    model.dispose();
  }
});

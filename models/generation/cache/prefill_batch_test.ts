import assert from "node:assert/strict";
import { createWasmDevice } from "../../../kernels/devices/wasm/device.ts";
import { packPrefill, sharedPrefixLength } from "./prefill_batch.ts";
import { onEachDevice } from "../../each_device_testing.ts";
import { randomModel, TINY_MODELS, tinyConfig } from "../../testing.ts";
import type { Completion, GenerateRequest } from "../types.ts";

Deno.test("a shared prefix never includes the last token of a prompt", () => {
  assert.equal(sharedPrefixLength([], [1]), 0);
  assert.equal(sharedPrefixLength([1, 2, 3], [1, 2, 4, 5]), 2);
  assert.equal(sharedPrefixLength([1, 2, 3], [1, 2, 3]), 2);
  assert.equal(sharedPrefixLength([1, 2, 3, 4], [1, 2, 3]), 2);
  assert.equal(sharedPrefixLength([1, 2], [1, 2, 3, 4]), 2);
});

Deno.test("prompts are packed without their shared prefixes, which are copied", () => {
  const packed = packPrefill(
    [
      {
        ids: [7, 8, 1, 2],
        cached: { begin: 32, end: 36 },
        shared: 2,
        source: { begin: 10, end: 13 },
      },
      { ids: [7, 8, 1, 3, 4], cached: { begin: 36, end: 41 }, shared: 3, source: null },
      { ids: [7, 8], cached: { begin: 41, end: 43 }, shared: 1, source: null },
      { ids: [9], cached: { begin: 43, end: 44 }, shared: 0, source: null },
    ],
    { vocabSize: 10, maxPositions: 8 },
  );
  assert.equal(packed.rows, 6);
  assert.deepEqual([...packed.tokens], [1, 2, 3, 4, 8, 9]);
  assert.deepEqual([...packed.positions], [2, 3, 3, 4, 1, 0]);
  assert.equal(packed.maxPosition, 4);
  assert.deepEqual([...packed.lastPromptRow], [1, 3, 4, 5]);
  assert.deepEqual([...packed.cacheRow], [34, 35, 39, 40, 42, 43]);
  assert.deepEqual([...packed.keys], [32, 36, 36, 41, 41, 43, 43, 44]);
  // Copies always come from computed rows, of this batch or an earlier one.
  assert.deepEqual([...packed.copies.from], [10, 11, 10, 11, 34, 10]);
  assert.deepEqual([...packed.copies.to], [32, 33, 36, 37, 38, 41]);
});

/**
 * Shared prefixes that are shorter and longer than a tile of keys, the same prompt twice, a prompt
 * that is the start of another, two branches.
 */
const beginning = (length: number, salt: number) =>
  Array.from({ length }, (_, i) => (i * i + salt) % 19);
const requests: GenerateRequest[] = [
  beginning(130, 1),
  [...beginning(130, 1), 4, 5, 6],
  [...beginning(130, 1), 4, 5, 6],
  [...beginning(101, 1), ...beginning(40, 7)],
  beginning(60, 1),
  [...beginning(60, 1), 2, 2],
  [3],
  beginning(192, 2),
  beginning(97, 2),
].map((promptIds, promptId) => ({ promptIds, promptId, n: 1 + promptId % 2, firstBranch: 0 }));
const options = { maxNewTokens: 9, temperature: 0.8, seed: 5, eosIds: [2] };

Deno.test("sharing prefixes does not change any bit", () =>
  onEachDevice(async (device) => {
    const config = { ...tinyConfig(true), maxPositions: 256 };
    const model = await randomModel(device, config, { trainable: "none" });
    const alone: Completion[][] = [];
    for (const request of requests) alone.push((await model.generate([request], options))[0]!);
    for (const limits of [{}, { prefillRows: 40 }, { slots: 3, prefillRows: 200 }]) {
      const found = await model.generate(requests, options, limits);
      if (device.adapter === undefined) assert.deepEqual(found, alone, JSON.stringify(limits));
      const ids = (groups: Completion[][]) => groups.flat().map(({ ids }) => ids);
      assert.deepEqual(ids(found), ids(alone), JSON.stringify(limits));
    }
  }));

Deno.test("a shared prefix is computed once, also across batches", async () => {
  const device = await createWasmDevice({ threads: 1 });
  const config = { ...tinyConfig(true), maxPositions: 256 };
  const model = await randomModel(device, config, { trainable: "none" });
  const computed: number[] = [], run = device.run.bind(device);
  device.run = (op, args) => {
    if (op === "attention") computed.push((args as { rows: number }).rows);
    run(op, args);
  };
  const sharedPrefix = Array.from({ length: 8 }, (_, i) => ({
    promptIds: [...beginning(100, 1), i, 3],
    promptId: i,
    n: 1,
  }));
  await model.generate(sharedPrefix, options, { slots: 2 });
  const layers = config.numLayers, total = computed.reduce((sum, rows) => sum + rows, 0);
  // The last layer computes only the last row of each prompt.
  assert.equal(total, (layers - 1) * (102 + 7 * 2) + 8);
  assert.ok(computed.length > layers, `${computed.length}`);
  device.close();
});

Deno.test("with delta rules a turn begins with the state of the turn before it, and no other", async () => {
  const [, tiny] = TINY_MODELS.find(([what]) => what.startsWith("Qwen3.5"))!;
  const first = beginning(70, 1), second = [...first, 4, 5, 6, 7, 8];
  const turns: (readonly [ids: number[], shared: number])[] = [
    [first, 0],
    [second, first.length],
    // Fewer tokens than a convolution reads.
    [[...second, 9], second.length],
    // Their states are those of longer texts, or of other ones.
    [[...first.slice(0, 66), 3, 3], 0],
    [[...first, 5, 5, 5], 0],
  ];
  const device = await createWasmDevice({ threads: 2 });
  try {
    const model = await randomModel(device, { ...tiny, maxPositions: 256 }, { trainable: "none" });
    const room = { branches: 2, promptRows: 600, promptStates: 5, maxNewTokens: 9 };
    const requests = turns.map(([promptIds]) => ({ promptIds, promptId: 0, n: 2 }));
    const alone: Completion[][] = [];
    for (const request of requests) alone.push(...await model.generate([request], options));
    const generation = model.openGeneration(room, options, { keptPrompts: 4 });
    let shared = 0;
    for (const [turn, [, wanted]] of turns.entries()) {
      assert.deepEqual(await generation.add(requests[turn]!), alone[turn], `turn ${turn}`);
      await generation.idle();
      assert.equal(generation.timing.sharedTokens, shared += wanted);
    }
  } finally {
    device.close();
  }
});

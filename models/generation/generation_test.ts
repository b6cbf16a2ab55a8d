/**
 * Continuous batching: requests that come and go do not change the bits of another request. Also
 * memory limits, ends and failures.
 */
import assert from "node:assert/strict";
import { Interrupted } from "../../core/errors.ts";
import { refusal } from "../../core/testing.ts";
import { assertWithin } from "../../kernels/testing.ts";
import type { CausalLM } from "../causal_lm.ts";
import { countGeneration, packedBytes } from "./memory/counted_generation.ts";
import { isEmulated, onEachDevice } from "../each_device_testing.ts";
import {
  randomModel,
  sampledLogprobs,
  test,
  TINY_MODELS,
  tinyConfig,
  watchRuns,
  withReference,
} from "../testing.ts";
import type { GeneratorLimits } from "./generate.ts";
import type { Completion, GenerateOptions, GenerateRequest, SamplingOptions } from "./types.ts";

const options: GenerateOptions = { maxNewTokens: 14, temperature: 0.9, seed: 77, eosIds: [3, 8] };

/** Many prompts of 1 to 12 tokens, some with a shared prefix, with 1 to 5 branches each. */
const requests: GenerateRequest[] = Array.from({ length: 17 }, (_, r) => ({
  promptId: r === 5 ? 2 ** 33 + 1 : r,
  promptIds: Array.from({ length: 1 + (r * 5) % 12 }, (_, i) => (r * 7 + i * i) % 19),
  n: [1, 1, 5, 2, 1][r % 5]!,
  firstBranch: r % 3,
}));

const SAMPLINGS: readonly Partial<SamplingOptions>[] = [
  {},
  { temperature: 0 },
  { seed: 78 },
  { seed: 79, repetitionPenalty: 1.5 },
  { topK: 4, maxNewTokens: 5 },
  { minNewTokens: 6 },
  { minNewTokens: 3, eosIds: [1, 2, 5, 7] },
  { topP: 0.7, minP: 0.02, temperature: 1.4 },
  { repetitionPenalty: 0.7, stopWhen: (ids) => ids.length > 1 && ids.at(-1)! < ids.at(-2)! - 6 },
];

const mixed = requests.map((request, r) => ({ ...request, sampling: SAMPLINGS[r % 9]! }));

/** Generates every branch in a generation of its own. */
async function oneAtATime(model: CausalLM, asked: readonly GenerateRequest[]) {
  const groups: Completion[][] = [];
  for (const request of asked) {
    const group: Completion[] = [];
    for (let b = 0; b < request.n; b++) {
      const firstBranch = request.firstBranch! + b;
      group.push((await model.generate([{ ...request, n: 1, firstBranch }], options))[0]![0]!);
    }
    groups.push(group);
  }
  return groups;
}

const ids = (groups: Completion[][]) =>
  groups.flat().map(({ ids, finishReason }) => [ids, finishReason]);

for (const [part, config] of TINY_MODELS) {
  Deno.test(`requests give the same alone and with others, with ${part}`, () =>
    onEachDevice(async (device) => {
      // One model is tried with all of this, and an emulated card with few requests of the others.
      const few = isEmulated(device), isFirst = config === TINY_MODELS[0]![1];
      const model = await randomModel(device, config, { trainable: "none" });
      for (const asked of isFirst && !few ? [requests, mixed] : [mixed]) {
        const some = !few ? asked : isFirst ? asked.slice(0, 9) : asked.slice(3, 5);
        const alone = await oneAtATime(model, some);
        const all: Partial<GeneratorLimits>[] = [
          { slots: 4, prefillRows: 9 },
          {},
          { slots: 7, stepsPerRead: 3 },
        ];
        if (isFirst && !few) all.push({ bytes: 1 }, { largestBuffer: 1 }, { stepsPerRead: 100 });
        for (const limits of few && !isFirst ? all.slice(0, 1) : all) {
          const found = await model.generate(some, options, limits);
          // On a GPU the order of sums depends on the number of rows.
          if (device.adapter === undefined) assert.deepEqual(found, alone, JSON.stringify(limits));
          assert.deepEqual(ids(found), ids(alone), JSON.stringify(limits));
          // A card sums one to three rows in an order of their own. In float32 the model with delta
          // rules is 8e-5 from float64 on any device: small values are divided by their norms.
          const bound = device.adapter === undefined ? 1e-5 : 5e-5;
          assertWithin(sampledLogprobs(found), sampledLogprobs(alone), bound, "log-probabilities");
        }
      }
    }));
}

Deno.test("requests can be added while others run, and each gets its own tokens", () =>
  onEachDevice(async (device) => {
    const model = await randomModel(device, tinyConfig(true), { trainable: "none" });
    const asked = isEmulated(device) ? mixed.slice(0, 6) : mixed;
    const alone = await oneAtATime(model, asked);
    const room = { branches: 5, promptRows: 40, maxNewTokens: 14, adjusted: true };
    const generation = model.openGeneration(room, options, { prefillRows: 20 });
    const received = asked.map(({ n }) => Array.from({ length: n }, () => [] as number[]));
    const results: Promise<Completion[]>[] = [];
    let next = 0;
    const addOne = () => {
      const r = next++, request = asked[r];
      if (request === undefined) return;
      results[r] = generation.add({
        ...request,
        onToken: (branch, token) => {
          received[r]![branch]!.push(token);
          // The next request is added in the middle of this one.
          if (branch === 0 && received[r]![0]!.length === 2) addOne();
        },
      });
      results[r].then(() => r === next - 1 && addOne());
    };
    addOne();
    addOne();
    for (let r = 0; r < asked.length; r++) {
      while (results[r] === undefined) await new Promise((resolve) => setTimeout(resolve, 1));
      await results[r];
    }
    const found = await Promise.all(results);
    assert.deepEqual(ids(found), ids(alone));
    if (device.adapter === undefined) assert.deepEqual(found, alone);
    assert.deepEqual(received, found.map((group) => group.map(({ ids }) => ids)));
  }));

Deno.test("generation stays within its memory limit", () =>
  withReference(async (device) => {
    const model = await randomModel(device, tinyConfig(true), { trainable: "none" });
    const expected = await model.generate(mixed, options);
    for (const branches of [2, 5, 9]) {
      const fresh = await randomModel(device, tinyConfig(true), { trainable: "none" });
      const before = device.allocatedBytes;
      const sizes = { branches, promptRows: 30, maxNewTokens: 14, adjusted: true };
      const bytes = (await countGeneration(fresh.sizes, sizes)).bytes;
      device.resetPeak();
      assert.deepEqual(await fresh.generate(mixed, options, { bytes }), expected);
      const taken = device.peakBytes - before - packedBytes(fresh.sizes);
      assert.ok(taken <= bytes, `${taken} of ${bytes} bytes`);
      fresh.dispose();
    }
  }, "f32"));

test.onReference("a slot goes to the next branch as soon as its branch has ended", async (device) => {
  const model = await randomModel(device, tinyConfig(true), { trainable: "none" });
  const long = { promptId: 0, promptIds: [1, 2], n: 1, sampling: { maxNewTokens: 30 } };
  const short = Array.from({ length: 28 }, (_, i) => ({
    promptId: 1 + i,
    promptIds: [3],
    n: 1,
    sampling: { maxNewTokens: 2 },
  }));
  const runs = watchRuns(device);
  const found = await model.generate([long, ...short], { ...options, eosIds: [] }, { slots: 2 });
  runs.restore();
  assert.deepEqual(found.map(([c]) => c!.ids.length), [30, ...short.map(() => 2)]);
  assert.equal(runs.count("decode_layer") / 3, 29, "the short ones take no extra step");
});

test.onReference("an aborted request releases its memory for the others", async (device) => {
  const model = await randomModel(device, tinyConfig(true), { trainable: "none" });
  const room = { branches: 2, promptRows: 12, maxNewTokens: 14, adjusted: true };
  const [expected] = await model.generate([requests[3]!], options);
  const generation = model.openGeneration(room, { ...options, eosIds: [] });
  const stop = new AbortController(), never = new AbortController();
  const running = generation.add({
    promptId: 0,
    promptIds: [1, 2, 3, 4, 5, 6, 7],
    n: 5,
    signal: stop.signal,
    onToken: (_branch, _token) => stop.abort(new Error("gone")),
  });
  const waiting = generation.add({
    promptId: 1,
    promptIds: [1, 2, 3, 4, 5, 6, 7],
    n: 1,
    signal: never.signal,
  });
  never.abort(new Error("not wanted"));
  const other = generation.add({ ...requests[3]!, sampling: { eosIds: options.eosIds } });
  await assert.rejects(running, /gone/);
  await assert.rejects(waiting, /not wanted/);
  assert.deepEqual(await other, expected);
  const late = generation.add({ promptId: 1, promptIds: [1], n: 1, signal: stop.signal });
  await assert.rejects(late, /gone/);
  assert.deepEqual(await generation.add({ promptId: 1, promptIds: [1], n: 0 }), []);
});

test.onReference("a request that leaves between the prompts of others is not computed", async (device) => {
  const model = await randomModel(device, tinyConfig(true), { trainable: "none" });
  const room = { branches: 4, promptRows: 40, maxNewTokens: 3 }, leaving = new AbortController();
  const generation = model.openGeneration(room, { ...options, maxNewTokens: 3 }, {
    prefillRows: 4,
    turnMs: 0,
    turn: () => Promise.resolve(leaving.abort(new Error("gone"))),
  });
  const results = [0, 1, 2].map((promptId) =>
    generation.add({
      promptId,
      promptIds: [1 + promptId, 2, 3, 4],
      n: 1,
      ...(promptId === 2 ? { signal: leaving.signal } : {}),
    })
  );
  await assert.rejects(results[2]!, /gone/);
  await Promise.all(results.slice(0, 2));
  assert.equal(generation.timing.promptTokens, 8);
});

Deno.test("a pass that merges adapters into the packed copies changes no later request", () =>
  onEachDevice(async (device) => {
    const model = await randomModel(device, tinyConfig(true), {
      trainable: "lora",
      lora: { r: 2, alpha: 4, targetModules: "all-linear" },
    });
    const room = { branches: 2, promptRows: 24, maxNewTokens: 14 };
    const generation = model.openGeneration(room, options);
    const request = { promptId: 0, promptIds: [1, 2, 3, 4], n: 2 };
    const before = await generation.add(request);
    await generation.idle();
    const branches = Array.from({ length: 40 }, (_, b) => [b % 7, 1, 2]);
    await model.forward([{ promptIds: [5, 6], branches }], { temperature: 1, train: false });
    assert.deepEqual(await generation.add(request), before);
  }));

test.onReference("a callback that throws fails only its own request", async (device) => {
  const model = await randomModel(device, tinyConfig(true), { trainable: "none" });
  const expected = await model.generate(requests, options);
  const room = { branches: 4, promptRows: 40, maxNewTokens: 14, adjusted: true };
  const generation = model.openGeneration(room, options);
  const results = requests.map((request, r) =>
    generation.add({
      ...request,
      ...(r % 5 !== 2 ? {} : {
        onToken: (branch: number) => {
          if (branch === 3) throw new Error("the listener is gone");
        },
      }),
    })
  );
  const bad = generation.add({
    promptId: 99,
    promptIds: [1],
    n: 2,
    sampling: {
      stopWhen: () => {
        throw new Error("no rule");
      },
    },
  });
  const [last, ...ends] = await Promise.allSettled([bad, ...results]);
  assert.match(String((last as PromiseRejectedResult).reason), /no rule/);
  for (const [r, end] of ends.entries()) {
    if (end.status === "fulfilled") assert.deepEqual(end.value, expected[r]);
    else assert.match(String(end.reason), /the listener is gone/);
    assert.equal(end.status, r % 5 === 2 ? "rejected" : "fulfilled");
  }
  assert.deepEqual(await generation.add(requests[2]!), expected[2]);
});

test.onReference("a failure ends all requests, and later ones work again", async (device) => {
  const model = await randomModel(device, tinyConfig(true), { trainable: "none" });
  const expected = await model.generate(requests.slice(0, 6), options);
  const room = { branches: 3, promptRows: 30, maxNewTokens: 14 };
  let looks = 0;
  const generation = model.openGeneration(room, { ...options, shouldStop: () => ++looks === 9 });
  const first = requests.slice(0, 6).map((request) => generation.add(request));
  const ends = await Promise.allSettled(first);
  assert.ok(ends.some((end) => end.status === "rejected" && end.reason instanceof Interrupted));
  const run = device.run;
  device.run = () => {
    throw new Error("the device is lost");
  };
  await assert.rejects(generation.add(requests[0]!), /the device is lost/);
  device.run = run;
  const again = requests.slice(0, 6).map((request) => generation.add(request));
  assert.deepEqual(await Promise.all(again), expected);
});

test.onReference("a request that does not fit is refused, and others go on", async (device) => {
  const model = await randomModel(device, tinyConfig(true), { trainable: "none" });
  const room = { branches: 2, promptRows: 4, maxNewTokens: 6 };
  const generation = model.openGeneration(room, { ...options, maxNewTokens: 6 });
  const request = { promptId: 0, promptIds: [1, 2], n: 1 };
  const good = generation.add(request);
  const refused = (change: Partial<GenerateRequest>, text: RegExp) =>
    assert.throws(() => generation.add({ ...request, ...change }), refusal(text));
  refused({ promptIds: [1, 2, 3, 4, 5] }, /prompt has 5 tokens, this generation room for 4/);
  refused({ sampling: { maxNewTokens: 7 } }, /maxNewTokens is 7, this generation has room for 6/);
  refused({ sampling: { temperature: 0.5 } }, /all sampled in the same way/);
  refused({ sampling: { temperature: -1 } }, /temperature is -1/);
  refused({ sampling: { seed: -1 } }, /seed is -1/);
  refused({ promptIds: [99] }, /id 99 is not in the vocabulary/);
  refused({ promptIds: [] }, /prompt is empty/);
  assert.equal((await good)[0]!.ids.length > 0, true);
});

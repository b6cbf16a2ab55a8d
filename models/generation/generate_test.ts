import assert from "node:assert/strict";
import { refusal } from "../../core/testing.ts";
import { assertWithin } from "../../kernels/testing.ts";
import { isEmulated, onEachDevice } from "../each_device_testing.ts";
import {
  randomModel,
  sampledLogprobs,
  scored,
  test,
  TINY_MODELS,
  tinyConfig,
  watchRuns,
} from "../testing.ts";
import type { Completion, GenerateOptions, GenerateRequest } from "./types.ts";

const lora = { r: 3, alpha: 6, targetModules: "all-linear" } as const;
const requests: GenerateRequest[] = [
  { promptId: 10, promptIds: [1, 2, 3, 4], n: 5 },
  { promptId: 11, promptIds: [5], n: 3 },
  { promptId: 2 ** 33 + 1, promptIds: [1, 2, 3, 4, 6, 7, 9], n: 1 },
];
const options: GenerateOptions = {
  maxNewTokens: 9,
  temperature: 0.9,
  seed: 77,
  eosIds: [3, 8],
};
const MODELS = [
  ["a base model", { trainable: "none" }],
  ["an adapter", { trainable: "lora", lora }],
] as const;

/** At temperature 0 no filter changes anything. */
const DRAWS = [
  { temperature: 0.9 },
  { temperature: 0.9, topP: 0.7, minP: 0.05 },
  { temperature: 0 },
  { temperature: 0.9, topK: 4 },
];

for (const [kind, how] of MODELS) {
  for (const [part, config] of TINY_MODELS) {
    Deno.test(`sampler and policy agree on log-probabilities, ${kind} with ${part}`, () =>
      onEachDevice(async (device, exact) => {
        if (isEmulated(device) && config !== TINY_MODELS[0]![1]) return;
        const model = await randomModel(device, config, how);
        for (const draw of DRAWS) {
          const completions = await model.generate(requests, { ...options, ...draw });
          const how = { temperature: draw.temperature || 1 }, bound = exact ? 1e-12 : 1e-5;
          const expected = await scored(model, requests, completions, how);
          assertWithin(sampledLogprobs(completions), expected, bound, JSON.stringify(draw));
        }
      }));
  }
}

test.onReference("a completion ends with the first end token, which is kept, or at its limit", async (device) => {
  const model = await randomModel(device, tinyConfig(true), { trainable: "none" });
  const completions = (await model.generate(requests, options)).flat();
  for (const { ids, logprobs, finishReason } of completions) {
    assert.equal(ids.length, logprobs.length);
    const first = ids.findIndex((id) => options.eosIds.includes(id));
    if (finishReason === "stop") assert.equal(first, ids.length - 1);
    else assert.deepEqual([first, ids.length], [-1, options.maxNewTokens]);
  }
  assert.deepEqual(new Set(completions.map((c) => c.finishReason)), new Set(["stop", "length"]));
  const endless = await model.generate(requests, { ...options, eosIds: [] });
  assert.deepEqual(endless.flat().map((c) => c.ids.length), Array(9).fill(9));
});

test.onReference("a long prompt leaves room for fewer tokens, other prompts are not affected", async (device) => {
  const model = await randomModel(device, tinyConfig(true), { trainable: "none" });
  const long = Array.from({ length: 29 }, (_, i) => i % 19);
  const asked = [
    { promptId: 0, promptIds: long, n: 2 },
    { promptId: 1, promptIds: [1, 2], n: 2 },
  ];
  for (const stepsPerRead of [1, 5]) {
    const completions = await model.generate(asked, { ...options, eosIds: [] }, { stepsPerRead });
    assert.deepEqual(completions.flat().map((c) => c.ids.length), [3, 3, 9, 9]);
    const expected = await scored(model, asked, completions, { temperature: 0.9 });
    assertWithin(sampledLogprobs(completions), expected, 1e-12, "log-probabilities");
  }
});

test.onReference("no requests give no completions; one token needs no cache", async (device) => {
  const model = await randomModel(device, tinyConfig(true), { trainable: "none" });
  assert.deepEqual(await model.generate([], options), []);
  assert.deepEqual(await model.generate([{ promptId: 0, promptIds: [1], n: 0 }], options), [[]]);
  const one = await model.generate(requests, { ...options, maxNewTokens: 1 });
  const many = await model.generate(requests, options);
  assert.deepEqual(one.flat().map((c) => c.ids[0]), many.flat().map((c) => c.ids[0]));
});

test.onReference("the time of every step is in the reported timing", async (device) => {
  const model = await randomModel(device, tinyConfig(true), { trainable: "none" });
  let waves = 0;
  // The host reads only once, when the generation ends.
  await model.generate([requests[0]!], {
    ...options,
    eosIds: [],
    onTiming: ({ promptTokens, newTokens, prefillSeconds, decodeSeconds }) => {
      waves++;
      assert.deepEqual([promptTokens, newTokens], [4, 5 * 9]);
      assert.ok(prefillSeconds > 0 && decodeSeconds > 0, `${prefillSeconds}, ${decodeSeconds}`);
    },
  }, { stepsPerRead: 8 });
  assert.equal(waves, 1);
  model.dispose();
});

Deno.test("merged and separate adapters sample the same tokens", () =>
  onEachDevice(async (device, exact) => {
    const model = await randomModel(device, tinyConfig(true), { trainable: "lora", lora });
    const merged = await model.generate(requests, options);
    const runs = watchRuns(device);
    const separate = await model.generate(requests, options, { copyBytes: 0 });
    assert.equal(runs.count("copy") + runs.count("pack_weight"), 0);
    runs.restore();
    assert.deepEqual(separate.flat().map((c) => c.ids), merged.flat().map((c) => c.ids));
    const bound = exact ? 1e-12 : 1e-5, wanted = sampledLogprobs(merged);
    assertWithin(sampledLogprobs(separate), wanted, bound, "log-probabilities");
  }));

test.onReference("generation's memory is reused from call to call", async (device) => {
  const model = await randomModel(device, tinyConfig(true), { trainable: "lora", lora });
  await model.generate(requests, { ...options, eosIds: [] });
  const { allocatedBytes } = device;
  device.resetPeak();
  for (let seed = 0; seed < 4; seed++) {
    await model.generate(requests.slice(seed % 2), { ...options, seed });
  }
  assert.equal(device.peakBytes, allocatedBytes);
  model.dispose();
  assert.equal(device.allocatedBytes, 0);
});

test.onReference("concurrent calls run one after the other, also for models on one base", async (device) => {
  const model = await randomModel(device, tinyConfig(true), { trainable: "lora", lora });
  const other = await model.withAdapter(lora);
  const alone: Completion[][][] = [];
  for (const request of requests) alone.push(await model.generate([request], options));
  const ofOther = await other.generate(requests, options);
  const refused = model.generate([{ ...requests[0]!, promptIds: [] }], options);
  const [together, theirs] = await Promise.all([
    Promise.all(requests.map((request) => model.generate([request], options))),
    other.generate(requests, options),
    assert.rejects(refused),
  ]);
  assert.deepEqual(together, alone);
  assert.deepEqual(theirs, ofOther);
  other.dispose();
  model.dispose();
});

test.onReference("when a request fails, the others end and the model is free", async (device) => {
  const model = await randomModel(device, tinyConfig(true), { trainable: "none" });
  const right = await model.generate(requests, options);
  let tokens = 0, ended = 0;
  const fails = (branch: number) => {
    tokens++;
    if (branch === 0) throw new Error("of the caller");
  };
  const asked = requests.map((request, i) => ({
    ...request,
    onToken: i === 1 ? fails : () => {
      tokens++;
    },
  }));
  const onEnd = () => ended++;
  await assert.rejects(() => model.generate(asked, { ...options, onEnd }), /of the caller/);
  const seen = tokens;
  assert.deepEqual(await model.generate(requests, options), right);
  assert.deepEqual([tokens, ended], [seen, 0]);
  model.dispose();
});

test.onReference("impossible requests are refused with an explanation", async (device) => {
  const model = await randomModel(device, tinyConfig(true), { trainable: "none" });
  const refused = async (
    request: Partial<GenerateRequest>,
    change: Partial<GenerateOptions>,
    text: RegExp,
  ) => {
    const asked = [{ ...requests[0]!, ...request }];
    await assert.rejects(model.generate(asked, { ...options, ...change }), refusal(text));
  };
  await refused({}, { maxNewTokens: 0 }, /maxNewTokens is 0/);
  await refused({}, { temperature: -1 }, /temperature is -1/);
  await refused({}, { topP: 0 }, /topP is 0/);
  await refused({}, { topK: 1.5 }, /topK is 1.5/);
  await refused({}, { minP: 1.5 }, /minP is 1.5/);
  await refused({}, { repetitionPenalty: 0 }, /Penalty is 0, expected a number above 0/);
  await refused({}, { repetitionPenalty: Infinity }, /repetitionPenalty is Infinity/);
  await refused({}, { minNewTokens: 10 }, /minNewTokens is 10, .* maxNewTokens \(9\)/);
  await refused({}, { minNewTokens: 1.5 }, /minNewTokens is 1.5/);
  await refused({ promptIds: [] }, {}, /prompt is empty/);
  await refused({ n: 4097 }, {}, /branches 0 … 4096/);
  await refused({ promptIds: Array(32).fill(1) }, {}, /32 tokens and leaves no room/);
});

/**
 * Helpers for tests of models: small configurations, models of several kinds, gradients by name.
 * Not part of the program.
 */
import assert from "node:assert/strict";
import { withFolder } from "../core/testing.ts";
import { assertWithin, largest } from "../kernels/testing.ts";
import { createReferenceDevice } from "../kernels/devices/reference/device.ts";
import type { Device } from "../kernels/device.ts";
import { CountingDevice } from "../kernels/devices/counting/device.ts";
import { CausalLM, type CausalLMOptions } from "./causal_lm.ts";
import { initWeights } from "./network/weights/init.ts";
import type { ModelConfig } from "./architectures/model_config.ts";
import { parameterBytes } from "./network/counted_network.ts";
import type { Completion, GenerateRequest } from "./generation/types.ts";
import type { ForwardOptions, ForwardResult, Group } from "./network/types.ts";
import type { RopeScaling } from "./architectures/rope_scaling.ts";

/**
 * Three layers, grouped queries, and a head width other than hiddenSize / heads. The head is tied
 * or not.
 */
export function tinyConfig(tied: boolean): ModelConfig {
  return {
    vocabSize: 19,
    hiddenSize: 12,
    intermediateSize: 20,
    numLayers: 3,
    numHeads: 4,
    numKvHeads: 2,
    headDim: 4,
    maxPositions: 32,
    ropeTheta: 100,
    ropeScaling: null,
    rmsNormEps: 1e-5,
    tieWordEmbeddings: tied,
  };
}

/** Divisors of two pairs, for short texts and for long ones, and a factor of cos and sin. */
const LONG_ROPE: RopeScaling = {
  type: "longrope",
  factor: 4,
  originalMaxPositions: 5,
  attentionFactor: 1.3,
  shortFactors: [1, 1.2],
  longFactors: [2, 3],
};

/**
 * Small models of all architectures, named by what is special about them. Windows end within
 * prompts and branches, and so do the lengths from which RoPE scaling depends on the length.
 */
export const TINY_MODELS: readonly (readonly [what: string, config: ModelConfig])[] = [
  ["a tied head", tinyConfig(true)],
  ["an untied head", tinyConfig(false)],
  ["Mistral's window", { ...tinyConfig(true), architecture: "mistral", slidingWindow: 3 }],
  ["Qwen2's biases", { ...tinyConfig(true), architecture: "qwen2" }],
  ["Qwen3's head norms", { ...tinyConfig(false), architecture: "qwen3" }],
  ["dynamic RoPE", {
    ...tinyConfig(true),
    statedPositions: 4,
    ropeScaling: { type: "dynamic", factor: 8, originalMaxPositions: 4 },
  }],
  ["LongRoPE", { ...tinyConfig(false), ropeScaling: LONG_ROPE }],
  [
    "GPT-2's parts",
    { ...tinyConfig(true), architecture: "gpt2", numHeads: 3, numKvHeads: 3 },
  ],
  ["Gemma's norms and types of layers", {
    ...tinyConfig(true),
    architecture: "gemma3_text",
    slidingWindow: 3,
    layerTypes: ["sliding", "full", "sliding"],
    slidingRope: { ropeTheta: 10, ropeScaling: null },
    scalars: { embedding: 3, attention: 0.7 },
  }],
  ["Gemma 2's soft caps", {
    ...tinyConfig(true),
    architecture: "gemma2",
    slidingWindow: 3,
    layerTypes: ["sliding", "full", "sliding"],
    scalars: { embedding: 3, attention: 0.7 },
    softCaps: { attention: 2, logits: 3 },
  }],
  ["Gemma 4's own inputs and shared keys", {
    ...tinyConfig(true),
    architecture: "gemma4_text",
    slidingWindow: 3,
    layerTypes: ["full", "sliding", "full"],
    slidingRope: { ropeTheta: 10, ropeScaling: null },
    scalars: { embedding: 3, attention: 1 },
    softCaps: { logits: 1 },
    fullHeadDim: 6,
    sharedKv: { layers: 1, doubleMlp: true },
    perLayer: 6,
  }],
  ["LFM2's convolutions", {
    ...tinyConfig(true),
    architecture: "lfm2",
    layerTypes: ["conv", "full", "conv"],
    convTaps: 3,
  }],
  ["Qwen3.5's delta rules", {
    ...tinyConfig(true),
    architecture: "qwen3_5_text",
    layerTypes: ["linear", "full", "linear"],
    rotaryDim: 2,
    convTaps: 4,
    delta: { keyHeads: 1, valueHeads: 2, keyDim: 5, valueDim: 3 },
  }],
  ["OLMo's norms", { ...tinyConfig(false), architecture: "olmo2", unrotated: [1] }],
  ["Phi's modules and Granite's factors", {
    ...tinyConfig(true),
    architecture: "phi3",
    rotaryDim: 2,
    growingQueries: { beta: 0.5, period: 4 },
    scalars: { residual: 0.6, logits: 2 },
  }],
];

/** Llama's names of modules in another family, where that has other ones. */
export function namesIn({ architecture }: ModelConfig, names: readonly string[]): string[] {
  const others: Readonly<Record<string, readonly (readonly [RegExp, string])[]>> = {
    phi3: [[/\bq_proj$/, "qkv_proj"], [/\bv_proj$/, "o_proj"], [/\bup_proj$/, "gate_up_proj"]],
    lfm2: [
      [/\bo_proj$/, "out_proj"],
      [/\bgate_proj$/, "w1"],
      [/\bup_proj$/, "w3"],
      [/\bdown_proj$/, "w2"],
      [/\binput_layernorm$/, "operator_norm"],
      [/\bpost_attention_layernorm$/, "ffn_norm"],
      [/\bmlp\b/, "feed_forward"],
    ],
    olmo2: [[/\binput_layernorm$/, "post_feedforward_layernorm"]],
  };
  const changed = names.map((name) =>
    (others[architecture ?? ""] ?? []).reduce((text, [from, to]) => text.replace(from, to), name)
  );
  return [...new Set(changed)];
}

/** A model with large random weights (also in the adapters' B), so that no value is near zero. */
export async function randomModel(
  device: Device,
  config: ModelConfig,
  options: CausalLMOptions,
): Promise<CausalLM> {
  const model = await CausalLM.create(device, config, initWeights(config, 5, 0.4), options);
  for (const { name } of model.parameters) {
    if (/(norm|ln_\w+|lora_B)\.weight$|\.bias$/.test(name)) {
      const data = await model.readParameter(name);
      model.writeParameter(name, data.map((x, i) => x + 0.3 * Math.sin(i * 1.7 + name.length)));
    }
  }
  return model;
}

/** Calls `work` with a reference device that is closed afterwards. */
export async function withReference<T>(
  work: (device: Device) => Promise<T>,
  float: "f32" | "f64" = "f64",
): Promise<T> {
  using device = createReferenceDevice({ float });
  return await work(device);
}

/** Tests with such a device in float64, and with a folder of their own. */
export const test = {
  inFolder(name: string, work: (folder: string, device: Device) => Promise<void>): void {
    Deno.test(name, () => withFolder((folder) => withReference((device) => work(folder, device))));
  },
  onReference(name: string, work: (device: Device) => Promise<void>): void {
    Deno.test(name, () => withReference(work));
  },
};

/** Bytes that work with a model takes beside its parameters, as counted without data. */
export async function countedBytes(
  { sizes }: CausalLM,
  work: (model: CausalLM) => unknown,
): Promise<number> {
  const device = new CountingDevice(sizes, (label) => label);
  const empty = CausalLM.empty(device, sizes), before = device.allocatedBytes;
  await work(empty);
  return device.peakBytes - before;
}

/** Asserts that a model takes the planned memory, and a step over two long groups. */
export async function assertStepIsPlanned(
  model: CausalLM,
  how: Partial<ForwardOptions> = {},
): Promise<void> {
  const { device } = model, { values, gradients } = parameterBytes(model.sizes);
  assert.equal(values + gradients, device.allocatedBytes);
  const groups = [0, 1].map((promptId) => ({
    promptId,
    promptIds: Array.from({ length: 40 }, (_, i) => (i + promptId) % 19),
    branches: [[1, 2, 3], Array<number>(20).fill(4), Array<number>(10).fill(5)],
  }));
  const before = device.allocatedBytes;
  device.resetPeak();
  const step = async (model: CausalLM) => {
    await model.forward(groups, { temperature: 1, train: true, ...how });
    model.backward(new Float64Array(2 * 33).fill(1));
  };
  await step(model);
  assert.equal(await countedBytes(model, step), device.peakBytes - before);
}

/** An objective of so many tokens: Σ dlogp·logp + Σ dentropy·entropy. */
export function weighted(pairs: number) {
  const dlogp = Float64Array.from({ length: pairs }, (_, i) => Math.cos(i * 2.1));
  const dentropy = dlogp.map((_, i) => 0.5 * Math.sin(i * 1.3));
  const weigh = ({ logp, entropy }: ForwardResult) =>
    dlogp.reduce((sum, d, i) => sum + d * logp[i]! + dentropy[i]! * entropy[i]!, 0);
  return { dlogp, dentropy, weigh };
}

/** Gradients of all trained parameters by name. */
export async function gradients(model: CausalLM): Promise<Map<string, Float64Array>> {
  const result = new Map<string, Float64Array>();
  for (const { name, grad } of model.trainable) {
    result.set(name, Float64Array.from(await model.device.read(grad!)));
  }
  return result;
}

/** The results of a training step. */
export interface TrainStep {
  logp: Float32Array | Float64Array;
  entropy: Float32Array | Float64Array;
  grads: Map<string, Float64Array>;
}

/** A training step from gradients of 0. */
export async function trainStep(
  model: CausalLM,
  groups: readonly Group[],
  { dlogp, dentropy }: { dlogp: Float64Array; dentropy?: Float64Array },
  how: Partial<ForwardOptions> = {},
): Promise<TrainStep> {
  model.zeroGrad();
  const { logp, entropy } = await model.forward(groups, { temperature: 0.8, train: true, ...how });
  const values = { logp: logp.slice(), entropy: entropy.slice() };
  model.backward(dlogp, dentropy);
  return { ...values, grads: await gradients(model) };
}

/**
 * Asserts that a step has the results of another one.
 * @param bound of each value, and of each gradient beside its largest value
 * @param least what the largest value counts at least
 */
export function assertSameStep(
  found: TrainStep,
  expected: TrainStep,
  bound: number,
  { logp = bound, least = 1, what = "" } = {},
): void {
  assertWithin(found.logp, expected.logp, logp, `${what} logp`);
  assertWithin(found.entropy, expected.entropy, logp, `${what} entropy`);
  assert.deepEqual([...found.grads.keys()], [...expected.grads.keys()]);
  for (const [name, grad] of expected.grads) {
    assertWithin(
      found.grads.get(name)!,
      grad,
      bound * Math.max(least, largest(grad)),
      `${what} ${name}`,
    );
  }
}

/** Log-probabilities of the tokens of completions from the scoring forward. */
export async function scored(
  model: CausalLM,
  requests: readonly Pick<GenerateRequest, "promptIds">[],
  completions: readonly Completion[][],
  how: Partial<ForwardOptions> = {},
): Promise<ArrayLike<number>> {
  const groups = requests.map(({ promptIds }, r) => ({
    promptIds,
    branches: completions[r]!.map(({ ids }) => ids),
  }));
  return (await model.forward(groups, { temperature: 1, train: false, ...how })).logp;
}

/** The log-probabilities that sampling gave the same tokens. */
export function sampledLogprobs(completions: readonly Completion[][]): number[] {
  return completions.flat().flatMap(({ logprobs }) => logprobs);
}

/** Notes the operations of a device with their arguments, until it is restored. */
export function watchRuns(device: Device) {
  const runs: [op: string, args: unknown][] = [], run = device.run;
  device.run = (op, args) => {
    runs.push([op, args]);
    run.call(device, op, args);
  };
  return {
    count: (op: string) => runs.filter(([name]) => name === op).length,
    /** The rows of each attention. */
    attentionRows: () =>
      runs.flatMap(([op, args]) => op === "attention" ? [(args as { rows: number }).rows] : []),
    restore: () => void (device.run = run),
  };
}

/**
 * The largest difference of log-probabilities, up to the first token that differs; most tokens must
 * be the same.
 */
export function logprobDifference(
  some: readonly Completion[],
  others: readonly Completion[],
): number {
  let most = 0, compared = 0;
  some.forEach(({ ids, logprobs }, i) => {
    const other = others[i]!, same = ids.findIndex((id, at) => id !== other.ids[at]);
    for (let at = 0; at < (same < 0 ? ids.length : same); at++, compared++) {
      most = Math.max(most, Math.abs(logprobs[at]! - other.logprobs[at]!));
    }
  });
  assert.ok(compared > 20, `only ${compared} tokens are the same`);
  return most;
}

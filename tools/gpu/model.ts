/** Decoding and a GRPO step with a model of random weights; the step's memory beside its plan. */
import { counted } from "../../core/counted.ts";
import type { WebgpuDevice } from "../../kernels/devices/webgpu/device.ts";
import type { RecordedCall } from "../../kernels/ops/common/recorded_call.ts";
import type { ModelConfig } from "../../models/architectures/model_config.ts";
import { CausalLM } from "../../models/causal_lm.ts";
import { elementCount } from "../../models/formats/element_count.ts";
import { modelTensors } from "../../models/architectures/mod.ts";
import { loadConfig } from "../../configs/load.ts";
import { ALL_FLOAT } from "../../models/formats/stored_weight.ts";
import { countStep } from "../../training/memory/counted_step.ts";
import { stepSize } from "../../training/memory/step_size.ts";
import { decodeBytes } from "../../training/duration/counted_speed.ts";
import { BenchStep } from "../../training/grpo_step_bench.ts";
import type { Sizes } from "./sizes.ts";

/** Steps that are taken if there is time; the fastest counts. */
const STEPS = 3;

/** Weights that repeat one block of small numbers, because drawing all of them would take long. */
function randomWeights(config: ModelConfig): Map<string, Float32Array> {
  const noise = Float32Array.from(
    { length: 65_537 },
    (_, i) => 0.04 * (((i * 2_654_435_761) % 4096) / 4096 - 0.5),
  );
  const weights = new Map<string, Float32Array>();
  for (const { name, shape, decay } of modelTensors(config)) {
    const data = new Float32Array(elementCount(shape));
    if (!decay) data.fill(1);
    else {
      for (let at = 0; at < data.length; at += noise.length) {
        data.set(noise.subarray(0, Math.min(noise.length, data.length - at)), at);
      }
    }
    weights.set(name, data);
  }
  return weights;
}

/** Decoding with a number of branches. */
export interface DecodeRow {
  branches: number;
  tokens_per_s: number;
  ms_per_step: number;
  /** Weights, keys and values that a step reads. */
  gb_per_s: number;
  dispatches_per_step: number;
  submits: number;
}

/** @param deadline no number of branches begins later, as of performance.now() */
export async function decode(
  device: WebgpuDevice,
  { model: config, branches, newTokens }: Sizes,
  deadline: number,
): Promise<DecodeRow[]> {
  const model = await CausalLM.create(device, config, randomWeights(config), {
    trainable: "none",
  });
  const promptIds = Array.from({ length: 64 }, (_, i) => i % config.vocabSize);
  const rows: DecodeRow[] = [];
  for (const n of branches) {
    if (performance.now() > deadline) break;
    let seconds = 0;
    const run = (tokens: number) =>
      model.generate([{ promptId: 0, promptIds, n }], {
        maxNewTokens: tokens,
        temperature: 1,
        seed: 1,
        eosIds: [],
        onTiming: (wave) => seconds = wave.decodeSeconds,
      });
    await run(17);
    const before = device.counters;
    await run(newTokens);
    const steps = newTokens - 1, after = device.counters;
    rows.push({
      branches: n,
      tokens_per_s: n * steps / seconds,
      ms_per_step: 1000 * seconds / steps,
      // On average half of the new tokens are in the cache.
      gb_per_s: decodeBytes(model.sizes, n, newTokens / 2) * steps / seconds / 1e9,
      dispatches_per_step: (after.dispatches - before.dispatches) / steps,
      submits: after.submits - before.submits,
    });
  }
  model.dispose();
  return rows;
}

/** The model, and the batch of its step. */
async function openStep(device: WebgpuDevice, { model: config, step }: Sizes) {
  const model = await CausalLM.create(device, config, randomWeights(config), {
    trainable: "lora",
    lora: { r: 16, alpha: 32, targetModules: "all-linear" },
  });
  const bench = new BenchStep(device, model, { decode: (ids) => String.fromCharCode(...ids) });
  const promptIds = Array.from(
    { length: step.prompts },
    (_, p) =>
      Array.from({ length: step.promptTokens }, (_, i) => (31 * p + 7 * i) % config.vocabSize),
  );
  const { completions, newTokens } = step;
  return { model, bench, batch: { promptIds, completions, newTokens, eosIds: [] } };
}

/** The calls of a step in which operations have a choice of kernels. Nothing is computed. */
export async function rehearsedStep(device: WebgpuDevice, sizes: Sizes): Promise<RecordedCall[]> {
  const { bench, batch } = await openStep(device, sizes);
  try {
    return await device.rehearse(() => bench.run(batch));
  } finally {
    bench.dispose();
  }
}

export interface StepResult {
  /** The shape, in words. */
  shape: string;
  /** Of the fastest step, in all and by phase. */
  seconds: number;
  phases: Record<string, number>;
  peak_bytes: number;
  /** What a run with this step would plan for. */
  planned_bytes: number;
  /** Bytes read from the card in a step. */
  read_bytes: number;
}

/** @param deadline no further step begins later, as of performance.now() */
export async function step(
  device: WebgpuDevice,
  sizes: Sizes,
  deadline: number,
): Promise<StepResult> {
  const { model: config, step } = sizes, { model, bench, batch } = await openStep(device, sizes);
  device.resetPeak();
  const readBefore = device.counters.readBytes;
  const times = [];
  do times.push(await bench.run(batch)); while (
    times.length < STEPS && performance.now() < deadline
  );
  const fastest = times.toSorted((a, b) => sum(a) - sum(b))[0]!;
  const planned_bytes = await plannedBytes(model, step);
  bench.dispose();
  return {
    shape: `${step.prompts} × ${step.completions} completions, ${step.promptTokens} + ` +
      `${step.newTokens} tokens, hidden size ${config.hiddenSize}, ` +
      counted(config.numLayers, "layer"),
    seconds: sum(fastest) / 1000,
    phases: Object.fromEntries(
      Object.entries(fastest).map(([phase, ms]) => [phase, ms / 1000]),
    ),
    peak_bytes: device.peakBytes,
    planned_bytes,
    read_bytes: (device.counters.readBytes - readBefore) / times.length,
  };
}

/** Bytes that a run with this step would plan for. */
async function plannedBytes(model: CausalLM, step: Sizes["step"]): Promise<number> {
  const { config } = await loadConfig("quickstart", {
    overrides: [
      "sft.max_steps=0",
      "eval.num_examples=0",
      "training.beta=0",
      `training.per_device_train_batch_size=${step.prompts * step.completions}`,
      "training.gradient_accumulation_steps=1",
      `training.num_generations=${step.completions}`,
      `training.max_completion_length=${step.newTokens}`,
    ],
  });
  const size = stepSize(config, {
    prompt: step.promptTokens,
    answer: 1,
    ranks: 1,
    supervisedOnly: false,
    copiedReference: false,
    teacher: null,
    referenceStorage: ALL_FLOAT,
  });
  const { peak, parts } = await countStep(model.sizes, size);
  return peak - parts.checkpoint;
}

const sum = (times: Record<string, number>) => Object.values(times).reduce((a, b) => a + b, 0);

/**
 * About how long a run will take, before it begins: the multiply-adds of its matrix products over the
 * speed that this device shows on one of them now. An order of magnitude, not a promise: completions are
 * taken to be as long as the worked answers (or half their limit), and everything beside matrix products
 * is a fixed share.
 */
import { batchSizes } from "../configs/derived.ts";
import type { RunConfig } from "../configs/run_config.ts";
import type { Device } from "../kernels/device.ts";
import { Due } from "./due.ts";
import type { RunSizes } from "./trainer_options.ts";

/** Share of its matrix-product speed that a whole step reaches, measured on the quickstart. */
const EFFICIENCY = 0.55;
/** Decoding a token costs this many times what a training row's forward pass costs. */
const DECODE_COST = 3;
const MEASURE_MS = 60;

/** The first one makes the kernel; of the others the fastest counts. */
const LEAST_RUNS = 3;

/** GFLOP/s of a product that keeps the device busy for about a millisecond. */
async function measureSpeed(device: Device): Promise<number> {
  const isCard = device.adapter !== undefined && !device.adapter.software;
  const [m, n, k] = isCard ? [4096, 1024, 1024] as const : [512, 256, 256] as const;
  const a = device.create("float", m * k, "estimate.a");
  const b = device.create("float", n * k, "estimate.b");
  const out = device.create("float", m * n, "estimate.out");
  const begin = performance.now();
  let best = Infinity;
  for (let run = 0; run < LEAST_RUNS || performance.now() - begin < MEASURE_MS; run++) {
    const start = performance.now();
    device.run("matmul", { a, b, out, m, n, k, transB: true });
    await device.read(out, 0, 1);
    best = Math.min(best, performance.now() - start);
  }
  for (const tensor of [a, b, out]) device.free(tensor);
  return 2 * m * n * k / best / 1e6;
}

export interface EstimateInput {
  config: RunConfig;
  sizes: RunSizes;
  heldOut: number;
  /** Weights of the matrix products: all parameters but an untied embedding. */
  parameters: number;
  /** Typical tokens of a prompt and of an answer. */
  promptTokens: number;
  answerTokens: number | null;
}

/** Seconds. */
export async function estimateSeconds(device: Device, input: EstimateInput): Promise<number> {
  const { config, sizes, parameters, promptTokens } = input, { training, sft } = config;
  const answer = Math.min(
    training.max_completion_length,
    input.answerTokens ?? training.max_completion_length / 2,
  );
  const perRow = 2 * parameters;
  // Full fine-tuning: forward, gradient of the input, gradient of the weights; LoRA leaves out the last.
  const passes = config.lora === null ? 3 : 2;
  const warmRows = sizes.warmStartSteps * (sft?.per_device_train_batch_size ?? 0) *
    (promptTokens + answer);
  const { schedule, rowsPerGeneration, rowsPerStep } = sizes;
  const promptsPerStep = rowsPerStep / training.num_generations;
  const stepRows = promptsPerStep * promptTokens + rowsPerStep * answer;
  // A generation batch serves several steps, or a step takes several of them.
  const generations = training.gradient_accumulation_steps / schedule.perGeneration;
  const decoded = generations * rowsPerGeneration * answer;
  const evaluated = input.heldOut * answer * (4 + evaluations(training, sizes));
  const flops = perRow * (
    passes * (warmRows + sizes.totalSteps * stepRows) +
    DECODE_COST * (sizes.totalSteps * decoded + evaluated)
  );
  return flops / (EFFICIENCY * 1e9 * await measureSpeed(device));
}

/** Completions a held-out problem that evaluations while training sample. */
function evaluations(training: RunConfig["training"], sizes: RunSizes): number {
  const { eval_strategy: strategy, eval_on_start: onStart } = training;
  const { evalSteps } = new Due(training, sizes.totalSteps, sizes.schedule.stepsPerEpoch);
  const interval = strategy === "epoch" ? sizes.schedule.stepsPerEpoch : evalSteps;
  const count = strategy === "no" ? 0 : Math.floor(sizes.totalSteps / interval);
  return (count + (onStart ? 1 : 0)) * batchSizes(training).generationsInEval;
}

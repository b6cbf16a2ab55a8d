/**
 * Estimates how long a run will take before it begins: the number of prompt tokens, completion
 * tokens and trained rows, times the time of each on this device. That time is measured with the
 * model (`speed_probe.ts`), or counted from its sizes (`counted_speed.ts`). The uncertain part is
 * how long completions become. After a warm start they are assumed to be as long as the worked
 * answers. Otherwise the estimate uses how many completions ended while the speed was measured,
 * combined with a guess of twice the worked answer.
 */
import { batchSizes, supervisedBatch } from "../../configs/batch_sizes.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { askedWhileTraining } from "../../data/held_out.ts";
import type { PromptEncoder } from "../../bench/evaluation/prompt_encoder.ts";
import type { ModelSizes } from "../../models/network/weights/model_sizes.ts";
import { type TypicalTokens, typicalTokens } from "../memory/run_memory.ts";
import { IntervalStrategy } from "../run/interval_strategy.ts";
import type { TrainerOptions } from "../run/trainer_options.ts";
import { rolloutOptions } from "../../bench/evaluation/sampling.ts";
import { countedSpeed } from "./counted_speed.ts";
import { deviceSpeed } from "./device_speed.ts";
import { measureModel, type ModelSpeed } from "./speed_probe.ts";
import type { RunSizes } from "../run/run_sizes.ts";

export interface EstimateInput extends TypicalTokens {
  config: RunConfig;
  sizes: RunSizes;
  heldOut: number;
  askedBetween: number;
}

export interface EstimateParts {
  warmStart: number;
  /** Of one step: generation, and the passes over its completions. */
  generation: number;
  training: number;
  evaluations: number;
}

/** Assumed length where there is no worked answer, as a share of the limit. */
const UNKNOWN_ANSWER = 1 / 4;
/** Assumed share of groups with a signal. The others may have no backward pass. */
const WITH_SIGNAL = 3 / 4;

/**
 * The share of the speed of single operations that a run reaches, where it is counted: by the time
 * of the quickstart on AVX2, of which the measured estimate took 1.25 times.
 */
const REACHED = 0.45;

export interface EstimateOptions {
  /** To count the model's operations at once; null: it works for some seconds, and is measured. */
  counted: ModelSizes | null;
  shouldStop: () => boolean;
}

export async function estimateRun(
  { config, device, model, problems, phases }: TrainerOptions,
  sizes: RunSizes,
  prompts: PromptEncoder,
  { counted, shouldStop }: EstimateOptions,
): Promise<number> {
  const supervisedOnly = phases === "sft";
  // Held-out preferences are read, and nothing is generated.
  const [heldOut, between] = config.dpo === null
    ? [problems.heldOut, askedWhileTraining(problems)]
    : [[], []];
  const input: EstimateInput = {
    config,
    sizes: supervisedOnly ? { ...sizes, totalSteps: 0 } : sizes,
    heldOut: heldOut.length,
    askedBetween: between.length,
    ...typicalTokens(prompts, problems, sizes.trainProblems),
  };
  const lanes = supervisedOnly
    ? Math.min(config.eval.batch_size, heldOut.length)
    : sizes.rowsPerGeneration;
  if (counted !== null) {
    const { promptTokens } = input, group = supervisedOnly ? 1 : config.training.num_generations;
    const work = { promptTokens, completionTokens: workedTokens(input), group, moments: 0 };
    const { products, bandwidth, start } = await deviceSpeed(device);
    const reached = {
      products: REACHED * products,
      bandwidth: REACHED * bandwidth,
      start: start / REACHED,
    };
    const speed = countedSpeed(reached, counted, {
      ...work,
      lanes: Math.max(1, lanes),
    });
    return estimateSeconds(input, { ...speed, sampled: { tokens: 0, ended: 0 } });
  }
  const speed = await measureModel({
    model,
    promptIds: prompts.prompt(problems.trainEntry(0)).ids,
    lanes,
    rows: (supervisedOnly ? config.sft ?? config.training : config.training)
      .per_device_train_batch_size,
    answerTokens: workedTokens(input),
    sampling: rolloutOptions(config.training, prompts, shouldStop),
    generates: !supervisedOnly || heldOut.length > 0,
  });
  return estimateSeconds(input, speed);
}

export function workedTokens(
  { config, answerTokens }: Pick<EstimateInput, "config" | "answerTokens">,
): number {
  const { max_completion_length: limit } = config.training;
  return Math.min(limit, Math.ceil(answerTokens ?? UNKNOWN_ANSWER * limit));
}

export function expectedTokens(input: EstimateInput, { sampled }: ModelSpeed): number {
  const { max_completion_length: limit } = input.config.training, worked = workedTokens(input);
  if (input.sizes.warmStartSteps > 0) return worked;
  // The probability that a token ends its completion: as measured, and one end in twice the worked
  // answer.
  const rate = (sampled.ended + 1) / (sampled.tokens + 2 * worked);
  return (1 - Math.exp(-rate * limit)) / rate;
}

export function estimateSeconds(input: EstimateInput, speed: ModelSpeed): number {
  const parts = estimateParts(input, speed, expectedTokens(input, speed));
  const { warmStart, generation, training, evaluations } = parts;
  return warmStart + input.sizes.totalSteps * (generation + training) + evaluations;
}

/** @param answer tokens of a completion */
export function estimateParts(
  input: EstimateInput,
  speed: Omit<ModelSpeed, "sampled">,
  answer: number,
): EstimateParts {
  const { config, sizes, promptTokens, heldOut } = input, { training, sft } = config;
  const { schedule, rowsPerGeneration, rowsPerStep } = sizes, perForward = speed.forwardRow;
  const generated = (prompts: number, completions: number) =>
    prompts * (promptTokens - input.sharedTokens) * perForward +
    completions * answer * speed.newToken;
  const warmStart = sizes.warmStartSteps * (sft === null ? 0 : supervisedBatch(sft)) *
    (promptTokens + workedTokens(input)) * speed.trainedRow;
  // One generation batch is for several steps, or a step takes several of them.
  const generations = training.gradient_accumulation_steps / schedule.perGeneration;
  const rowsOf = (completions: number) =>
    completions / training.num_generations * promptTokens + completions * answer;
  const policyAlone = training.beta === 0 && training.entropy_coef === 0;
  const perRow = policyAlone
    ? WITH_SIGNAL * speed.trainedRow + (1 - WITH_SIGNAL) * perForward
    : speed.trainedRow + (training.beta === 0 ? 0 : perForward);
  // Before and after training, both sampled and greedy.
  const around = 4 * generated(heldOut, heldOut);
  const perEvaluation = input.askedBetween * batchSizes(training).generationsInEval;
  const between = evaluations(training, sizes) *
    (generated(input.askedBetween, perEvaluation) + rowsOf(perEvaluation) * perForward);
  return {
    warmStart,
    generation: generations *
      generated(rowsPerGeneration / training.num_generations, rowsPerGeneration),
    training: rowsOf(rowsPerStep) * perRow,
    evaluations: around + between,
  };
}

function evaluations(training: RunConfig["training"], sizes: RunSizes): number {
  const { eval_strategy: strategy, eval_on_start: onStart } = training;
  const { evalSteps } = new IntervalStrategy(
    training,
    sizes.totalSteps,
    sizes.schedule.stepsPerEpoch,
  );
  const interval = strategy === "epoch" ? sizes.schedule.stepsPerEpoch : evalSteps;
  const count = strategy === "no" ? 0 : Math.ceil(sizes.totalSteps / interval);
  return count + (onStart ? 1 : 0);
}

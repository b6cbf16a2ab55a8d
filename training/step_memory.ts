/**
 * What the memory of a run's steps depends on, how much it is by the plans of models/memory_plan.ts, and
 * which settings would make it less.
 */
import { batchSizes } from "../configs/derived.ts";
import type { RunConfig } from "../configs/run_config.ts";
import { PREFILL_ROWS_GPU } from "../models/generation_plan.ts";
import {
  type GenerationSizes,
  planActivationBytes,
  planCacheBytes,
  planGenerationBytes,
  planHeadBytes,
  planInferenceBytes,
  planParameterBytes,
  planPassBytes,
  WAVE_BYTES,
} from "../models/memory_plan.ts";
import { llamaTensors } from "../models/llama_weights.ts";
import { mergedBytes, MOST_COPIED_BYTES } from "../models/merge_lora.ts";
import type { ModelSizes } from "../models/model_sizes.ts";
import { packedBytes } from "../models/packed_weights.ts";

/** Longest prompt and worked answer among the problems that a run will meet, in tokens. */
export interface Lengths {
  prompt: number;
  /** 1 when there is no supervised warm start. */
  answer: number;
}

/** What a run needs beside what its configuration says. */
export interface Needs extends Lengths {
  /** The reference of the KL term is a copy of the trained values. */
  copiedReference: boolean;
  /** There is no GRPO. */
  supervisedOnly: boolean;
}

/** What the memory of a step depends on, apart from the model. */
export interface StepSize {
  /** Completions of a forward pass. */
  batch: number;
  accumulation: number;
  /** Completions generated at a time. */
  generated: number;
  /** Completions of a prompt. */
  group: number;
  /** Tokens. */
  completion: number;
  /** Rules of sampling change logits. */
  adjusted: boolean;
  /** Problems of a supervised step; 0 = none. */
  items: number;
  /** Prompts and completions of each kind of evaluation, at a time. */
  evaluations: { prompts: number; completions: number }[];
  /** Longest prompt and worked answer, in tokens. */
  prompt: number;
  answer: number;
  copiedReference: boolean;
  /** Most bytes that generation takes. */
  generationRoom: number;
}

export function stepSize(config: RunConfig, needs: Needs): StepSize {
  const { training, sft, eval: heldOut } = config, sizes = batchSizes(training);
  const each = sizes.generationsInEval;
  const during = training.eval_strategy === "no" && !training.eval_on_start
    ? 0
    : Math.max(1, Math.floor(training.per_device_eval_batch_size / each));
  const around = Math.min(heldOut.batch_size, heldOut.num_examples);
  // While others end, the next prompts are there already (generation_plan.ts).
  const prompts = Math.min(around + 3, heldOut.num_examples);
  const { supervisedOnly } = needs;
  return {
    batch: supervisedOnly ? 0 : training.per_device_train_batch_size,
    accumulation: training.gradient_accumulation_steps,
    generated: supervisedOnly ? 0 : sizes.generationBatchSize,
    group: training.num_generations,
    completion: training.max_completion_length,
    adjusted: training.repetition_penalty !== 1 || training.min_new_tokens > 0,
    items: sft !== null && sft.max_steps > 0 ? sft.per_device_train_batch_size : 0,
    evaluations: heldOut.num_examples === 0 ? [] : [
      { prompts, completions: around },
      ...(supervisedOnly ? [] : [{ prompts: during, completions: during * each }]),
    ],
    ...needs,
    generationRoom: WAVE_BYTES,
  };
}

/** Bytes beside values and gradients. */
export function beside(sizes: ModelSizes, size: StepSize): number {
  const { reference, generation, training } = planStep(sizes, size);
  return planParameterBytes(sizes).optimizer + reference + generation + training;
}

export function planStep(
  sizes: ModelSizes,
  size: StepSize,
): { reference: number; generation: number; training: number } {
  const { passes, waves, inference } = work(size);
  const merged = Math.max(
    ...(sizes.dropout === null ? passes : []).map(({ rows }) => mergedBytes(sizes, rows)),
    mergedBytes(sizes, inference.rows),
  );
  const copies = packedBytes(sizes), packed = copies <= MOST_COPIED_BYTES ? copies : 0;
  // The policy meanwhile, and the copy that takes its place.
  const reference = size.copiedReference ? planParameterBytes(sizes).optimizer : 0;
  return {
    reference,
    generation: packed + planInferenceBytes(sizes, waves, inference, size.generationRoom),
    // Merged copies lie where the packed ones do, of every pass.
    training: Math.max(0, merged - packed) +
      Math.max(...passes.map(({ rows, pairs }) => planPassBytes(sizes, rows, pairs, true))),
  };
}

interface Pass {
  rows: number;
  pairs: number;
}

/** The largest passes and waves of a run. */
function work(size: StepSize): { passes: Pass[]; waves: GenerationSizes[]; inference: Pass } {
  const { batch, generated, group, completion, items, prompt, answer } = size;
  const rows = Math.ceil(batch / group) * prompt + batch * completion;
  const passes = batch === 0 ? [] : [{ rows, pairs: batch * completion }];
  if (items > 0) passes.push({ rows: items * (prompt + answer), pairs: items * answer });
  const waves = [
    { prompts: Math.ceil(generated / group), completions: generated },
    ...size.evaluations,
  ].map(({ prompts, completions }) => ({
    promptRows: prompts * prompt,
    // An upper bound on every device.
    passRows: Math.max(PREFILL_ROWS_GPU, prompt),
    branches: completions,
    maxNewTokens: completion,
    adjusted: size.adjusted,
  }));
  // Passes without gradient: of the reference, of the policy that generated, of groups that teach nothing,
  // of evaluations while training.
  const { prompts, completions } = size.evaluations[1] ?? { prompts: 0, completions: 0 };
  const inference = {
    rows: Math.max(rows, prompts * prompt + completions * completion),
    pairs: Math.max(batch, completions) * completion,
  };
  return { passes, waves, inference };
}

/** Bytes of the parts of a plan, which add up to its peak, and of what they would be otherwise. */
export interface MemoryParts {
  /** Values that are not trained, and the types that their matrices are held in. */
  frozen: number;
  frozenTypes: string[];
  /** Values that are: all of the model, or its adapters. */
  trained: number;
  gradients: number;
  optimizer: number;
  /** Copies for the KL term. */
  reference: number;
  /** Weights packed for generation, adapters merged in. */
  packed: number;
  /** Keys and values of the largest wave of generation. */
  caches: number;
  /** What else generation and passes without gradient use. */
  inference: number;
  /** What the layers keep for the backward pass, as the run does it. */
  activations: number;
  /** Hidden rows of the predicted tokens; logits exist in chunks only. */
  head: number;
  /** What else a training pass uses. */
  scratch: number;
  otherwise: {
    /** All activations kept, or each layer's computed again from its input. */
    kept: number;
    recomputed: number;
    /** Logits of all predicted tokens at once. */
    allLogits: number;
  };
}

export function memoryParts(sizes: ModelSizes, size: StepSize): MemoryParts {
  const { values, gradients, optimizer } = planParameterBytes(sizes);
  const { reference, generation, training } = planStep(sizes, size), { passes, waves } = work(size);
  const bytes = (pass: Pass) => planPassBytes(sizes, pass.rows, pass.pairs, true);
  const largest = passes.reduce((best, pass) => bytes(pass) > bytes(best) ? pass : best);
  const { kept, recomputed } = planActivationBytes(sizes, largest.rows);
  const { head, allLogits } = planHeadBytes(sizes, largest.pairs);
  const activations = sizes.recompute ? recomputed : kept;
  const copies = packedBytes(sizes), packed = copies <= MOST_COPIED_BYTES ? copies : 0;
  // A wave that is too large runs in parts, each with its share of the keys and values.
  const caches = Math.max(...waves.map((wave) => {
    const all = planGenerationBytes(sizes, wave);
    return Math.floor(planCacheBytes(sizes, wave) * Math.min(1, size.generationRoom / all));
  }));
  const arena = gradients;
  return {
    frozen: values - arena,
    frozenTypes: typesOf(sizes),
    trained: arena,
    gradients,
    optimizer,
    reference,
    packed,
    caches,
    inference: generation - packed - caches,
    activations,
    head,
    scratch: training - activations - head,
    otherwise: { kept, recomputed, allLogits },
  };
}

function typesOf({ config, storage }: ModelSizes): string[] {
  const matrices = llamaTensors(config).filter(({ shape }) => shape.length > 1);
  return [...new Set(matrices.map(({ name }) => storage.get(name) ?? "f32"))];
}

/** Settings that would fit, each enough by itself; those that change least come first. May be none. */
export function whatFits(size: StepSize, fits: (size: StepSize) => boolean): string[] {
  const { batch, accumulation, group, completion, items } = size;
  const options: string[] = [];
  for (let parts = 2; parts <= batch; parts++) {
    const smaller = { ...size, batch: batch / parts, accumulation: accumulation * parts };
    if (batch % parts !== 0 || !fits(smaller)) continue;
    options.push(
      `training.per_device_train_batch_size=${smaller.batch} ` +
        `training.gradient_accumulation_steps=${smaller.accumulation} (the same step in ${parts} parts)`,
    );
    break;
  }
  const prompts = largest(
    Math.floor(batch / group),
    (n) => fits({ ...size, batch: n * group }),
  );
  if (options.length === 0 && prompts > 0) {
    options.push(`training.per_device_train_batch_size=${prompts * group}`);
  }
  const tokens = largest(completion, (n) => fits({ ...size, completion: n }));
  if (tokens > 0) options.push(`training.max_completion_length=${tokens}`);
  const problems = largest(items, (n) => fits({ ...size, items: n }));
  if (problems > 0) options.push(`sft.per_device_train_batch_size=${problems}`);
  return options;
}

/** The largest integer in [1, below) for which `works`, which gets false once and stays so; 0 = none. */
function largest(below: number, works: (n: number) => boolean): number {
  let low = 0, high = below;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (works(middle)) low = middle;
    else high = middle;
  }
  return low;
}

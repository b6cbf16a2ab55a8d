/**
 * What the memory of a run's steps depends on, how much it is by the plans of
 * models/network/memory_plan.ts, and which settings would make it less.
 */
import { batchSizes } from "../../configs/batch_sizes.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { planEqualRequests, PREFILL_ROWS_GPU } from "../../models/generation/generation_plan.ts";
import {
  DEFAULT_GENERATION_BYTES,
  type GenerationSizes,
  planCacheBytes,
  planGenerationBytes,
  planInferenceBytes,
} from "../../models/generation/generation_memory.ts";
import {
  planActivationBytes,
  planHeadBytes,
  planParameterBytes,
  planPassBytes,
} from "../../models/network/memory_plan.ts";
import { modelTensors } from "../../models/network/weights/model_weights.ts";
import { MAX_COPY_BYTES, mergedBytes } from "../../models/generation/merge_lora.ts";
import type { ModelSizes } from "../../models/network/weights/model_sizes.ts";
import { packedBytes } from "../../models/generation/packed_weights.ts";

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

/** A generation. */
interface Wave {
  prompts: number;
  /** Completions of a prompt. */
  each: number;
  /** Most completions at once. */
  slots: number;
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
  /**
   * Each kind of evaluation: the prompts of a generation, completions of each, and how many at a
   * time.
   */
  evaluations: Wave[];
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
      { prompts: heldOut.num_examples, each: 1, slots: heldOut.batch_size },
      ...(supervisedOnly ? [] : [{ prompts: during, each, slots: during * each }]),
    ],
    ...needs,
    generationRoom: DEFAULT_GENERATION_BYTES,
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
  const { passes, wave, inference } = work(sizes, size);
  const merged = Math.max(
    ...(sizes.dropout === null ? passes : []).map(({ rows }) => mergedBytes(sizes, rows)),
    mergedBytes(sizes, inference.rows),
  );
  const copies = packedBytes(sizes), packed = copies <= MAX_COPY_BYTES ? copies : 0;
  // The policy meanwhile, and the copy that takes its place.
  const reference = size.copiedReference ? planParameterBytes(sizes).optimizer : 0;
  return {
    reference,
    generation: packed + planInferenceBytes(sizes, wave, inference, size.generationRoom),
    // Merged copies lie where the packed ones do, of every pass.
    training: Math.max(0, merged - packed) +
      Math.max(...passes.map(({ rows, pairs }) => planPassBytes(sizes, rows, pairs, true))),
  };
}

interface Pass {
  rows: number;
  pairs: number;
}

/**
 * The largest passes of a run; of its generations, which share their buffers, the largest of each
 * size.
 */
function work(
  sizes: ModelSizes,
  size: StepSize,
): { passes: Pass[]; wave: GenerationSizes; inference: Pass } {
  const { batch, generated, group, completion, items, prompt, answer, adjusted } = size;
  const rows = Math.ceil(batch / group) * prompt + batch * completion;
  const passes = batch === 0 ? [] : [{ rows, pairs: batch * completion }];
  if (items > 0) passes.push({ rows: items * (prompt + answer), pairs: items * answer });
  const wave = { promptRows: 0, passRows: 0, branches: 0, maxNewTokens: completion, adjusted };
  const policy = { prompts: Math.ceil(generated / group), each: group, slots: generated };
  for (const { prompts, each, slots } of [policy, ...size.evaluations]) {
    if (prompts === 0) continue;
    const { promptRows, passRows, branches } = planEqualRequests(
      sizes,
      { prompts, each, length: prompt },
      // Upper bounds on every device.
      { maxSlots: slots, prefillRows: PREFILL_ROWS_GPU },
    );
    wave.promptRows = Math.max(wave.promptRows, promptRows);
    wave.passRows = Math.max(wave.passRows, passRows);
    wave.branches = Math.max(wave.branches, branches);
  }
  // Passes without gradient: of the reference, of the policy that generated, of groups that teach
  // nothing, of evaluations while training.
  const { prompts, slots } = size.evaluations[1] ?? { prompts: 0, slots: 0 };
  const inference = {
    rows: Math.max(rows, prompts * prompt + slots * completion),
    pairs: Math.max(batch, slots) * completion,
  };
  return { passes, wave, inference };
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
  const { reference, generation, training } = planStep(sizes, size),
    { passes, wave } = work(sizes, size);
  const bytes = (pass: Pass) => planPassBytes(sizes, pass.rows, pass.pairs, true);
  const largest = passes.reduce((best, pass) => bytes(pass) > bytes(best) ? pass : best);
  const { kept, recomputed } = planActivationBytes(sizes, largest.rows);
  const { head, allLogits } = planHeadBytes(sizes, largest.pairs);
  const activations = sizes.recompute ? recomputed : kept;
  const copies = packedBytes(sizes), packed = copies <= MAX_COPY_BYTES ? copies : 0;
  // What is too large runs in parts, each with its share of the keys and values.
  const part = Math.min(1, size.generationRoom / planGenerationBytes(sizes, wave));
  const caches = Math.floor(planCacheBytes(sizes, wave) * part);
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
  const matrices = modelTensors(config).filter(({ shape }) => shape.length > 1);
  return [...new Set(matrices.map(({ name }) => storage.get(name) ?? "f32"))];
}

/**
 * Settings that would fit, each enough by itself; those that change least come first. May be none.
 */
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

/**
 * The largest integer in [1, below) for which `works`, which gets false once and stays so; 0 =
 * none.
 */
function largest(below: number, works: (n: number) => boolean): number {
  let low = 0, high = below;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (works(middle)) low = middle;
    else high = middle;
  }
  return low;
}

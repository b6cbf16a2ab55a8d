/**
 * The memory of a run's steps: the sizes that it depends on, the bytes by the plans of `models/`,
 * and the settings that would need less.
 */
import { batchSizes, type SizeKeys } from "../../configs/batch_sizes.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import {
  planEqualRequests,
  PREFILL_ROWS_GPU,
} from "../../models/generation/memory/generation_slots.ts";
import {
  DEFAULT_GENERATION_BYTES,
  type GenerationSizes,
  planCacheBytes,
  planGenerationBytes,
  planInferenceBytes,
} from "../../models/generation/memory/generation_bytes.ts";
import {
  planActivationBytes,
  planCopyBytes,
  planHeadBytes,
  planParameterBytes,
  planPassBytes,
} from "../../models/network/model_bytes.ts";
import { modelTensors } from "../../models/network/weights/model_weights.ts";
import { MAX_COPY_BYTES, mergedBytes } from "../../models/network/merged_copies.ts";
import type { WeightStorage } from "../../models/formats/stored_weight.ts";
import type { ModelSizes } from "../../models/network/weights/model_sizes.ts";
import { PART_ELEMENTS } from "../../models/formats/tensor_stream.ts";
import { packedBytes } from "../../models/generation/packed_weights.ts";
import { panelBytes } from "./panel_bytes.ts";
import { type OptimizerKind, optimizerKind, planOptimizerBytes } from "../step/moments.ts";
import { copyBytes } from "../step/gradient_sum.ts";
import { SYNC_CHUNK } from "../step/reference_policy.ts";

/** The longest prompt and worked answer among the problems of a run, in tokens. */
export interface Lengths {
  prompt: number;
  /** 1 when there is no supervised warm start. */
  answer: number;
}

/** What the memory depends on besides the configuration. */
export interface RunNeeds extends Lengths {
  /** Whether the reference of the KL term is a copy of the trained values. */
  copiedReference: boolean;
  /** How that copy is stored if the model is trained in full. */
  referenceStorage: WeightStorage;
  /** Whether the run is the supervised warm start alone. */
  supervisedOnly: boolean;
  /** Number of ranks. */
  ranks: number;
}

/** The prompts of one generation and their completions. */
interface EqualGeneration {
  prompts: number;
  /** Completions of each prompt. */
  each: number;
  /** Maximum number of completions that are decoded together. */
  slots: number;
}

/** What the memory of a step depends on, apart from the model. */
export interface StepSize {
  /** Completions of a forward pass. */
  batch: number;
  accumulation: number;
  /** How the gradients of micro-batches are added. */
  reduction: RunConfig["training"]["reduction"];
  /** Whether gradients are bfloat16 on the wire. */
  halves: boolean;
  /** Completions of a generation batch. */
  generated: number;
  /** Completions of a prompt. */
  group: number;
  /** Maximum tokens of a completion. */
  completion: number;
  /** Whether sampling options (repetition penalty, min_new_tokens) change the logits. */
  adjusted: boolean;
  /** Problems of a supervised forward pass, 0 = no warm start; and its passes a step. */
  items: number;
  itemAccumulation: number;
  /** The generations of evaluations: before and after training, and while training. */
  evaluations: EqualGeneration[];
  /** The longest prompt and worked answer, in tokens. */
  prompt: number;
  answer: number;
  copiedReference: boolean;
  referenceStorage: WeightStorage;
  /** Whether `sync_ref_model` moves the copy. */
  movingReference: boolean;
  optimizer: OptimizerKind;
  /** Ranks over which its states are divided. */
  shards: number;
  /** Maximum bytes of a generation. */
  generationLimit: number;
}

export function stepSize(config: RunConfig, needs: RunNeeds): StepSize {
  const { training, sft, eval: heldOut } = config, sizes = batchSizes(training);
  const each = sizes.generationsInEval;
  const during = training.eval_strategy === "no" && !training.eval_on_start
    ? 0
    : Math.max(1, Math.floor(training.per_device_eval_batch_size / each));
  const { supervisedOnly } = needs;
  return {
    batch: supervisedOnly ? 0 : training.per_device_train_batch_size,
    accumulation: training.gradient_accumulation_steps,
    reduction: training.reduction,
    halves: training.reduce_dtype === "bfloat16",
    generated: supervisedOnly ? 0 : sizes.generationBatchSize,
    group: training.num_generations,
    completion: training.max_completion_length,
    adjusted: training.repetition_penalty !== 1 || training.min_new_tokens > 0,
    items: sft !== null && sft.max_steps > 0 ? sft.per_device_train_batch_size : 0,
    itemAccumulation: sft?.gradient_accumulation_steps ?? 1,
    evaluations: heldOut.num_examples === 0 ? [] : [
      { prompts: heldOut.num_examples, each: 1, slots: heldOut.batch_size },
      ...(supervisedOnly ? [] : [{ prompts: during, each, slots: during * each }]),
    ],
    ...needs,
    movingReference: training.sync_ref_model,
    optimizer: optimizerKind(training),
    shards: training.zero === 1 ? needs.ranks : 1,
    generationLimit: DEFAULT_GENERATION_BYTES,
  };
}

/** Bytes of everything except the parameters and their gradients. */
export function bytesBesideParameters(sizes: ModelSizes, size: StepSize): number {
  const { reference, generation, training, checkpoint } = planStep(sizes, size);
  const optimizer = planOptimizerBytes(sizes, size.optimizer, size.shards);
  return optimizer + reference + generation + training + checkpoint;
}

/** Parts of tensors that are in memory while a checkpoint is written, as measured. */
const WRITTEN_PARTS = 16;

/** Bytes that writing a checkpoint takes; tensors are read from the device part by part. */
function checkpointBytes(sizes: ModelSizes): number {
  const parts = WRITTEN_PARTS * PART_ELEMENTS * sizes.floatBytes;
  return Math.min(planParameterBytes(sizes).gradients, parts);
}

export function planStep(
  sizes: ModelSizes,
  size: StepSize,
): { reference: number; generation: number; training: number; checkpoint: number } {
  const { passes, wave, inference } = largestPasses(sizes, size);
  const merged = Math.max(
    ...(sizes.dropout === null ? passes : []).map(({ rows }) => mergedBytes(sizes, rows)),
    mergedBytes(sizes, inference.rows),
  );
  const copies = packedBytes(sizes), packed = copies <= MAX_COPY_BYTES ? copies : 0;
  const moving = size.movingReference ? 2 * sizes.floatBytes * SYNC_CHUNK : 0;
  const reference = size.copiedReference ? planCopyBytes(sizes, size.referenceStorage) + moving : 0;
  const { gradients } = planParameterBytes(sizes);
  const sumBytes = (pass: number, count: number) =>
    pass === 0 ? 0 : copyBytes(size, count, gradients);
  return {
    reference,
    generation: packed + planInferenceBytes(sizes, wave, inference, size.generationLimit),
    // The merged copies of all passes reuse the memory of the packed ones.
    training: Math.max(0, merged - packed) +
      Math.max(...passes.map((pass) => passBytes(sizes, pass))) +
      Math.max(
        sumBytes(size.batch, size.accumulation),
        sumBytes(size.items, size.itemAccumulation),
      ),
    checkpoint: checkpointBytes(sizes),
  };
}

interface Pass {
  rows: number;
  pairs: number;
}

/** Bytes of a training pass, with the panels of its products. */
function passBytes(sizes: ModelSizes, pass: Pass): number {
  return planPassBytes(sizes, pass.rows, pass.pairs, true) + panelBytes(sizes, pass);
}

/**
 * The training passes of a run; the largest sizes of its generations, which share their buffers;
 * and the largest pass without gradient.
 */
export function largestPasses(
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
      // The maximum on any device.
      { maxSlots: slots, prefillRows: PREFILL_ROWS_GPU },
    );
    wave.promptRows = Math.max(wave.promptRows, promptRows);
    wave.passRows = Math.max(wave.passRows, passRows);
    wave.branches = Math.max(wave.branches, branches);
  }
  // Passes without gradient: the reference model, old log-probabilities, groups without a gradient,
  // and evaluations while training.
  const { prompts, slots } = size.evaluations[1] ?? { prompts: 0, slots: 0 };
  const inference = {
    rows: Math.max(rows, prompts * prompt + slots * completion),
    pairs: Math.max(batch, slots) * completion,
  };
  return { passes, wave, inference };
}

/** Bytes of the parts of a plan, whose sum is its peak, and of alternatives. */
export interface MemoryParts {
  /** Parameters that are not trained, and the types that their matrices are stored in. */
  frozen: number;
  frozenTypes: string[];
  /** Parameters that are trained: all of the model, or its adapters. */
  trained: number;
  gradients: number;
  optimizer: number;
  /** Copies for the reference of the KL term. */
  reference: number;
  /** Copies of weights for generation. */
  packed: number;
  /** KV cache of the largest generation. */
  caches: number;
  /** Everything else that generation and passes without gradient use. */
  inference: number;
  /** Activations that are kept for the backward pass. */
  activations: number;
  /** Hidden states of the predicted tokens; logits are computed in chunks. */
  head: number;
  /** Operands of products in bfloat16, packed for one product at a time. */
  panels: number;
  /** Everything else that a training pass uses. */
  scratch: number;
  /** Tensors on their way into a checkpoint. */
  checkpoint: number;
  /** How what is trained is kept: the types of matrices, and of those of the reference. */
  kept: { trained: string[]; reference: string[]; optimizer: OptimizerKind; shards: number };
  otherwise: {
    /** Activations if all are kept, or if each layer is recomputed from its input. */
    kept: number;
    recomputed: number;
    /** The logits of all predicted tokens together. */
    allLogits: number;
  };
}

export function memoryParts(sizes: ModelSizes, size: StepSize): MemoryParts {
  const { values, trained, gradients } = planParameterBytes(sizes);
  const { reference, generation, training, checkpoint } = planStep(sizes, size),
    { passes, wave } = largestPasses(sizes, size);
  const largest = passes.reduce((best, pass) =>
    passBytes(sizes, pass) > passBytes(sizes, best) ? pass : best
  );
  const panels = panelBytes(sizes, largest);
  const { kept, recomputed } = planActivationBytes(sizes, largest.rows);
  const { head, allLogits } = planHeadBytes(sizes, largest.pairs);
  const activations = sizes.recompute ? recomputed : kept;
  const copies = packedBytes(sizes), packed = copies <= MAX_COPY_BYTES ? copies : 0;
  // A generation that is too large runs in parts, each with its share of the KV cache.
  const part = Math.min(1, size.generationLimit / planGenerationBytes(sizes, wave));
  const caches = Math.floor(planCacheBytes(sizes, wave) * part);
  return {
    frozen: values - trained,
    frozenTypes: typesOf(sizes),
    trained,
    gradients,
    optimizer: planOptimizerBytes(sizes, size.optimizer, size.shards),
    reference,
    packed,
    caches,
    inference: generation - packed - caches,
    activations,
    head,
    panels,
    scratch: training - activations - head - panels,
    checkpoint,
    kept: keptTypes(sizes, size),
    otherwise: { kept, recomputed, allLogits },
  };
}

function keptTypes(sizes: ModelSizes, size: StepSize): MemoryParts["kept"] {
  const isFull = sizes.trainable === "full", { optimizer, referenceStorage: storage } = size;
  return {
    trained: isFull ? typesOf(sizes) : ["f32"],
    reference: isFull ? typesOf({ ...sizes, storage }) : ["f32"],
    ...{ optimizer, shards: size.shards },
  };
}

function typesOf({ config, storage }: ModelSizes): string[] {
  const matrices = modelTensors(config).filter(({ shape }) => shape.length > 1);
  return [...new Set(matrices.map(({ name }) => storage.get(name) ?? "f32"))];
}

/**
 * Settings that would fit, each of them alone. Those that change the least come first. May be
 * empty.
 */
export function fittingSettings(size: StepSize, fits: (size: StepSize) => boolean): string[] {
  const { batch, accumulation, group, completion, items, itemAccumulation } = size;
  const options: string[] = [];
  const addParts = (
    section: string,
    whole: number,
    count: number,
    smaller: (batch: number, count: number) => StepSize,
  ) => {
    for (let parts = 2; parts <= whole; parts++) {
      const [each, all] = [whole / parts, count * parts];
      if (whole % parts !== 0 || !fits(smaller(each, all))) continue;
      options.push(
        `${section}.per_device_train_batch_size=${each} ` +
          `${section}.gradient_accumulation_steps=${all} (the same step in ${parts} parts)`,
      );
      return;
    }
  };
  addParts(
    "training",
    batch,
    accumulation,
    (batch, accumulation) => ({ ...size, batch, accumulation }),
  );
  addParts(
    "sft",
    items,
    itemAccumulation,
    (items, itemAccumulation) => ({ ...size, items, itemAccumulation }),
  );
  const isDivided = (section: string) => options.some((text) => text.startsWith(`${section}.per`));
  const prompts = largest(
    Math.floor(batch / group),
    (n) => fits({ ...size, batch: n * group }),
  );
  if (!isDivided("training") && prompts > 0) {
    options.push(`training.per_device_train_batch_size=${prompts * group}`);
  }
  const tokens = largest(completion, (n) => fits({ ...size, completion: n }));
  if (tokens > 0) options.push(`training.max_completion_length=${tokens}`);
  const problems = largest(items, (n) => fits({ ...size, items: n }));
  if (!isDivided("sft") && problems > 0) {
    options.push(`sft.per_device_train_batch_size=${problems}`);
  }
  const bytes = { ...size.optimizer, moments: "8bit" } as const;
  if (size.optimizer.moments === "float" && fits({ ...size, optimizer: bytes })) {
    options.push("training.optim=adamw_8bit");
  }
  return options;
}

/** The largest batch of a training pass that fits, and the key that sets it. */
export interface LargestBatch {
  key: string;
  /** What it is now, and the largest value that fits; 0 = none does. */
  now: number;
  largest: number;
}

/** No pass of a run has this many completions. */
const MAX_BATCH = 2 ** 16;

/** The largest batch that fits with all other keys as they are. */
export function largestBatch(
  size: StepSize,
  keys: SizeKeys,
  fits: (size: StepSize) => boolean,
): LargestBatch {
  if (size.batch === 0) {
    const items = largest(MAX_BATCH, (n) => fits({ ...size, items: n }));
    return { key: "sft.per_device_train_batch_size", now: size.items, largest: items };
  }
  const key = "training.per_device_train_batch_size", now = size.batch;
  const works = (n: number) => {
    const { generationBatchSize } = batchSizes({ ...keys, per_device_train_batch_size: n });
    return fits({ ...size, batch: n, generated: generationBatchSize });
  };
  const whole = keys.generation_batch_size;
  if (whole !== null) {
    const divisors = Array.from({ length: whole }, (_, i) => whole - i)
      .filter((n) => whole % n === 0);
    return { key, now, largest: divisors.find(works) ?? 0 };
  }
  // Groups are not split between generations.
  const { stepsPerGeneration } = batchSizes(keys);
  const unit = size.group / commonDivisor(size.group, stepsPerGeneration);
  return {
    key,
    now,
    largest: unit * largest(Math.floor(MAX_BATCH / unit), (n) => works(n * unit)),
  };
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

/**
 * The largest integer in [1, below) for which `works`, or 0. If it works for n, it works for all
 * below n.
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

/** The memory of a run's steps: the sizes that it depends on, and the bytes of each part. */
import { batchSizes, microStepsPerGeneration } from "../../configs/batch_sizes.ts";
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
  planRestoredBytes,
} from "../../models/network/model_bytes.ts";
import { MAX_COPY_BYTES, mergedBytes } from "../../models/network/merged_copies.ts";
import type { WeightStorage } from "../../models/formats/stored_weight.ts";
import type { ModelSizes } from "../../models/network/weights/model_sizes.ts";
import { PART_ELEMENTS } from "../../models/formats/tensor_stream.ts";
import { packedBytes } from "../../models/generation/packed_weights.ts";
import { type OptimizerKind, optimizerKind, planOptimizerBytes } from "../step/moments.ts";
import { copyBytes } from "../step/gradient_sum.ts";
import { SYNC_CHUNK } from "../step/reference_policy.ts";
import { roundedHeadBytes } from "../../kernels/ops/head/wasm.ts";
import { operandBytes, packedRowBytes } from "../../kernels/ops/matmul/wasm/rounded.ts";
import { linearDims, modelTensors, modulesOf } from "../../models/architectures/mod.ts";
import { backwardWidths } from "../../models/network/layer_buffers.ts";
import { planStoreBytes } from "../../models/network/activation_store.ts";
import { gradientScratch } from "../../kernels/ops/attention/scratch.ts";
import { decodeScratch } from "../../kernels/ops/attention_decode/scratch.ts";
import { chunkSizes } from "../../kernels/ops/head/choose.ts";
import { sumScratch } from "../../kernels/ops/matmul/webgpu/choose.ts";
import { matrixScratch } from "../../kernels/ops/matmul/webgpu/matrix_product.ts";

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
  kept: KeptFor;
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
  const { training, sft, data, eval: heldOut } = config, sizes = batchSizes(training);
  const each = sizes.generationsInEval;
  const during = training.eval_strategy === "no" && !training.eval_on_start
    ? 0
    : Math.max(1, Math.floor(training.per_device_eval_batch_size / each));
  const { supervisedOnly } = needs;
  const isAsked = heldOut.num_examples > 0 || data.train_ratio !== null ||
    data.validation_examples !== null;
  return {
    batch: supervisedOnly ? 0 : training.per_device_train_batch_size,
    accumulation: training.gradient_accumulation_steps,
    reduction: training.reduction,
    halves: training.reduce_dtype === "bfloat16",
    generated: supervisedOnly ? 0 : sizes.generationBatchSize,
    group: training.num_generations,
    completion: training.max_completion_length,
    kept: supervisedOnly ? "none" : keptFor(config.training),
    adjusted: training.repetition_penalty !== 1 || training.min_new_tokens > 0,
    items: sft !== null && sft.max_steps > 0 ? sft.per_device_train_batch_size : 0,
    itemAccumulation: sft?.gradient_accumulation_steps ?? 1,
    evaluations: [
      ...(heldOut.num_examples === 0
        ? []
        : [{ prompts: heldOut.num_examples, each: 1, slots: heldOut.batch_size }]),
      ...(supervisedOnly || !isAsked ? [] : [{ prompts: during, each, slots: during * each }]),
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
      cardScratchBytes(sizes, largestWork(passes, inference, wave)) +
      Math.max(
        sumBytes(size.batch, size.accumulation),
        sumBytes(size.items, size.itemAccumulation),
      ),
    checkpoint: checkpointBytes(sizes),
  };
}

/** The largest pass of a step, with or without a gradient, for the scratch of its operations. */
function largestWork(passes: readonly Pass[], inference: Pass, wave: GenerationSizes) {
  const most = (key: "rows" | "pairs") => Math.max(...passes.map((pass) => pass[key]));
  return { rows: most("rows"), pairs: Math.max(most("pairs"), inference.pairs), wave };
}

interface Pass {
  rows: number;
  pairs: number;
  /** Whether its activations come from sampling, one layer at a time. */
  restored: boolean;
  /** Bytes of the activations of sampling that are in memory beside it. */
  stored: number;
}

/** Bytes of a training pass, with the panels of its products. */
function passBytes(sizes: ModelSizes, pass: Pass): number {
  const { kept, recomputed } = planActivationBytes(sizes, pass.rows);
  return planPassBytes(sizes, pass.rows, pass.pairs, true) + panelBytes(sizes, pass) +
    activationBytes(sizes, pass) - (sizes.recompute ? recomputed : kept) + pass.stored;
}

/** Bytes of the activations of a pass, besides those of sampling. */
function activationBytes(sizes: ModelSizes, { rows, restored }: Pass): number {
  const { kept, recomputed } = planActivationBytes(sizes, rows);
  return restored ? planRestoredBytes(sizes, rows) : sizes.recompute ? recomputed : kept;
}

/** The passes of a step: on activations of sampling too, where the run keeps these. */
function trainingPasses(sizes: ModelSizes, size: StepSize, pass: Pass): Pass[] {
  const stored = keptBytes(sizes, size);
  if (size.kept === "none") return [pass];
  if (size.kept === "first step") return [{ ...pass, stored }];
  // The estimate of the time makes a pass of its own, before anything is sampled.
  return [pass, { ...pass, restored: true, stored }];
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
  const pairs = batch * completion, own = { rows, restored: false, stored: 0 };
  const passes: Pass[] = batch === 0 ? [] : trainingPasses(sizes, size, { ...own, pairs });
  if (items > 0) {
    passes.push({ ...own, rows: items * (prompt + answer), pairs: items * answer });
  }
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
    restored: false,
    stored: 0,
  };
  return { passes, wave, inference };
}

/** Bytes of the parts of a plan, whose sum is its peak, and of alternatives. */
export interface MemoryParts {
  /** Parameters that are not trained, and the types that their matrices are stored in. */
  frozen: number;
  /** Types that the matrices of frozen parameters are stored in. */
  frozenTypes: string[];
  /** Parameters that are trained: all of the model, or its adapters. */
  trained: number;
  /** Gradients of the trained parameters. */
  gradients: number;
  /** The optimizer's states. */
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
  /** Activations that sampling keeps for the training pass. */
  sampled: number;
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
  /** What other ways of computing would take; no part of the sum. */
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
  const activations = activationBytes(sizes, largest);
  const sampled = largest.stored;
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
    sampled,
    head,
    panels,
    scratch: training - activations - sampled - head - panels,
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
    optimizer,
    shards: size.shards,
  };
}

function typesOf({ config, storage }: ModelSizes): string[] {
  const matrices = modelTensors(config).filter(({ shape }) => shape.length > 1);
  return [...new Set(matrices.map(({ name }) => storage.get(name) ?? "f32"))];
}

/**
 * Bytes of the packed operand of the largest product of a training pass, and of the head's chunk;
 * 0 in float32, and on a card (`cardScratchBytes`). The panels of weights are in the scratch of the
 * threads, some 100 KB each.
 */
function panelBytes(
  { config, computeDtype, card, lora }: ModelSizes,
  { rows, pairs }: { rows: number; pairs: number },
): number {
  if (computeDtype === "float32" || card !== null) return 0;
  const widest = Math.max(...Object.values(backwardWidths(config)));
  // An adapter's operand is packed beside that of the layer.
  const rank = Math.max(0, ...lora.map(({ r }) => r));
  const layers = modulesOf(config).flatMap((module) => {
    const [from, to] = linearDims(config, module);
    return [operandBytes(rows, to, from, rank), operandBytes(rows, from, to, 0)];
  });
  return Math.max(
    ...layers,
    packedRowBytes(widest, rows),
    roundedHeadBytes(pairs, config.vocabSize, config.hiddenSize),
  );
}

/** Which steps train on them: none, the first one on each generation, or each step. */
type KeptFor = "none" | "first step" | "each step";

function keptFor(training: RunConfig["training"]): KeptFor {
  if (!training.use_rollout_activations) return "none";
  const perGeneration = microStepsPerGeneration(training);
  return perGeneration === training.gradient_accumulation_steps ? "each step" : "first step";
}

interface KeptSize {
  kept: KeptFor;
  /** Completions of a generation, and of each prompt. */
  generated: number;
  group: number;
  /** Maximum tokens of a prompt and of a completion. */
  prompt: number;
  completion: number;
}

/** Bytes of what is kept of a generation. */
function keptBytes(
  { config, floatBytes }: ModelSizes,
  { kept, generated, group, prompt, completion }: KeptSize,
): number {
  if (kept === "none") return 0;
  const rows = Math.ceil(generated / group) * prompt + generated * completion;
  return planStoreBytes(config, rows, floatBytes);
}

/** A card's limits are not known before it is opened: these leave the most scratch. */
const ANY_LIMITS = {
  bindingElements: Infinity,
  groupsPerDimension: Infinity,
  workgroupBytes: Infinity,
  invocations: Infinity,
};

interface Work {
  /** Rows, and branch tokens, of the largest pass. */
  rows: number;
  pairs: number;
  wave: GenerationSizes;
}

/**
 * Maximum number of bytes that one operation of a graphics card takes beside its tensors; 0 on a
 * CPU.
 */
function cardScratchBytes(sizes: ModelSizes, { rows, pairs, wave }: Work): number {
  const { config, card, lora, computeDtype } = sizes;
  if (card === null) return 0;
  const traits = { ...card, limits: ANY_LIMITS };
  const { numHeads: heads, numKvHeads: kvHeads, headDim, vocabSize: vocab, hiddenSize: d } = config;
  const modules = modulesOf(config).map((module) => linearDims(config, module));
  const onUnits = (m: number, n: number, k: number) =>
    card.matrixUnits && computeDtype !== "float32" ? matrixScratch({ m, n, k }) : 0;
  const chunk = chunkSizes({ rows: pairs, vocab, d }, traits);
  const needs = [
    gradientScratch({ rows, heads, kvHeads, headDim }, traits),
    // The logits, while a product of theirs has scratch of its own.
    chunk.rows * (chunk.width + 4) + onUnits(chunk.rows, chunk.width, d),
    decodeScratch({ ...wave, heads, headDim }),
    ...modules.flatMap(([from, to]) => [
      onUnits(rows, to, from),
      onUnits(rows, from, to),
      onUnits(to, from, rows),
    ]),
    ...(card.software ? [] : lora.flatMap(({ module, r }) => {
      const [from, to] = linearDims(config, module);
      return [sumScratch({ m: to, n: r, k: rows }), sumScratch({ m: r, n: from, k: rows })];
    })),
  ];
  return 4 * Math.max(...needs);
}

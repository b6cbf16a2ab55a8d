/** The sizes that the memory of a run depends on. */
import { batchSizes, microStepsPerGeneration } from "../../configs/batch_sizes.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import type { WeightStorage } from "../../models/formats/stored_weight.ts";
import { DEFAULT_GENERATION_BYTES } from "../../models/generation/memory/counted_generation.ts";
import type { KvCacheDtype } from "../../models/network/types.ts";
import type { ModelSizes } from "../../models/network/weights/model_sizes.ts";
import { hasEnvironments } from "../../rewards/environments/open_environments.ts";
import { type OptimizerKind, optimizerKind } from "../step/state_tensors.ts";

/** The longest prompt and worked answer among the problems of a run, in tokens. */
export interface Lengths {
  prompt: number;
  /** 1 when there is no supervised warm start. */
  answer: number;
  /** The longest prompt that a teacher sees in place of the policy's; default: the same. */
  teacherPrompt?: number;
}

export interface RunNeeds extends Lengths {
  /** Whether the reference of the KL term is a copy of the trained values. */
  copiedReference: boolean;
  /** How that copy is stored if the model is trained in full. */
  referenceStorage: WeightStorage;
  /** The model that is learned from; null: there is none. */
  teacher: ModelSizes | null;
  supervisedOnly: boolean;
  ranks: number;
}

/** The prompts of one generation and their completions. */
interface EqualGeneration {
  prompts: number;
  each: number;
  /** Maximum number of completions that are decoded together. */
  slots: number;
}

/** What the memory of a step depends on, apart from the model. */
export interface StepSize {
  batch: number;
  accumulation: number;
  /** How the gradients of micro-batches are added. */
  reduction: RunConfig["training"]["reduction"];
  /** Whether gradients are bfloat16 on the wire. */
  halves: boolean;
  generated: number;
  group: number;
  completion: number;
  /** Of an answer, where completions are dialogues; null: they are one answer. */
  turn: number | null;
  kept: KeptFor;
  /** Whether sampling options (repetition penalty, min_new_tokens) change the logits. */
  adjusted: boolean;
  /** Type of the keys and values of rollouts. */
  kvCacheDtype: KvCacheDtype;
  /** Problems of a supervised forward pass, 0 = no warm start; and its passes a step. */
  items: number;
  /** Of them those of one prompt: two where answers are compared. */
  perItem: number;
  itemAccumulation: number;
  /** Answers that are compared at once without gradient, of held-out pairs; 0 = none. */
  comparedItems: number;
  /** The generations of evaluations: before and after training, and while training. */
  evaluations: EqualGeneration[];
  /** The longest prompt and worked answer, in tokens. */
  prompt: number;
  answer: number;
  teacherPrompt?: number;
  copiedReference: boolean;
  teacher: ModelSizes | null;
  referenceStorage: WeightStorage;
  /** Whether `sync_ref_model` moves the copy. */
  movingReference: boolean;
  optimizer: OptimizerKind;
  /** Ranks over which its states are divided. */
  shards: number;
  generationLimit: number;
}

export function stepSize(config: RunConfig, needs: RunNeeds): StepSize {
  const { training, sft, data, eval: heldOut } = config, sizes = batchSizes(training);
  const each = sizes.generationsInEval;
  const during = training.eval_strategy === "no" && !training.eval_on_start
    ? 0
    : Math.max(1, Math.floor(training.per_device_eval_batch_size / each));
  const { supervisedOnly } = needs, perItem = config.dpo === null ? 1 : 2;
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
    turn: hasEnvironments(config)
      ? Math.min(training.max_completion_length, config.multi_turn.max_turn_tokens ?? Infinity)
      : null,
    kept: supervisedOnly ? "none" : keptFor(config.training),
    adjusted: training.repetition_penalty !== 1 || training.min_new_tokens > 0,
    kvCacheDtype: config.generation.kv_cache_dtype,
    items: sft !== null && sft.max_steps > 0 ? perItem * sft.per_device_train_batch_size : 0,
    perItem,
    itemAccumulation: sft?.gradient_accumulation_steps ?? 1,
    comparedItems: config.dpo === null
      ? 0
      : perItem * Math.min(training.per_device_eval_batch_size, heldOut.num_examples),
    evaluations: config.dpo !== null ? [] : [
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

/** Which steps train on them: none, the first one on each generation, or each step. */
type KeptFor = "none" | "first step" | "each step";

function keptFor(training: RunConfig["training"]): KeptFor {
  if (!training.use_rollout_activations) return "none";
  const perGeneration = microStepsPerGeneration(training);
  return perGeneration === training.gradient_accumulation_steps ? "each step" : "first step";
}

/** The plan of a run: the longest prompts, the layout of weights, the memory. */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { checkAll } from "../../core/errors.ts";
import type { ModelConfig } from "../../models/architectures/model_config.ts";
import {
  deviceSizes,
  type ModelSizes,
  modelSizes,
} from "../../models/network/weights/model_sizes.ts";
import {
  copyStorage,
  planStorage,
  type StorageOptions,
} from "../../models/network/weights/weight_storage.ts";
import { requireInt8Weights } from "../../models/generation/int8_activations.ts";
import type { TeacherSizes } from "../model/teacher.ts";
import type { OpenedRun } from "../open_run.ts";
import {
  checkPositions,
  longestLengths,
  type MemoryPlan,
  needsRecompute,
  type PlanDevice,
  planMemory,
} from "./run_memory.ts";
import { fourBitStorage, smallerModel } from "./fitting_settings.ts";
import type { Lengths, RunNeeds } from "./step_size.ts";
import {
  ALL_FLOAT,
  type WeightStorage,
  type WeightType,
} from "../../models/formats/stored_weight.ts";

/** What the plan of a run depends on besides its configuration. */
export interface PlannedRunOptions {
  /** Bytes that the run may take; default: what the machine has. */
  availableBytes?: number;
  /** "sft": the supervised training alone needs less. */
  phases?: "all" | "sft";
  /** Number of ranks of the run; default: one. */
  ranks?: number;
  /**
   * Called with the memory plan, even if it does not fit.
   * @internal
   */
  planned?: (plan: MemoryPlan, about: Pick<PlannedRun, "sizes" | "needs">) => void;
}

export interface PlannedRun {
  weights: StorageOptions;
  needs: RunNeeds;
  sizes: ModelSizes;
  memory: MemoryPlan;
}

/** A model whose run is planned: one that was opened, or one of which only the sizes are known. */
export interface PlannedModel {
  config: ModelConfig;
  trainable: OpenedRun["trainable"];
  /** The type in which the file has a weight. */
  typeOf: Parameters<typeof planStorage>[3];
  longest: Lengths;
  /** Null: there is none. */
  teacher: TeacherSizes | null;
  /** Whether the run starts from an adapter that was trained before. */
  hasAdapter: boolean;
}

/** @throws UsageError when prompts do not fit, or when the planned memory is more than there is */
export async function planRun(
  config: RunConfig,
  device: PlanDevice,
  run: OpenedRun,
  options: PlannedRunOptions = {},
): Promise<PlannedRun> {
  const { opened, problems, trainProblems, prompts, trainable, teacher } = run;
  const longest = longestLengths(prompts, problems, trainProblems, {
    hasAnswers: hasWarmStart(config),
    ...config,
  });
  longest.prompt += run.observationTokens;
  return await planModel(config, device, {
    config: opened.config,
    trainable,
    typeOf: opened.typeOf,
    longest,
    teacher,
    hasAdapter: opened.adapter !== null,
  }, options);
}

export function hasWarmStart(config: RunConfig): boolean {
  return config.sft !== null && config.sft.max_steps > 0;
}

export async function planModel(
  config: RunConfig,
  device: PlanDevice,
  { config: shape, trainable, typeOf, longest, teacher, hasAdapter }: PlannedModel,
  { availableBytes, phases = "all", ranks = 1, planned }: PlannedRunOptions = {},
): Promise<PlannedRun> {
  checkAll(
    () => modelSizes(shape, trainable),
    () => checkPositions(config, shape.maxPositions, longest, phases),
  );
  // Without its adapter, a model is its own reference, unless what it starts from is trained.
  const isTrained = config.dpo === null && hasWarmStart(config);
  const fixedReference = config.lora !== null && !hasAdapter && !isTrained;
  const hasReference = config.dpo === null
    ? phases === "all" && config.training.beta !== 0
    : !config.dpo.reference_free;
  const weights = storageOptions(config);
  if (weights.activations === "int8") {
    const path = config.model.model_name_or_path ?? "this model";
    requireInt8Weights({ path, config: shape, files: { typeOf } }, weights);
  }
  const storage = planStorage(shape, trainable.trainable, weights, typeOf);
  const numbers = deviceSizes(device, config.training.compute_dtype);
  const needs = {
    ...longest,
    teacher: phases === "all" ? teacher?.(numbers) ?? null : null,
    supervisedOnly: phases === "sft",
    ranks,
    copiedReference: hasReference && !fixedReference,
    referenceStorage: referenceStorage(config, shape, storage, typeOf),
  };
  const plain = modelSizes(shape, { ...trainable, storage }, numbers);
  const recompute = config.training.gradient_checkpointing &&
    await needsRecompute(config, device, plain, needs, availableBytes);
  const sizes = recompute ? { ...plain, recompute } : plain;
  const memory = await planMemory(config, device, sizes, needs, {
    ...(availableBytes === undefined ? {} : { available: availableBytes }),
    onPlan: (plan) => planned?.(plan, { sizes, needs }),
    smaller: (fits) => smallerModel(shape, { ...trainable, recompute }, numbers, weights, fits),
    inFourBits: () => {
      const four = fourBitStorage(shape, trainable.trainable, weights, typeOf);
      return four && modelSizes(shape, { ...trainable, storage: four, recompute }, numbers);
    },
  });
  return { weights, needs, sizes, memory };
}

function storageOptions({ model, generation: { activations } }: RunConfig): StorageOptions {
  const quantize = model.load_in_4bit ? "nf4" : model.load_in_8bit ? "int8" : null;
  return { dtype: model.dtype, quantize, activations };
}

/**
 * Halves where the values at the beginning of GRPO are halves: those of the model's file, and those
 * of weights that are trained as halves. A warm start makes floats of the former.
 * @param storage of the trained model
 */
export function referenceStorage(
  { lora, sft, dpo, training }: RunConfig,
  model: ModelConfig,
  storage: WeightStorage,
  fileType: (name: string) => WeightType | null,
): WeightStorage {
  if (lora !== null || training.sync_ref_model) return ALL_FLOAT;
  const warmStart = dpo === null && sft !== null && sft.max_steps > 0;
  return copyStorage(model, storage, warmStart ? () => null : fileType);
}

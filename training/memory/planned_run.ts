/**
 * Everything of a run that is known before its model is on a device: the opened model and problems,
 * the longest prompts, the layout of the weights, and the memory plan. No weights are read.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { UsageError } from "../../core/errors.ts";
import { type HeldOutOptions, type SplitProblems, splitProblems } from "../../data/held_out.ts";
import { openProblems } from "../../data/open_problems.ts";
import { type PromptEncoder, runPrompts } from "../../evaluation/prompt_encoder.ts";
import { loraOptions } from "../../models/network/adapters/peft_adapter.ts";
import type { LoraOptions } from "../../models/network/adapters/lora.ts";
import {
  deviceSizes,
  type ModelSizes,
  modelSizes,
} from "../../models/network/weights/model_sizes.ts";
import { planStorage, type StorageOptions } from "../../models/network/weights/weight_storage.ts";
import type { Entry } from "../../tasks/types.ts";
import { dropoutOf, loraFromSection } from "../model/adapter_options.ts";
import { type ModelSource, openModel } from "../model/model_source.ts";
import { storageOptions } from "../model/storage_options.ts";
import {
  checkPositions,
  longestLengths,
  type MemoryPlan,
  needsRecompute,
  type PlanDevice,
  planMemory,
} from "./run_memory.ts";
import { referenceStorage } from "./reference_storage.ts";
import { fourBitStorage, smallerModel } from "./smaller_model.ts";
import type { RunNeeds } from "./step_memory.ts";

/** What the plan of a run depends on besides its configuration. */
export interface PlannedRunOptions {
  /** Bytes that the run may take; default: what the machine has. */
  availableBytes?: number;
  /** "sft": the supervised training alone needs less. */
  phases?: "all" | "sft";
  /** Number of ranks of the run; default: one. */
  ranks?: number;
  /** The problems of `data.dataset_name`; default: they are read from its file. */
  entries?: readonly Entry[];
  /** Called while many held-out problems are drawn. */
  onDraw?: HeldOutOptions["onDraw"];
  /**
   * Called with the memory plan, even if it does not fit.
   * @internal
   */
  planned?: (plan: MemoryPlan, about: Pick<PlannedRun, "sizes" | "needs">) => void;
}

/** A run whose model is on this machine, or is initialised from a seed. */
export interface PlannedRun {
  opened: ModelSource;
  problems: SplitProblems;
  trainProblems: number;
  prompts: PromptEncoder;
  trainable: { trainable: "full" } | { trainable: "lora"; lora: LoraOptions };
  weights: StorageOptions;
  needs: RunNeeds;
  sizes: ModelSizes;
  memory: MemoryPlan;
}

/**
 * @throws UsageError or RgxError for what the configuration names and cannot be used, and when the
 *   planned memory is more than there is
 */
export async function planRun(
  config: RunConfig,
  device: PlanDevice,
  { availableBytes, phases = "all", ranks = 1, entries, planned, onDraw }: PlannedRunOptions,
): Promise<PlannedRun> {
  const { data, curriculum } = config;
  const source = await openProblems({
    ...data,
    curriculum,
    entries: entries ?? null,
    hold_out: config.eval.num_examples > 0,
  });
  const problems = splitProblems({
    source,
    heldOutCount: config.eval.num_examples,
    validationCount: data.validation_examples ?? 0,
    ...(onDraw === undefined ? {} : { onDraw }),
  });
  const opened = await openModel(config), continued = opened.adapter;
  if (continued !== null && config.lora === null) {
    throw new UsageError(
      `model.model_name_or_path: ${config.model.model_name_or_path} is an adapter, and there is ` +
        `no lora section to continue it`,
      { advice: "Add a lora section, or name the base model for full fine-tuning." },
    );
  }
  const lora = continued !== null
    ? { ...loraOptions(continued.config), dropout: dropoutOf(config) }
    : config.lora === null
    ? null
    : loraFromSection(config, config.lora, opened.config);
  const trainProblems = source.length("train");
  const prompts = runPrompts(opened.tokenizer, config, opened.eosIds);
  const withAnswers = config.sft !== null && config.sft.max_steps > 0;
  const lengths = longestLengths(prompts, problems, trainProblems, withAnswers);
  checkPositions(config, opened.config.maxPositions, lengths, phases);
  const trainable = lora === null
    ? { trainable: "full" as const }
    : { trainable: "lora" as const, lora };
  const fixedReference = lora !== null && continued === null && !withAnswers;
  const weights = storageOptions(config.model);
  const storage = planStorage(opened.config, trainable.trainable, weights, opened.typeOf);
  const needs = {
    ...lengths,
    supervisedOnly: phases === "sft",
    ranks,
    copiedReference: phases === "all" && config.training.beta !== 0 && !fixedReference,
    referenceStorage: referenceStorage(config, opened.config, storage, opened.typeOf),
  };
  const layout = { ...trainable, storage };
  const numbers = deviceSizes(device, config.training.compute_dtype);
  const recompute = config.training.gradient_checkpointing &&
    await needsRecompute(
      config,
      device,
      modelSizes(opened.config, layout, numbers),
      needs,
      availableBytes,
    );
  const sizes = modelSizes(opened.config, { ...layout, recompute }, numbers);
  const memory = await planMemory(config, device, sizes, needs, {
    ...(availableBytes === undefined ? {} : { available: availableBytes }),
    onPlan: (plan) => planned?.(plan, { sizes, needs }),
    smaller: (fits) =>
      smallerModel(opened.config, { ...trainable, recompute }, numbers, weights, fits),
    inFourBits: () => {
      const four = fourBitStorage(opened.config, trainable.trainable, weights, opened.typeOf);
      return four && modelSizes(opened.config, { ...trainable, storage: four, recompute }, numbers);
    },
  });
  return { opened, problems, trainProblems, prompts, trainable, weights, needs, sizes, memory };
}

/** The plan of a run that was opened: the longest prompts, the layout of weights, the memory. */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { checkAll } from "../../core/errors.ts";
import {
  deviceSizes,
  type ModelSizes,
  modelSizes,
} from "../../models/network/weights/model_sizes.ts";
import { planStorage, type StorageOptions } from "../../models/network/weights/weight_storage.ts";
import type { OpenedRun } from "../open_run.ts";
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
import type { RunNeeds } from "./step_size.ts";

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

/** The plan of an opened run. */
export interface PlannedRun {
  weights: StorageOptions;
  needs: RunNeeds;
  sizes: ModelSizes;
  memory: MemoryPlan;
}

/** @throws UsageError when prompts do not fit, or when the planned memory is more than there is */
export async function planRun(
  config: RunConfig,
  device: PlanDevice,
  run: OpenedRun,
  { availableBytes, phases = "all", ranks = 1, planned }: PlannedRunOptions = {},
): Promise<PlannedRun> {
  const { opened, problems, trainProblems, prompts, trainable } = run;
  const withAnswers = config.sft !== null && config.sft.max_steps > 0;
  const lengths = longestLengths(prompts, problems, trainProblems, withAnswers);
  checkAll(
    () => modelSizes(opened.config, trainable),
    () => checkPositions(config, opened.config.maxPositions, lengths, phases),
  );
  const fixedReference = config.lora !== null && opened.adapter === null && !withAnswers;
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
  const plain = modelSizes(opened.config, layout, numbers);
  const recompute = config.training.gradient_checkpointing &&
    await needsRecompute(config, device, plain, needs, availableBytes);
  const sizes = recompute ? { ...plain, recompute } : plain;
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
  return { weights, needs, sizes, memory };
}

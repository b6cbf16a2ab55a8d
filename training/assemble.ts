/**
 * Makes the parts of a run from its configuration: model (from a folder or from a seed), tokenizer,
 * problems, rewards, and the writer of the model's files.
 */
import type { RunConfig } from "../configs/schema/run_config.ts";
import { UsageError } from "../core/errors.ts";
import { splitProblems } from "../data/held_out.ts";
import { openProblems } from "../data/open_problems.ts";
import { runPrompts } from "../evaluation/prompt_encoder.ts";
import type { Device } from "../kernels/device.ts";
import { CausalLM } from "../models/causal_lm.ts";
import { loraOptions } from "../models/network/adapters/peft_adapter.ts";
import type { LoadListener } from "../models/network/weights/load_weights.ts";
import { modelSizes } from "../models/network/weights/model_sizes.ts";
import { planStorage } from "../models/network/weights/weight_storage.ts";
import { createRubric } from "../rewards/rubric.ts";
import type { Entry } from "../tasks/types.ts";
import {
  checkPositions,
  longestLengths,
  type MemoryPlan,
  needsRecompute,
  planMemory,
  promptMisfit,
} from "./memory/run_memory.ts";
import { smallerModel } from "./memory/smaller_model.ts";
import { dropoutOf, loraFromSection, peftConfig } from "./model/adapter_options.ts";
import { openModel } from "./model/model_source.ts";
import { adapterWriter, fullWriter } from "./model/model_writers.ts";
import { storageOptions } from "./model/storage_options.ts";
import type { TrainerOptions } from "./run/trainer_options.ts";

/** The parts of a run, and its memory plan. */
export type TrainingParts =
  & Required<
    Pick<
      TrainerOptions,
      | "modelWriter"
      | "tokenizer"
      | "eosIds"
      | "problems"
      | "trainProblems"
      | "rubric"
      | "continuesAdapter"
      | "promptMisfit"
    >
  >
  & { model: CausalLM; memory: MemoryPlan };

/** Options of `assemble` besides the configuration. */
export interface AssembleOptions {
  /** Bytes that the run may take; default: what the machine has. */
  availableBytes?: number;
  /** As in TrainerOptions; the supervised training alone needs less. */
  phases?: "all" | "sft";
  /** The problems of `data.dataset_name`; default: they are read from its file. */
  entries?: readonly Entry[];
  /** Called with the memory plan, even if it does not fit. */
  planned?: (plan: MemoryPlan) => void;
  /** Called while the model is loaded. */
  onLoad?: LoadListener;
}

/**
 * Makes the parts of a run from its configuration; `train` calls it itself.
 * @throws UsageError or RgxError for what the configuration names and cannot be used, and when the
 *   planned memory is more than there is
 */
export async function assemble(
  config: RunConfig,
  device: Device,
  options: AssembleOptions = {},
): Promise<TrainingParts> {
  const { availableBytes, phases = "all", planned } = options;
  // The cheap parts first, so that their errors are found before a large model is loaded.
  const rubric = createRubric(config.rewards, {
    rewardTimeout: config.training.reward_timeout,
    mayBeEmpty: phases === "sft",
  });
  await rubric.open();
  const { entries = null } = options;
  const source = await openProblems({ ...config.data, curriculum: config.curriculum, entries });
  const problems = splitProblems({ source, heldOutCount: config.eval.num_examples });
  const opened = await openModel(config);
  const continued = opened.adapter;
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
  const step = {
    ...lengths,
    supervisedOnly: phases === "sft",
    copiedReference: phases === "all" && config.training.beta !== 0 && !fixedReference,
  };
  const weights = storageOptions(config.model);
  const storage = planStorage(opened.config, trainable.trainable, weights, opened.typeOf);
  const layout = { ...trainable, storage };
  const recompute = config.training.gradient_checkpointing &&
    await needsRecompute(config, device, modelSizes(opened.config, layout), step, availableBytes);
  const sizes = modelSizes(opened.config, { ...layout, recompute });
  const memory = await planMemory(config, device, sizes, step, {
    ...(availableBytes === undefined ? {} : { available: availableBytes }),
    ...(planned === undefined ? {} : { onPlan: planned }),
    smaller: (fits) => smallerModel(opened.config, { ...trainable, recompute }, weights, fits),
  });
  if (memory.weightRoom !== null) device.weightRoom = memory.weightRoom;
  const model = await CausalLM.create(device, opened.config, opened.weights(), {
    ...trainable,
    recompute,
    weights,
    ...(options.onLoad === undefined ? {} : { onLoad: options.onLoad }),
  });
  model.generationLimit = memory.generationLimit;
  if (continued !== null) {
    for (const { name } of model.trainable) {
      model.writeParameter(name, await continued.read(name));
    }
  }
  return {
    model,
    memory,
    promptMisfit: promptMisfit(config, device, sizes, opened.config.maxPositions, step, memory),
    modelWriter: config.lora === null
      ? fullWriter(model, opened)
      : adapterWriter(model, peftConfig(config, config.lora, opened.config, continued?.config)),
    tokenizer: opened.tokenizer,
    eosIds: opened.eosIds,
    problems,
    trainProblems,
    rubric,
    continuesAdapter: continued !== null,
  };
}

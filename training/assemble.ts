/**
 * The parts of a run, made from its configuration: model (from a folder or from a seed), tokenizer,
 * problems, rewards, and the writer of its files.
 */
import type { RunConfig } from "../configs/schema/run_config.ts";
import { UsageError } from "../core/errors.ts";
import { splitProblems } from "../data/held_out.ts";
import { openProblems } from "../data/open_problems.ts";
import type { Device } from "../kernels/device.ts";
import { fitAdapter } from "../models/network/weights/adapter_fit.ts";
import { createCharacterTokenizer } from "../models/tokenizers/character_tokenizer.ts";
import { requireModel } from "../models/find_model.ts";
import { freshConfig, initWeights } from "../models/network/weights/init.ts";
import { CausalLM } from "../models/causal_lm.ts";
import type { LoadListener } from "../models/network/weights/load_weights.ts";
import { modelSizes } from "../models/network/weights/model_sizes.ts";
import { encodeModelFolder } from "../models/formats/model_folder_files.ts";
import { readModelFolder } from "../models/model_folder.ts";
import {
  encodePeftAdapter,
  loraOptions,
  type PeftConfig,
} from "../models/network/adapters/peft_adapter.ts";
import type { WeightType } from "../models/formats/stored_weight.ts";
import { loadTokenizer, noTokenizer } from "../models/tokenizers/tokenizer.ts";
import type { ModelConfig } from "../models/architectures/model_config.ts";
import type { Tokenizer } from "../models/tokenizers/types.ts";
import type { WeightSource } from "../models/formats/weight_reader.ts";
import { planStorage } from "../models/network/weights/weight_storage.ts";
import { createRubric } from "../rewards/rubric.ts";
import type { Entry } from "../tasks/types.ts";
import { dropoutOf, loraFromSection, peftConfig } from "./model/adapter_options.ts";
import type { ModelWriter } from "./checkpoint/checkpoint.ts";
import {
  checkPositions,
  longest,
  type MemoryPlan,
  needsRecompute,
  planMemory,
  promptMisfit,
} from "./memory/memory_plan.ts";
import { runPrompts } from "../evaluation/prompt_encoder.ts";
import { smallerModel } from "./memory/smaller_model.ts";
import { storageOptions } from "./model/storage_options.ts";
import type { TrainerOptions } from "./run/trainer_options.ts";

/** Model, tokenizer, problems, rewards and writer of a run, and the memory that it will take. */
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

/** What `assemble` may be told beside the configuration. */
export interface AssembleOptions {
  /** Memory that the run may take; default: what the machine has. */
  availableBytes?: number;
  /** As in TrainerOptions; the supervised training alone needs less. */
  phases?: "all" | "sft";
  /** The problems that `data.dataset_name` stands for; default: it is read from its file. */
  entries?: readonly Entry[];
  /** Told the memory plan, also when it does not fit. */
  planned?: (plan: MemoryPlan) => void;
  /** Told while the model is loaded. */
  onLoad?: LoadListener;
}

/** A model's architecture, values and tokenizer before it is on a device. */
interface ModelSource {
  config: ModelConfig;
  /** Made when it is asked for: after it is known that the model fits. */
  weights: () => WeightSource;
  /** What a tensor is stored as, where that is not float32. */
  typeOf: (name: string) => WeightType | null;
  tokenizer: Tokenizer;
  eosIds: number[];
  bosId: number | null;
  padId: number | null;
  adapter: { config: PeftConfig; read: (name: string) => Promise<Float32Array> } | null;
}

/**
 * Makes the parts of a run from its configuration; `train` does it by itself.
 * @throws UsageError or RgxError for what the configuration names and is not usable, and when the
 *   planned memory is more than there is
 */
export async function assemble(
  config: RunConfig,
  device: Device,
  options: AssembleOptions = {},
): Promise<TrainingParts> {
  const { availableBytes, phases = "all", planned } = options;
  // The cheap parts first: what is wrong with them is found before a large model is loaded.
  const rubric = createRubric(config.rewards, {
    rewardTimeout: config.training.reward_timeout,
    mayBeEmpty: phases === "sft",
  });
  await rubric.open();
  const { entries = null } = options;
  const source = await openProblems({ ...config.data, curriculum: config.curriculum, entries });
  const problems = splitProblems({ source, heldOutCount: config.eval.num_examples });
  const from = await openModel(config);
  const continued = from.adapter;
  if (continued !== null && config.lora === null) {
    throw new UsageError(
      `model.model_name_or_path: ${config.model.model_name_or_path} is an adapter, and there is no ` +
        `lora section to continue it`,
      { advice: "Add a lora section, or name the base model for full fine-tuning." },
    );
  }
  const lora = continued !== null
    ? { ...loraOptions(continued.config), dropout: dropoutOf(config) }
    : config.lora === null
    ? null
    : loraFromSection(config, config.lora, from.config);
  const trainProblems = source.length("train");
  const prompts = runPrompts(from.tokenizer, config, from.eosIds);
  const withAnswers = config.sft !== null && config.sft.max_steps > 0;
  const lengths = longest(prompts, problems, trainProblems, withAnswers);
  checkPositions(config, from.config.maxPositions, lengths, phases);
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
  const storage = planStorage(from.config, trainable.trainable, weights, from.typeOf);
  const held = { ...trainable, storage };
  const recompute = config.training.gradient_checkpointing &&
    await needsRecompute(config, device, modelSizes(from.config, held), step, availableBytes);
  const sizes = modelSizes(from.config, { ...held, recompute });
  const memory = await planMemory(config, device, sizes, step, {
    ...(availableBytes === undefined ? {} : { available: availableBytes }),
    ...(planned === undefined ? {} : { seen: planned }),
    smaller: (fits) => smallerModel(from.config, { ...trainable, recompute }, weights, fits),
  });
  if (memory.weightRoom !== null) device.weightRoom = memory.weightRoom;
  const model = await CausalLM.create(device, from.config, from.weights(), {
    ...trainable,
    recompute,
    weights,
    ...(options.onLoad === undefined ? {} : { onLoad: options.onLoad }),
  });
  model.generationRoom = memory.generationRoom;
  if (continued !== null) {
    for (const { name } of model.trainable) {
      model.writeParameter(name, await continued.read(name));
    }
  }
  return {
    model,
    memory,
    promptMisfit: promptMisfit(config, device, sizes, from.config.maxPositions, step, memory),
    modelWriter: config.lora === null
      ? fullWriter(model, from)
      : adapterWriter(model, peftConfig(config, config.lora, from.config, continued?.config)),
    tokenizer: from.tokenizer,
    eosIds: from.eosIds,
    problems,
    trainProblems,
    rubric,
    continuesAdapter: continued !== null,
  };
}

async function openModel(config: RunConfig): Promise<ModelSource> {
  const { init, model_name_or_path: path, tokenizer_name_or_path: tokenizerPath } = config.model;
  if (init !== null && config.lora !== null) {
    throw new UsageError("model.init: a model made from a seed cannot be trained through LoRA", {
      advice: "Remove the lora section: an adapter is useless without its base model on disk.",
    });
  }
  const own = tokenizerPath === null
    ? null
    : await loadTokenizer(await requireModel(tokenizerPath));
  if (init !== null) {
    const tokenizer = own ?? createCharacterTokenizer(init.tokenizer);
    const llama = freshConfig(init, tokenizer.vocabSize);
    return {
      config: llama,
      weights: () => initWeights(llama, config.training.seed, init.initializer_range),
      typeOf: () => null,
      tokenizer,
      eosIds: tokenizer.eosId === null ? [] : [tokenizer.eosId],
      bosId: null,
      padId: tokenizer.padId,
      adapter: null,
    };
  }
  if (path === null) {
    throw new UsageError("model: neither model_name_or_path nor init is given");
  }
  const folder = await readModelFolder(path);
  const tokenizer = own ?? folder.tokenizer;
  if (tokenizer === null) {
    throw noTokenizer(path, "Name one with model.tokenizer_name_or_path.");
  }
  const eosIds = new Set(folder.generationEosIds);
  if (tokenizer.eosId !== null) eosIds.add(tokenizer.eosId);
  const { adapter } = folder;
  if (adapter !== null) fitAdapter(adapter, folder.config, folder.path);
  return {
    config: folder.config,
    weights: () => folder.files,
    typeOf: (name) => folder.files.typeOf(name),
    tokenizer,
    eosIds: [...eosIds],
    bosId: folder.bosId,
    padId: folder.padId,
    adapter: adapter === null
      ? null
      : { config: adapter.config, read: (name) => adapter.weights.float32(name) },
  };
}

function adapterWriter(model: CausalLM, config: PeftConfig): ModelWriter {
  return {
    weightsFile: "adapter_model.safetensors",
    async files() {
      const tensors = [];
      for (const { name, shape } of model.trainable) {
        tensors.push({ name, shape, data: await model.readParameter(name) });
      }
      return encodePeftAdapter(config, tensors);
    },
  };
}

function fullWriter(model: CausalLM, from: ModelSource): ModelWriter {
  return {
    weightsFile: "model.safetensors",
    async files() {
      const tensors = [];
      for (const { name, shape } of model.parameters) {
        tensors.push({ name, shape, data: await model.readParameter(name) });
      }
      return encodeModelFolder({
        config: from.config,
        tensors,
        tokenizer: from.tokenizer,
        generationEosIds: from.eosIds,
        bosId: from.bosId,
        padId: from.padId,
      });
    },
  };
}

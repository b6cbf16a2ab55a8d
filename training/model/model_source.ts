/** The model of a run before it is on a device: read from a folder, or initialised from a seed. */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { UsageError } from "../../core/errors.ts";
import { exists } from "../../core/paths.ts";
import { checkModelConfig, type ModelConfig } from "../../models/architectures/model_config.ts";
import { withRopeScaling } from "../../models/architectures/rope_config.ts";
import { nameAndRevision, requireModel } from "../../hub/find_model.ts";
import type { WeightType } from "../../models/formats/stored_weight.ts";
import type { WeightSource } from "../../models/formats/weight_reader.ts";
import { readModelFolder } from "../../models/model_folder.ts";
import type { PeftConfig } from "../../models/network/adapters/peft_adapter.ts";
import { fitAdapter } from "../../models/network/weights/adapter_fit.ts";
import { freshConfig, initWeights } from "../../models/network/weights/init.ts";
import { createCharacterTokenizer } from "../../models/tokenizers/character_tokenizer.ts";
import { withChatTemplate } from "../../models/tokenizers/chosen_template.ts";
import { loadTokenizer, noTokenizer } from "../../models/tokenizers/tokenizer.ts";
import type { Tokenizer } from "../../models/tokenizers/types.ts";

export interface ModelSource {
  config: ModelConfig;
  /** Where the weights of the model, or of an adapter's base, are; null: made from a seed. */
  path: string | null;
  /** Opens the weights; to be called after it is known that the model fits into memory. */
  weights: () => WeightSource;
  /** The type that a tensor is stored in; null = float32. */
  typeOf: (name: string) => WeightType | null;
  tokenizer: Tokenizer;
  eosIds: number[];
  bosId: number | null;
  padId: number | null;
  adapter: { config: PeftConfig; read: (name: string) => Promise<Float32Array> } | null;
}

/** From a folder, or new from a seed. @throws UsageError when it cannot be trained */
export async function openModel(config: RunConfig): Promise<ModelSource> {
  const { init, model_name_or_path: path, tokenizer_name_or_path: tokenizerPath } = config.model;
  const { adapter_name_or_path: adapterPath } = config.model;
  if (init !== null && config.lora !== null) {
    throw new UsageError("model.init: a model made from a seed cannot be trained through LoRA", {
      advice: "Remove the lora section: an adapter is useless without its base model on disk.",
    });
  }
  const { chat_template: template } = config.model;
  const namedTokenizer = tokenizerPath === null
    ? null
    : await loadTokenizer(await requireModel(tokenizerPath));
  if (init !== null) {
    const tokenizer = await withChatTemplate(
      namedTokenizer ?? createCharacterTokenizer(init.tokenizer),
      template,
    );
    const llama = freshConfig(init, tokenizer.vocabSize);
    return {
      config: llama,
      path: null,
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
  const folder = await readModelFolder(path, adapterPath);
  const model = scaledConfig(folder.config, config.model);
  const found = namedTokenizer ?? folder.tokenizer;
  if (found === null) {
    throw noTokenizer(path, "Name one with model.tokenizer_name_or_path.");
  }
  const tokenizer = await withChatTemplate(found, template);
  const eosIds = new Set(folder.generationEosIds);
  if (tokenizer.eosId !== null) eosIds.add(tokenizer.eosId);
  const { adapter } = folder;
  if (adapter !== null) fitAdapter(adapter, model, folder.path);
  return {
    config: model,
    path: folder.path,
    weights: () => folder.files,
    typeOf: (name) => folder.files.typeOf(name),
    tokenizer,
    eosIds: [...eosIds],
    bosId: folder.bosId,
    padId: folder.padId,
    adapter: adapter === null ? null : {
      config: adapterPath === null
        ? await withBaseFrom(adapter.config, await requireModel(path))
        : { ...adapter.config, ...baseOf(path) },
      read: (name) => adapter.weights.float32(name),
    },
  };
}

export function baseOf(model: string): Pick<PeftConfig, "baseModel" | "revision"> {
  const { name: baseModel, revision } = nameAndRevision(model);
  return { baseModel, revision };
}

/**
 * The description of an adapter that is found from other folders, too: a base that is named
 * relative to the adapter's folder gets its absolute path.
 */
async function withBaseFrom(config: PeftConfig, folder: string): Promise<PeftConfig> {
  const { baseModel } = config, beside = `${folder}/${baseModel}`;
  if (!baseModel || baseModel.startsWith("/") || !await exists(beside)) return config;
  return { ...config, baseModel: await Deno.realPath(beside) };
}

/** With the run's RoPE scaling, if it sets one. @throws UsageError for one that is not supported */
export function scaledConfig(config: ModelConfig, model: RunConfig["model"]): ModelConfig {
  const { rope_scaling: section, model_name_or_path: name } = model;
  if (section === null) return config;
  const where = `model.rope_scaling of ${name}`;
  return checkModelConfig(withRopeScaling(config, section, where), where);
}

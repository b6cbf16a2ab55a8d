/**
 * The section `lora` of a configuration, as the options of a model and as PEFT's description of an
 * adapter.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import type { LoraSection } from "../../configs/schema/run_config.ts";
import { architectureOf, moduleNames, parameterNames } from "../../models/architectures/mod.ts";
import { type LoraOptions, weightInit } from "../../models/network/adapters/lora.ts";
import { loraOptions, type PeftConfig } from "../../models/network/adapters/peft_adapter.ts";
import { placeLora } from "../../models/network/weights/model_weights.ts";
import { baseOf } from "./model_source.ts";
import type { ModelConfig } from "../../models/architectures/model_config.ts";

/** The dropout rate in training: 0 with `disable_dropout`, whatever the section says. */
export function dropoutOf({ lora, training }: RunConfig): number {
  return training.disable_dropout ? 0 : lora?.lora_dropout ?? 0;
}

/** The modules that get an adapter: those of the configuration, or PEFT's for the architecture. */
function targetsOf(lora: LoraSection, model: ModelConfig): readonly string[] | string {
  return lora.target_modules ?? architectureOf(model).loraTargets;
}

/** What both the model and the adapter's file need of the section. */
function shapeOf(lora: LoraSection, model: ModelConfig) {
  const { trainable_token_indices: tokens } = lora;
  return {
    r: lora.r,
    alpha: lora.lora_alpha,
    targetModules: targetsOf(lora, model),
    ...(lora.target_parameters.length === 0 ? {} : { targetParameters: lora.target_parameters }),
    useRslora: lora.use_rslora,
    ...(lora.use_dora ? { useDora: true } : {}),
    ...(lora.lora_bias ? { loraBias: true } : {}),
    ...(lora.bias === "none" ? {} : { bias: lora.bias }),
    rankPattern: lora.rank_pattern,
    alphaPattern: lora.alpha_pattern,
    layersToTransform: lora.layers_to_transform,
    ...(tokens === null ? {} : { trainableTokenIndices: tokens }),
    ...(lora.exclude_modules.length === 0 ? {} : { excludeModules: lora.exclude_modules }),
    ...(lora.modules_to_save.length === 0 ? {} : { modulesToSave: lora.modules_to_save }),
  };
}

export function loraFromSection(
  config: RunConfig,
  lora: LoraSection,
  model: ModelConfig,
): LoraOptions {
  return {
    ...shapeOf(lora, model),
    init: lora.init_lora_weights,
    dropout: dropoutOf(config),
    seed: config.training.seed,
  };
}

/** @param continued the adapter that was trained further; its shape stays */
export function peftConfig(
  config: RunConfig,
  lora: LoraSection,
  model: ModelConfig,
  continued?: PeftConfig,
): PeftConfig {
  const { model_name_or_path: name } = config.model, dropout = lora.lora_dropout;
  const init = weightInit(lora.init_lora_weights);
  const described = continued ?? {
    ...(name === null ? { baseModel: null, revision: null } : baseOf(name)),
    ...shapeOf(lora, model),
    ...(init === null ? {} : { init }),
    fanInFanOut: architectureOf(model).inOut,
  };
  return withNames({ ...described, dropout }, model);
}

/**
 * The same adapter with its modules by name, as PEFT saves what "all-linear" means. PEFT takes
 * `layers_to_transform` only with names, so a regular expression becomes the paths that it matches.
 */
function withNames(config: PeftConfig, model: ModelConfig): PeftConfig {
  const { targetModules, layersToTransform } = config;
  if (targetModules === "all-linear") {
    // "all-linear" are no parameters of experts here; in PEFT the words mean these, too.
    const parameters = parameterNames(model);
    const names = moduleNames(model).filter((name) => !parameters.includes(name))
      .map((name) => name.split(".").at(-1)!);
    return { ...config, targetModules: [...new Set(names)] };
  }
  if (typeof targetModules !== "string" || layersToTransform === null) return config;
  const paths = placeLora(model, loraOptions(config)).map(({ path }) => path);
  return { ...config, targetModules: paths, layersToTransform: null };
}

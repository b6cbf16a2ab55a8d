/**
 * The section `lora` of a configuration, as the options of a model and as PEFT's description of an
 * adapter.
 */
import type { LoraSection, RunConfig } from "../../configs/schema/run_config.ts";
import { architectureOf } from "../../models/architectures/mod.ts";
import type { LoraOptions } from "../../models/network/adapters/lora.ts";
import type { PeftConfig } from "../../models/network/adapters/peft_adapter.ts";
import type { ModelConfig } from "../../models/architectures/model_config.ts";

/** The dropout rate in training: 0 with `disable_dropout`, whatever the section says. */
export function dropoutOf({ lora, training }: RunConfig): number {
  return training.disable_dropout ? 0 : lora?.lora_dropout ?? 0;
}

/** The modules that get an adapter: those of the configuration, or PEFT's for the architecture. */
function targetsOf(lora: LoraSection, model: ModelConfig): readonly string[] | string {
  return lora.target_modules ?? architectureOf(model).loraTargets;
}

export function loraFromSection(
  config: RunConfig,
  lora: LoraSection,
  model: ModelConfig,
): LoraOptions {
  return {
    r: lora.r,
    alpha: lora.lora_alpha,
    targetModules: targetsOf(lora, model),
    useRslora: lora.use_rslora,
    rankPattern: lora.rank_pattern,
    alphaPattern: lora.alpha_pattern,
    layersToTransform: lora.layers_to_transform,
    excludeModules: lora.exclude_modules,
    modulesToSave: lora.modules_to_save,
    init: lora.init_lora_weights,
    dropout: dropoutOf(config),
    seed: config.training.seed,
  };
}

/**
 * The description of an adapter in its file.
 * @param continued the description of the adapter that was trained further; its shape stays
 */
export function peftConfig(
  config: RunConfig,
  lora: LoraSection,
  model: ModelConfig,
  continued?: PeftConfig,
): PeftConfig {
  if (continued !== undefined) return { ...continued, loraDropout: lora.lora_dropout };
  return {
    baseModel: config.model.model_name_or_path,
    revision: null,
    r: lora.r,
    loraAlpha: lora.lora_alpha,
    loraDropout: lora.lora_dropout,
    targetModules: targetsOf(lora, model),
    useRslora: lora.use_rslora,
    rankPattern: lora.rank_pattern,
    alphaPattern: lora.alpha_pattern,
    layersToTransform: lora.layers_to_transform,
    ...(lora.exclude_modules.length === 0 ? {} : { excludeModules: lora.exclude_modules }),
    ...(lora.modules_to_save.length === 0 ? {} : { modulesToSave: lora.modules_to_save }),
    fanInFanOut: architectureOf(model).inOut,
  };
}

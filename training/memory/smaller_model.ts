/**
 * What takes less memory than a model that does not fit: the same model in 4 bits, or a smaller
 * one, of those whose sizes rgx knows.
 */
import { UsageError } from "../../core/errors.ts";
import { embeddedShapes } from "../../configs/model_shapes.ts";
import { readHfConfig } from "../../models/architectures/hf_config.ts";
import { modelTensors } from "../../models/architectures/mod.ts";
import type { LoraOptions } from "../../models/network/adapters/lora.ts";
import {
  type DeviceSizes,
  type ModelSizes,
  modelSizes,
} from "../../models/network/weights/model_sizes.ts";
import { elementCount } from "../../models/formats/element_count.ts";
import type { WeightStorage } from "../../models/formats/stored_weight.ts";
import type { ModelConfig } from "../../models/architectures/model_config.ts";
import {
  configType,
  planStorage,
  type StorageOptions,
} from "../../models/network/weights/weight_storage.ts";

/** Number of parameters of the base model. */
export function parameterCount(config: ModelConfig): number {
  return modelTensors(config).reduce((sum, { shape }) => sum + elementCount(shape), 0);
}

/**
 * Name of the largest model of the same architecture that is smaller and fits, trained the same
 * way; null if there is none.
 */
export async function smallerModel(
  config: ModelConfig,
  options: { lora?: LoraOptions; trainable: "lora" | "full"; recompute: boolean },
  numbers: DeviceSizes,
  weights: StorageOptions,
  fits: (sizes: ModelSizes) => Promise<boolean>,
): Promise<string | null> {
  const models = [...embeddedShapes()].map(([name, shape]) => {
    const { modelConfig } = readHfConfig(shape, name);
    return { name, modelConfig, count: parameterCount(modelConfig), type: configType(shape) };
  });
  const below = parameterCount(config);
  const smaller = models
    .filter(({ modelConfig, count }) =>
      modelConfig.architecture === config.architecture && count < below
    )
    .sort((a, b) => b.count - a.count);
  for (const { name, modelConfig, type } of smaller) {
    const storage = planStorage(modelConfig, options.trainable, weights, () => type);
    if (await fits(modelSizes(modelConfig, { ...options, storage }, numbers))) return name;
  }
  return null;
}

/** The storage of the same model in 4 bits; null where its weights are trained or quantised. */
export function fourBitStorage(
  config: ModelConfig,
  trainable: "lora" | "full",
  weights: StorageOptions,
  fileType: Parameters<typeof planStorage>[3],
): WeightStorage | null {
  if (trainable === "full" || (weights.quantize ?? null) !== null) return null;
  try {
    return planStorage(config, trainable, { ...weights, quantize: "nf4" }, fileType);
  } catch (error) {
    if (error instanceof UsageError) return null; // the file is quantised already
    throw error;
  }
}

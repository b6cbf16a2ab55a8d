/** The memory plan of a run whose model is not on this machine, from the model's sizes alone. */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { findModel } from "../../hub/find_model.ts";
import { readHfConfig } from "../../models/architectures/hf_config.ts";
import {
  deviceSizes,
  type ModelSizes,
  modelSizes,
} from "../../models/network/weights/model_sizes.ts";
import { configType, planStorage } from "../../models/network/weights/weight_storage.ts";
import { loraFromSection } from "../model/adapter_options.ts";
import {
  checkPositions,
  type MemoryPlan,
  needsRecompute,
  type PlanDevice,
  planMemory,
} from "./run_memory.ts";
import { referenceStorage } from "./reference_storage.ts";
import { fourBitStorage, parameterCount, smallerModel } from "./smaller_model.ts";
import { shapeSource } from "./shape_source.ts";
import { type ShapeTokens, shapeTokens } from "./shape_tokens.ts";
import { scaledConfig } from "../model/model_source.ts";
import { storageOptions } from "../model/storage_options.ts";

/** A memory plan with what it was made from. */
export interface ShapePlan {
  name: string;
  /** Number of parameters of the model without adapters. */
  parameters: number;
  tokens: ShapeTokens;
  sizes: ModelSizes;
  memory: MemoryPlan;
}

/**
 * Returns null if the model's weights are on this machine, or are made from a seed: then the run
 * itself can be planned.
 * @throws UsageError when the model is not here and its sizes are unknown, or when the plan does
 *   not fit
 */
export async function planFromShape(
  config: RunConfig,
  device: PlanDevice,
  options: {
    phases?: "all" | "sft";
    /** Number of ranks of the run; default: one. */
    ranks?: number;
    availableBytes?: number;
    onPlan?: (plan: ShapePlan) => void;
  },
): Promise<ShapePlan | null> {
  const { phases = "all", ranks = 1, availableBytes, onPlan = () => {} } = options;
  const { model, training } = config, source = await shapeSource(model);
  if (source === null) return null;
  const { name, shape, where } = source;
  const modelConfig = scaledConfig(readHfConfig(shape, where).modelConfig, model);
  const withAnswers = config.sft !== null && config.sft.max_steps > 0;
  const named = model.tokenizer_name_or_path;
  const tokenizer = named === null ? source.tokenizer : (await findModel(named)).path;
  const tokens = await shapeTokens(config, modelConfig.maxPositions, withAnswers, tokenizer);
  checkPositions(config, modelConfig.maxPositions, tokens.longest, phases);
  const trained = config.lora === null
    ? { trainable: "full" as const }
    : { trainable: "lora" as const, lora: loraFromSection(config, config.lora, modelConfig) };
  const weights = storageOptions(model), fileType = () => configType(shape);
  const storage = planStorage(modelConfig, trained.trainable, weights, fileType);
  const needs = {
    ...tokens.longest,
    supervisedOnly: phases === "sft",
    ranks,
    copiedReference: phases === "all" && training.beta !== 0 &&
      (config.lora === null || withAnswers),
    referenceStorage: referenceStorage(config, modelConfig, storage, fileType),
  };
  const layout = { ...trained, storage };
  const numbers = deviceSizes(device, training.compute_dtype);
  const recompute = training.gradient_checkpointing &&
    await needsRecompute(
      config,
      device,
      modelSizes(modelConfig, layout, numbers),
      needs,
      availableBytes,
    );
  const sizes = modelSizes(modelConfig, { ...layout, recompute }, numbers);
  const result = (memory: MemoryPlan): ShapePlan => ({
    name,
    parameters: parameterCount(modelConfig),
    tokens,
    sizes,
    memory,
  });
  return result(
    await planMemory(config, device, sizes, needs, {
      ...(availableBytes === undefined ? {} : { available: availableBytes }),
      onPlan: (memory) => onPlan(result(memory)),
      smaller: (fits) =>
        smallerModel(modelConfig, { ...trained, recompute }, numbers, weights, fits),
      inFourBits: () => {
        const four = fourBitStorage(modelConfig, trained.trainable, weights, fileType);
        return four && modelSizes(modelConfig, { ...trained, storage: four, recompute }, numbers);
      },
    }),
  );
}

/**
 * The sizes of a model that decide how much memory it needs and which copies of weights are
 * worthwhile. They are known before the model exists.
 */
import type { Device } from "../../../kernels/device.ts";
import type { CountedDevice } from "../../../kernels/devices/counting/device.ts";
import type { ComputeDtype } from "../../../kernels/ops/common/compute_dtype.ts";
import type { DropoutShape } from "../dropout.ts";
import { linearDims, modelTensors, moduleNames, parameterNames } from "../../architectures/mod.ts";
import { type EmbeddingPlacement, placeEmbedding } from "./embedding_placement.ts";
import { type LoraPlacement, placeLora } from "./model_weights.ts";
import { checkLoraOptions, type LoraOptions } from "../adapters/lora.ts";
import { UsageError } from "../../../core/errors.ts";
import { ALL_FLOAT, isBlockType, type WeightStorage } from "../../formats/stored_weight.ts";
import { savedBiases, type SavedTensor, savedTensors } from "../adapters/modules_to_save.ts";
import type { ModelConfig } from "../../architectures/model_config.ts";

export interface ModelSizes {
  config: ModelConfig;
  lora: readonly LoraPlacement[];
  /** The adapter of the table of embeddings; null = none. */
  embedding: EmbeddingPlacement | null;
  /** Tensors that the adapter holds in full. */
  saved: readonly SavedTensor[];
  trainable: "lora" | "full" | "none";
  /** Storage types of frozen weights. */
  storage: WeightStorage;
  recompute: boolean;
  /** Dropout of the adapters' inputs; null = none. */
  dropout: DropoutShape | null;
  /** Bytes of a float: 4, or 8 on an f64 device. */
  floatBytes: number;
  /** The type of products. In bfloat16 adapters stay apart: W + s·B·A would lose most of s·B·A. */
  computeDtype: ComputeDtype;
  /** A graphics card; null = a CPU computes. */
  card: CountedDevice["card"];
}

export type DeviceSizes = Pick<ModelSizes, "floatBytes" | "computeDtype" | "card">;

/** What the sizes say of a device that may only be planned for. */
export function deviceSizes(
  { float, adapter, matrixUnits = null, promisedTensor, largestTensor }: Pick<
    Device,
    "float" | "adapter" | "matrixUnits" | "promisedTensor" | "largestTensor"
  >,
  computeDtype: ComputeDtype,
): DeviceSizes {
  const largest = promisedTensor ?? largestTensor;
  const card = adapter === undefined ? null : {
    software: adapter.software,
    matrixUnits,
    ...(largest === undefined ? {} : { largestTensor: largest }),
  };
  return { floatBytes: float === "f64" ? 8 : 4, computeDtype, card };
}

/** Whether a layer's weight is in a storage type. Weights that the adapter replaces are float. */
export function isStored({ saved, storage }: ModelSizes, name: string): boolean {
  return storage.has(name) && !saved.some(({ replaces }) => replaces === name);
}

const FLOATS = { floatBytes: 4, computeDtype: "float32", card: null } as const;

/** Sizes of a model that need not exist yet. @throws UsageError for wrong LoRA options */
export function modelSizes(
  config: ModelConfig,
  options: {
    lora?: LoraOptions;
    trainable: "lora" | "full" | "none";
    recompute?: boolean;
    storage?: WeightStorage;
  },
  { floatBytes, computeDtype, card }: DeviceSizes = FLOATS,
): ModelSizes {
  const { lora, trainable, recompute = false, storage = ALL_FLOAT } = options;
  if (lora !== undefined) checkLoraOptions(lora, moduleNames(config), parameterNames(config));
  const embedding = lora === undefined ? null : placeEmbedding(config, lora);
  const placed = lora === undefined ? [] : placeLora(config, lora, embedding !== null);
  const tensors = modelTensors(config), adapted = new Set(placed.map(({ path }) => path));
  const modules = savedTensors(config, lora?.modulesToSave ?? [], tensors);
  const saved = [...modules, ...savedBiases(config, lora?.bias, adapted, tensors, modules)];
  const rounded = placed.find(({ from, path }) => {
    const type = storage.get(`${path}.weight`);
    return from === "pissa" && type !== undefined && isBlockType(type);
  });
  if (rounded !== undefined) {
    throw new UsageError(
      `init_lora_weights pissa: ${rounded.path} is quantised, as PEFT refuses it`,
      {
        advice: "Load the model without quantisation, or use init_lora_weights olora.",
      },
    );
  }
  const width = Math.max(
    0,
    ...placed.map(({ module, layer }) => linearDims(config, module, layer)[0]),
  );
  const p = lora?.dropout ?? 0, dropout = p === 0 ? null : { p, width };
  return {
    config,
    lora: placed,
    saved,
    embedding,
    trainable,
    storage,
    recompute,
    dropout,
    floatBytes,
    computeDtype,
    card,
  };
}

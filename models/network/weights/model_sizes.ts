/**
 * The sizes of a model that decide how much memory it needs and which copies of weights are
 * worthwhile. They are known before the model exists.
 */
import type { Device } from "../../../kernels/device.ts";
import type { CountedDevice } from "../../../kernels/devices/counting/device.ts";
import type { ComputeDtype } from "../../../kernels/ops/common/compute_dtype.ts";
import type { DropoutShape } from "../dropout.ts";
import { linearDims, modelTensors, moduleNames } from "../../architectures/mod.ts";
import { type LoraPlacement, placeLora } from "./model_weights.ts";
import { checkLoraOptions, type LoraOptions } from "../adapters/lora.ts";
import { ALL_FLOAT, type WeightStorage } from "../../formats/stored_weight.ts";
import { type SavedTensor, savedTensors } from "../adapters/modules_to_save.ts";
import type { ModelConfig } from "../../architectures/model_config.ts";

export interface ModelSizes {
  config: ModelConfig;
  lora: readonly LoraPlacement[];
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
  /**
   * The type of both sides of matrix products. In bfloat16 adapters are never merged: rounding
   * W + s·B·A would lose most of a small s·B·A.
   */
  computeDtype: ComputeDtype;
  /** A graphics card; null = a CPU computes. */
  card: CountedDevice["card"];
}

/** What the sizes say of the device. */
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

/**
 * Sizes of a model that need not exist yet.
 * @throws UsageError for LoRA options that are not supported
 */
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
  if (lora !== undefined) checkLoraOptions(lora, moduleNames(config));
  const placed = lora === undefined ? [] : placeLora(config, lora);
  const saved = savedTensors(config, lora?.modulesToSave ?? [], modelTensors(config));
  const width = Math.max(0, ...placed.map(({ module }) => linearDims(config, module)[0]));
  const p = lora?.dropout ?? 0, dropout = p === 0 ? null : { p, width };
  return {
    config,
    lora: placed,
    saved,
    trainable,
    storage,
    recompute,
    dropout,
    floatBytes,
    computeDtype,
    card,
  };
}

/**
 * The storage type of each weight of a model on its device. Frozen matrices (linear layers,
 * embedding, head) stay in the type of their file, or are narrowed or quantised when they are
 * loaded; products widen them when they read them. Trained matrices are float32, or bfloat16 if
 * that is asked for. Norms and biases are float32.
 * Left out: quantising embedding and head, which every token depends on (bitsandbytes does not
 * quantise them, either).
 */
import { UsageError } from "../../../core/errors.ts";
import { PANEL } from "../../../kernels/weights/panel.ts";
import { isMatrix, type ModelTensor, modelTensors } from "../../architectures/mod.ts";
import { canFuseLayers } from "../fused_layers.ts";
import {
  ALL_FLOAT,
  fitsType,
  isBlockType,
  type WeightStorage,
  type WeightType,
} from "../../formats/stored_weight.ts";
import type { ActivationType } from "../types.ts";
import type { ModelConfig } from "../../architectures/model_config.ts";

/** How weights are stored. */
export interface StorageOptions {
  /** "auto" (default) = as in the file; float32 widens. Only "bfloat16" applies to trained ones. */
  dtype?: "auto" | "float32" | "float16" | "bfloat16";
  /** Linear layers in blocks of 8-bit or 4-bit values; null or absent = as `dtype` says. */
  quantize?: "int8" | "nf4" | null;
  /** "int8": blocks stay blocks in a small model, too, since only they support it. */
  activations?: ActivationType;
}

const FLOAT32 = 4;

/** The type of a weight by a config.json; null = float32, or not given. */
export function configType(
  json: Readonly<Record<string, unknown>>,
  name = "",
): WeightType | null {
  const dtype = json["dtype"] ?? json["torch_dtype"];
  const method = json["quantization_config"] as { quant_method?: unknown } | null | undefined;
  if (method?.quant_method === "mxfp4" && /experts\.\w+\.weight$/.test(name)) return "mxfp4";
  return dtype === "float16" || dtype === "bfloat16" ? NARROW[dtype] : null;
}

const NARROW = { float16: "f16", bfloat16: "bf16" } as const;

/** @param fileType null = float32 or unknown. @throws UsageError for quantising what cannot be */
export function planStorage(
  config: ModelConfig,
  trainable: "lora" | "full" | "none",
  { dtype = "auto", quantize = null, activations = "float32" }: StorageOptions,
  fileType: (name: string) => WeightType | null,
): WeightStorage {
  if (trainable === "full") {
    if (quantize === null) return dtype === "bfloat16" ? trainedHalves(config) : ALL_FLOAT;
    throw new UsageError(
      `${KEYS[quantize]}: full fine-tuning trains every weight, as floats`,
      {
        advice: `Add a lora section to train adapters on a quantised model, or: ${off(quantize)}.`,
      },
    );
  }
  const storage = new Map<string, WeightType>();
  for (const { name, layer, shape } of modelTensors(config).filter(isStored)) {
    const stored = fileType(name);
    // What there is once is a table: embeddings and head.
    if (layer !== null && quantize !== null) {
      refuseSecond(quantize, name, stored);
      if (fitsShape(quantize, shape)) {
        storage.set(name, quantize);
        continue;
      }
    }
    const type = dtype === "float32" ? null : dtype === "auto" ? stored : NARROW[dtype];
    if (type !== null && fitsShape(type, shape)) storage.set(name, type);
  }
  const asked = quantize !== null || dtype !== "auto" || activations === "int8";
  // When all layers fit in a cache as floats, they are not stored in halves or blocks unless that
  // is asked for: decoding is faster with floats.
  return !asked && canFuseLayers(config, FLOAT32) ? ALL_FLOAT : storage;
}

/** Whether a weight may be stored: a router's choice is its floats', a convolution no product. */
function isStored(tensor: ModelTensor): boolean {
  return isMatrix(tensor) && tensor.part !== "router" && tensor.part !== "conv";
}

/** Whether a weight can be stored in a type; the matrices of experts are whole panels of it. */
function fitsShape(type: WeightType, shape: readonly number[]): boolean {
  const panels = shape.length < 3 || !isBlockType(type) || shape[1]! % PANEL === 0;
  return panels && fitsType(type, shape.at(-1)!);
}

/** @throws UsageError for a matrix with rows of odd length */
function trainedHalves(config: ModelConfig): WeightStorage {
  return new Map(
    modelTensors(config).filter(isStored).map(({ name, shape }) => {
      if (fitsType("bf16", shape.at(-1)!)) return [name, "bf16"];
      throw new UsageError(
        `model.dtype: "${name}" cannot be trained in bfloat16: its rows have ${shape.at(-1)} ` +
          "values, expected an even number",
      );
    }),
  );
}

/**
 * Types of a frozen copy: halves of the file stay, and what halves hold exactly becomes one.
 * @param storage of the trained model
 */
export function copyStorage(
  config: ModelConfig,
  storage: WeightStorage,
  fileType: (name: string) => WeightType | null,
): WeightStorage {
  const types = new Map(storage);
  for (const { name, shape } of modelTensors(config).filter(isStored)) {
    const found = fileType(name), type = found === "mxfp4" ? "bf16" : found;
    const isHalf = type === "f16" || type === "bf16";
    if (isHalf && !types.has(name) && fitsType(type, shape.at(-1)!)) types.set(name, type);
  }
  return types;
}

const KEYS = { int8: "model.load_in_8bit", nf4: "model.load_in_4bit" } as const;

/** The override that turns a quantisation off, wherever it was set. */
const off = (quantize: keyof typeof KEYS) => `${KEYS[quantize]}=false`;

function refuseSecond(quantize: keyof typeof KEYS, name: string, stored: WeightType | null): void {
  if (stored === null || stored === "f16" || stored === "bf16") return;
  throw new UsageError(
    `${KEYS[quantize]}: the model is quantised already: "${name}" is stored as ${stored}`,
    {
      advice: `${off(quantize)} (or no --${KEYS[quantize].slice(6).replaceAll("_", "-")}) leaves ` +
        "the weights as they are stored. For other blocks take a file of the model in halves.",
    },
  );
}

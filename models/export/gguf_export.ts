/**
 * Makes the metadata and tensors of a GGUF file as llama.cpp's converter does
 * (formats/gguf/gguf_layout.ts; RoPE scaling is below). Vectors and learned positions stay f32. A
 * matrix whose rows are not whole blocks becomes f16, or q8_0. The head of a q4_0 file becomes
 * q8_0, and that of q4_k_m q6_k, since its error would directly affect the logits.
 */
import { UsageError } from "../../core/errors.ts";
import type { Architecture } from "../architectures/architecture.ts";
import { architectureOf, type ModelTensor, modelTensors, scalarOf } from "../architectures/mod.ts";
import { attentionInterval, ggufKeys } from "../formats/gguf/gguf_config.ts";
import { ggufLayout, rowsToFile } from "../formats/gguf/gguf_layout.ts";
import { elementCount } from "../formats/element_count.ts";
import { transposeEach } from "../formats/expert_files.ts";
import type { GgufMetadata, GgufTensorToWrite, GgufWritten } from "../formats/gguf/gguf_writer.ts";
import type { MergedWeights } from "./merged_weights.ts";
import { type ModelConfig, ropesOf } from "../architectures/model_config.ts";
import type { WeightType } from "../formats/weight_types.ts";
import { type Importance, importanceOf } from "../formats/gguf/importance.ts";
import { encodePieces, ENCODINGS } from "../formats/weight_encoding.ts";
import { ropeParameters } from "../architectures/rope_config.ts";
import { attentionFactor, yarnMagnitude } from "../architectures/rope_scaling.ts";
import {
  LONG_DIVISORS,
  ROPE_DIVISORS,
  ROPE_SCALING_KEY,
  ropeDivisors,
  SHORT_DIVISORS,
  UNROTATED,
} from "../formats/gguf/rope_scaling.ts";

/** Values of `general.file_type`. */
const FILE_TYPE: Readonly<Record<WeightType, number>> = {
  f32: 0,
  f16: 1,
  q4_0: 2,
  q4_k_m: 15,
  q6_k: 18,
  q8_0: 7,
  bf16: 32,
};

/** What a file is. */
export function ggufIdentity(
  { gguf }: Architecture,
  type: WeightType,
  name: string,
): Map<string, GgufWritten> {
  return new Map<string, GgufWritten>([
    ["general.architecture", ["string", gguf]],
    ["general.type", ["string", "model"]],
    ["general.name", ["string", name]],
    ["general.file_type", ["u32", FILE_TYPE[type]]],
  ]);
}

/** @throws UsageError for a model that a GGUF file cannot describe */
export function ggufMetadata(
  config: ModelConfig,
  type: WeightType,
  name: string,
  where: string,
): GgufMetadata {
  const architecture = architectureOf(config), { gguf } = architecture;
  const out = ggufIdentity(architecture, type, name);
  if (ENCODINGS[type].weights > 1) out.set("general.quantization_version", ["u32", 2]);
  const problem = undescribed(config);
  if (problem !== null) {
    throw new UsageError(`${where}: it cannot be exported to GGUF: ${problem}`, {
      advice: "Export to hf.",
    });
  }
  for (const { key, type, value } of ggufKeys(architecture)) {
    const found = value(config);
    if (found !== undefined) out.set(`${gguf}.${key}`, [type, found] as GgufWritten);
  }
  if (architecture.positions === "learned") return out;
  for (const [key, value] of ropeMetadata(config, gguf, where)) out.set(key, value);
  return out;
}

/** What llama.cpp computes in another way, in words; null when a file describes the model. */
function undescribed(config: ModelConfig): string | null {
  const { gguf, window } = architectureOf(config), { layerTypes, slidingRope, unrotated } = config;
  const { numLayers, headDim, ropeTheta, ropeScaling, slidingWindow = null } = config;
  if (gguf === "smollm3") {
    const usual = Array.from({ length: numLayers }, (_, l) => l).filter((l) => l % 4 === 3);
    if (slidingWindow !== null) return "llama.cpp knows no window of it";
    return String(unrotated ?? []) === String(usual)
      ? null
      : "llama.cpp leaves out the rotation of every fourth layer";
  }
  if (config.experts?.normalize === false) {
    return "llama.cpp divides the gates of experts by their sum";
  }
  const { unrotated: unrotatedKind } = architectureOf(config);
  if (unrotatedKind === "by type" && unrotated !== undefined) {
    return "llama.cpp rotates the layers of a dense Granite";
  }
  if (layerTypes !== undefined && window !== "typed") return "its layers have different windows";
  if (gguf === "gemma2" || gguf === "gpt-oss") {
    const isUsual = layerTypes?.every((type, l) => type === (l % 2 === 0 ? "sliding" : "full"));
    if (slidingWindow === null || !isUsual) {
      return "llama.cpp gives every second layer a window, beginning with the first";
    }
    if (gguf === "gpt-oss") {
      return config.swigluLimit === 7 ? null : "llama.cpp's limit of SwiGLU is 7";
    }
    if (Object.keys(config.softCaps ?? {}).length < 2) return "one of its soft caps is not set";
  }
  const every = attentionInterval(config);
  if (
    gguf === "qwen35" &&
    layerTypes?.some((type, l) => (type === "full") !== ((l + 1) % every === 0))
  ) {
    return "layers with attention do not have one distance";
  }
  if (gguf === "gemma4" && (slidingWindow === null || ropeScaling?.type !== "proportional")) {
    return "no layer has a window, or full ones rotate in another way than proportionally";
  }
  if (gguf === "mistral3" && ropeScaling?.type !== "yarn") return "its RoPE scaling is not yarn";
  if (slidingRope !== undefined && slidingRope.ropeScaling !== null) {
    return "layers with a window have a RoPE scaling";
  }
  // Without a window all layers are of one kind, so there is one rotation.
  if (gguf === "olmo2" && slidingWindow !== null && slidingRope === undefined && ropeScaling) {
    return `layers with a window rotate with the base ${ropeTheta} alone`;
  }
  const usual = 1 / Math.sqrt(headDim), scale = scalarOf(config, "attention");
  return (gguf === "gemma2" || gguf === "gemma3") && Math.abs(scale - usual) > 1e-9 * usual
    ? "its scores are not divided by the root of a head's width"
    : null;
}

export function ggufTensors(
  config: ModelConfig,
  weights: MergedWeights,
  type: WeightType,
  importance: Importance = new Map(),
): GgufTensorToWrite[] {
  const tensors = modelTensors(config).flatMap((tensor): GgufTensorToWrite[] => {
    const { name, part, shape } = tensor, layout = ggufLayout(config, tensor);
    const { names, shape: written, transposed, change } = layout;
    const isHead = part === "head" || part === "embedding" && config.tieWordEmbeddings;
    const isFloat = tensor.kind === "bias" || ["positions", "conv", "router"].includes(part);
    const stored = isFloat ? "f32" : storedType(inMix(type, tensor, config), written, isHead);
    const matrix = written.slice(-2), size = elementCount(matrix);
    const read = async () => {
      const values = await weights(name, shape);
      const changed = change === null ? values : values.map(change.toFile);
      return rowsToFile(layout, transposed ? transposeEach(changed, 1, shape[0]!) : changed);
    };
    // They are written one after the other: the tensor is read once.
    let parts: ReturnType<typeof read> | null = null;
    return names.map((label, i) => {
      const bytes = async function* () {
        parts ??= read();
        const values = (await parts)[i]!;
        if (i === names.length - 1) parts = null;
        // The matrices of experts have columns of their own.
        for (let at = 0; at < values.length; at += size) {
          const of = importanceOf(importance, label, matrix.at(-1)!, at / size);
          yield* encodePieces(stored, { name, shape: matrix }, values.subarray(at, at + size), of);
        }
      };
      return { name: label, type: stored, shape: written, bytes };
    });
  });
  return [...ropeTensors(config), ...tensors];
}

function storedType(type: WeightType, shape: readonly number[], isHead: boolean): WeightType {
  if (shape.length < 2) return "f32";
  const wanted = !isHead ? type : type === "q4_0" ? "q8_0" : type === "q4_k_m" ? "q6_k" : type;
  const fits = (type: WeightType) => shape.at(-1)! % ENCODINGS[type].weights === 0;
  if (fits(wanted)) return wanted;
  return ENCODINGS[wanted].weights === 256 && fits("q8_0") ? "q8_0" : "f16";
}

/** The type of a tensor in a mix: llama.cpp gives values and last projections more bits. */
function inMix(
  type: WeightType,
  { part, layer }: Pick<ModelTensor, "part" | "layer">,
  { numLayers }: ModelConfig,
): WeightType {
  if (type !== "q4_k_m" || layer === null || part !== "v" && part !== "down") return type;
  const eighth = Math.floor(numLayers / 8);
  const more = layer < eighth || layer >= Math.floor(7 * numLayers / 8) ||
    (layer - eighth) % 3 === 2;
  return more ? "q6_k" : type;
}

// RoPE scaling in a GGUF file as llama.cpp's converter writes it: metadata, and divisors as
// tensors. llama.cpp reads divisors only in files of its architecture "llama".

const NOT_COMPUTED = "llama.cpp does not compute it";

/**
 * The metadata of a model's scaling.
 * @throws UsageError for a scaling that llama.cpp does not compute
 */
export function ropeMetadata(
  config: ModelConfig,
  architecture: string,
  where: string,
): Map<string, GgufWritten> {
  const out = new Map<string, GgufWritten>(), scaling = config.ropeScaling;
  if (scaling === null) return out;
  const refuse = (why: string) => {
    throw new UsageError(
      `${where}: RoPE scaling of the type "${scaling.type}" cannot be exported to GGUF: ${why}`,
      { advice: "Export to hf." },
    );
  };
  const set = (key: string, ...value: GgufWritten) =>
    out.set(`${architecture}.rope.scaling.${key}`, value);
  const f32 = (key: string, value: number) => set(key, "f32", value);
  const needsLlama = () => {
    const isPhi = architecture === "phi3" && scaling.type === "longrope";
    if (architecture !== "llama" && !isPhi) {
      refuse(`llama.cpp reads its divisors only of llama models, this is ${architecture}`);
    }
  };
  const magnitude = attentionFactor(scaling);
  switch (scaling.type) {
    case "linear":
      set("type", "string", "linear");
      f32("factor", scaling.factor);
      break;
    case "yarn": {
      // llama.cpp's files of gpt-oss are of models that do not round, and do not say it.
      if (scaling.truncate === (architecture === "gpt-oss")) {
        refuse(`llama.cpp's files cannot say truncate: ${scaling.truncate}`);
      }
      set("type", "string", "yarn");
      f32("factor", scaling.factor);
      set("original_context_length", "u32", scaling.originalMaxPositions);
      if (scaling.betaFast !== 32) f32("yarn_beta_fast", scaling.betaFast);
      if (scaling.betaSlow !== 1) f32("yarn_beta_slow", scaling.betaSlow);
      if (architecture === "mistral3" && scaling.mscale === 1 && scaling.mscaleAllDim !== null) {
        f32("yarn_log_multiplier", scaling.mscaleAllDim);
        break;
      }
      const usual = yarnMagnitude(scaling.factor);
      if (magnitude !== usual) {
        // The converter writes the whole factor; llama.cpp multiplies its default by the other key.
        f32("yarn_attn_factor", magnitude);
        f32("attn_factor", magnitude / usual);
      }
      break;
    }
    case "longrope":
      needsLlama();
      set("type", "string", "longrope");
      set("original_context_length", "u32", scaling.originalMaxPositions);
      f32("attn_factor", magnitude);
      break;
    case "llama3":
      needsLlama();
      out.set(ROPE_SCALING_KEY, ["string", JSON.stringify(ropeParameters(config))]);
      break;
    case "proportional":
      if (architecture !== "gemma4" || scaling.factor !== 1) refuse(NOT_COMPUTED);
      break;
    default:
      refuse(NOT_COMPUTED);
  }
  return out;
}

export function ropeTensors(config: ModelConfig): GgufTensorToWrite[] {
  const scaling = config.ropeScaling;
  if (scaling?.type === "llama3") return [vector(ROPE_DIVISORS, ropeDivisors(config))];
  if (scaling?.type === "proportional") {
    const divisors = ropeDivisors(ropesOf(config)[0]!).map((x) => Math.min(x, UNROTATED));
    return [vector(ROPE_DIVISORS, divisors)];
  }
  if (scaling?.type !== "longrope") return [];
  return [
    vector(LONG_DIVISORS, Float64Array.from(scaling.longFactors)),
    vector(SHORT_DIVISORS, Float64Array.from(scaling.shortFactors)),
  ];
}

function vector(name: string, values: Float64Array): GgufTensorToWrite {
  const shape = [values.length];
  const bytes = async function* () {
    yield await Promise.resolve(new Uint8Array(Float32Array.from(values).buffer));
  };
  return { name, type: "f32", shape, bytes };
}

/**
 * RoPE scaling in a GGUF file as llama.cpp's converter writes it: metadata, and divisors as
 * tensors. llama.cpp reads divisors only in files of its architecture "llama".
 */
import { UsageError } from "../../core/errors.ts";
import type { ModelConfig } from "../architectures/model_config.ts";
import { ropeParameters } from "../architectures/rope_config.ts";
import { attentionFactor, yarnMagnitude } from "../architectures/rope_scaling.ts";
import type { GgufTensorToWrite, GgufWritten } from "../formats/gguf/gguf_writer.ts";
import {
  LONG_DIVISORS,
  ROPE_DIVISORS,
  ROPE_SCALING_KEY,
  ropeDivisors,
  SHORT_DIVISORS,
} from "../formats/gguf/rope_scaling.ts";
import { encodePieces } from "../formats/weight_encoding.ts";

/**
 * The metadata of a model's scaling.
 * @param architecture the file's `general.architecture`
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
    if (architecture !== "llama") {
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
      if (!scaling.truncate) refuse("llama.cpp rounds the limits of the ramp (truncate: false)");
      set("type", "string", "yarn");
      f32("factor", scaling.factor);
      set("original_context_length", "u32", scaling.originalMaxPositions);
      if (scaling.betaFast !== 32) f32("yarn_beta_fast", scaling.betaFast);
      if (scaling.betaSlow !== 1) f32("yarn_beta_slow", scaling.betaSlow);
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
    default:
      refuse("llama.cpp does not compute it");
  }
  return out;
}

/** The tensors of a model's scaling. */
export function ropeTensors(config: ModelConfig): GgufTensorToWrite[] {
  const scaling = config.ropeScaling;
  if (scaling?.type === "llama3") return [vector(ROPE_DIVISORS, ropeDivisors(config))];
  if (scaling?.type !== "longrope") return [];
  return [
    vector(LONG_DIVISORS, Float64Array.from(scaling.longFactors)),
    vector(SHORT_DIVISORS, Float64Array.from(scaling.shortFactors)),
  ];
}

function vector(name: string, values: Float64Array): GgufTensorToWrite {
  const shape = [values.length];
  const bytes = async function* () {
    yield* await Promise.resolve(encodePieces("f32", { name, shape }, values));
  };
  return { name, type: "f32", shape, bytes };
}

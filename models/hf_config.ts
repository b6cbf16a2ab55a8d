/**
 * Hugging Face's `config.json` of Llama models, in both generations: transformers 4 (`rope_theta`,
 * `rope_scaling`, `torch_dtype`) and 5 (`rope_parameters`, `dtype`). Whatever would change the numbers
 * and is not computed here is refused by its key. Written files serve both generations.
 */
import { UsageError } from "../core/errors.ts";
import { checkLlamaConfig, type LlamaConfig, type RopeScaling } from "./llama_config.ts";

/** A model's `config.json`: the architecture, and the token ids that it names. */
export interface HfConfig {
  llama: LlamaConfig;
  bosId: number | null;
  /** `eos_token_id` as a list; may be empty. */
  eosIds: number[];
  padId: number | null;
}

type Json = Readonly<Record<string, unknown>>;

/**
 * @param where path of the file, for messages
 * @throws UsageError that names the key for anything missing, mistyped or not supported
 */
export function readHfConfig(json: Json, where: string): HfConfig {
  const modelType = json["model_type"];
  if (modelType !== "llama") {
    throw new UsageError(
      `${where}: model_type is ${JSON.stringify(modelType)}, only "llama" is supported`,
    );
  }
  refuseUnsupported(json, where);
  const heads = count(json, "num_attention_heads", where);
  const hiddenSize = count(json, "hidden_size", where);
  const headDim = optional(json["head_dim"], () => count(json, "head_dim", where)) ??
    hiddenSize / heads;
  if (!Number.isInteger(headDim)) {
    throw new UsageError(
      `${where}: hidden_size ${hiddenSize} is no multiple of num_attention_heads ${heads}, ` +
        `and there is no head_dim`,
    );
  }
  const llama: LlamaConfig = {
    vocabSize: count(json, "vocab_size", where),
    hiddenSize,
    intermediateSize: count(json, "intermediate_size", where),
    numLayers: count(json, "num_hidden_layers", where),
    numHeads: heads,
    numKvHeads: optional(
      json["num_key_value_heads"],
      () => count(json, "num_key_value_heads", where),
    ) ?? heads,
    headDim,
    maxPositions: optional(
      json["max_position_embeddings"],
      () => count(json, "max_position_embeddings", where),
    ) ?? 2048,
    ...readRope(json, where),
    rmsNormEps: optional(json["rms_norm_eps"], () => number(json, "rms_norm_eps", where)) ?? 1e-6,
    tieWordEmbeddings: json["tie_word_embeddings"] === true,
  };
  return {
    llama: checkLlamaConfig(llama, where),
    bosId: readTokenIds(json, "bos_token_id", where)[0] ?? null,
    eosIds: readTokenIds(json, "eos_token_id", where),
    padId: readTokenIds(json, "pad_token_id", where)[0] ?? null,
  };
}

/** A key that holds one id, a list of ids, or nothing. @throws UsageError for anything else */
export function readTokenIds(json: Json, key: string, where: string): number[] {
  const value = json[key];
  if (value === undefined || value === null) return [];
  const ids = Array.isArray(value) ? value : [value];
  for (const id of ids) {
    if (!Number.isInteger(id)) {
      throw new UsageError(`${where}: ${key} is ${JSON.stringify(value)}, expected token ids`);
    }
  }
  // −1 is an old way of saying "none".
  return (ids as number[]).filter((id) => id >= 0);
}

function refuseUnsupported(json: Json, where: string): void {
  const refuse = (key: string, supported: string) => {
    throw new UsageError(
      `${where}: ${key} is ${
        JSON.stringify(json[key])
      }, which is not supported (only ${supported})`,
    );
  };
  for (const key of ["attention_bias", "mlp_bias"]) {
    if (json[key] === true) refuse(key, "false");
  }
  const activation = json["hidden_act"] ?? "silu";
  if (activation !== "silu" && activation !== "swish") refuse("hidden_act", `"silu"`);
  if ((json["partial_rotary_factor"] ?? 1) !== 1) refuse("partial_rotary_factor", "1");
  if (json["quantization_config"] !== undefined && json["quantization_config"] !== null) {
    throw new UsageError(
      `${where}: quantization_config is set, quantised weights of this kind are not supported`,
      { advice: "Use the unquantised model (bf16, f16 or f32)." },
    );
  }
}

function readRope(
  json: Json,
  where: string,
): { ropeTheta: number; ropeScaling: RopeScaling | null } {
  const section = json["rope_parameters"] === undefined || json["rope_parameters"] === null
    ? "rope_scaling"
    : "rope_parameters";
  const value = json[section] ?? {};
  if (typeof value !== "object" || Array.isArray(value)) {
    throw new UsageError(`${where}: ${section} is ${JSON.stringify(value)}, expected an object`);
  }
  const rope = value as Json;
  const at = `${where}: ${section}`;
  const ropeTheta = optional(rope["rope_theta"], () => number(rope, "rope_theta", at)) ??
    optional(json["rope_theta"], () => number(json, "rope_theta", where)) ?? 10000;
  const type = rope["rope_type"] ?? rope["type"] ?? "default";
  switch (type) {
    case "default":
      return { ropeTheta, ropeScaling: null };
    case "linear":
      return { ropeTheta, ropeScaling: { type: "linear", factor: number(rope, "factor", at) } };
    case "llama3":
      return {
        ropeTheta,
        ropeScaling: {
          type: "llama3",
          factor: number(rope, "factor", at),
          lowFreqFactor: number(rope, "low_freq_factor", at),
          highFreqFactor: number(rope, "high_freq_factor", at),
          originalMaxPositions: count(rope, "original_max_position_embeddings", at),
        },
      };
    default:
      throw new UsageError(
        `${at}: rope type ${JSON.stringify(type)} is not supported (only default, linear, llama3)`,
      );
  }
}

function optional<T>(value: unknown, read: () => T): T | undefined {
  return value === undefined || value === null ? undefined : read();
}

function number(json: Json, key: string, where: string): number {
  const value = json[key];
  if (typeof value !== "number" || !Number.isFinite(value)) {
    throw new UsageError(
      value === undefined
        ? `${where}: ${key} is missing`
        : `${where}: ${key} is ${JSON.stringify(value)}, expected a number`,
    );
  }
  return value;
}

function count(json: Json, key: string, where: string): number {
  const value = number(json, key, where);
  if (!Number.isInteger(value) || value < 1) {
    throw new UsageError(`${where}: ${key} is ${value}, expected a whole number of at least 1`);
  }
  return value;
}

/** The text of a `config.json` that transformers 4 and 5 both read. */
export function writeHfConfig(
  { llama, bosId, eosIds, padId }: HfConfig,
  dtype: "float32" | "bfloat16" | "float16" = "float32",
): string {
  const scaling = llama.ropeScaling;
  const rope = {
    rope_theta: llama.ropeTheta,
    rope_type: scaling?.type ?? "default",
    ...(scaling === null ? {} : { factor: scaling.factor }),
    ...(scaling?.type === "llama3"
      ? {
        low_freq_factor: scaling.lowFreqFactor,
        high_freq_factor: scaling.highFreqFactor,
        original_max_position_embeddings: scaling.originalMaxPositions,
      }
      : {}),
  };
  const config = {
    architectures: ["LlamaForCausalLM"],
    attention_bias: false,
    attention_dropout: 0,
    bos_token_id: bosId,
    dtype,
    eos_token_id: eosIds.length > 1 ? eosIds : eosIds[0] ?? null,
    head_dim: llama.headDim,
    hidden_act: "silu",
    hidden_size: llama.hiddenSize,
    intermediate_size: llama.intermediateSize,
    max_position_embeddings: llama.maxPositions,
    mlp_bias: false,
    model_type: "llama",
    num_attention_heads: llama.numHeads,
    num_hidden_layers: llama.numLayers,
    num_key_value_heads: llama.numKvHeads,
    pad_token_id: padId,
    rms_norm_eps: llama.rmsNormEps,
    rope_parameters: rope,
    // A version 4 reader knows the scaling by this name only, and would silently go without it.
    ...(scaling === null ? {} : { rope_scaling: rope }),
    rope_theta: llama.ropeTheta,
    tie_word_embeddings: llama.tieWordEmbeddings,
    torch_dtype: dtype,
    use_cache: true,
    vocab_size: llama.vocabSize,
  };
  return JSON.stringify(config, null, 2) + "\n";
}

/**
 * Turns the metadata of a GGUF file into the contents of a Hugging Face `config.json`, so that one
 * reader (architectures/hf_config.ts) decides what is supported. Metadata of the architecture that
 * are not understood are refused by name.
 */
import { UsageError } from "../../../core/errors.ts";
import type { GgufFile } from "./gguf.ts";

/** Metadata after the architecture's name → key of `config.json`. */
const FAMILY_KEYS: Readonly<Record<string, string>> = {
  "block_count": "num_hidden_layers",
  "context_length": "max_position_embeddings",
  "embedding_length": "hidden_size",
  "feed_forward_length": "intermediate_size",
  "attention.head_count": "num_attention_heads",
  "attention.head_count_kv": "num_key_value_heads",
  "attention.layer_norm_rms_epsilon": "rms_norm_eps",
  "attention.key_length": "head_dim",
  "attention.sliding_window": "sliding_window",
  "rope.freq_base": "rope_theta",
};

const GPT2_KEYS: Readonly<Record<string, string>> = {
  "block_count": "n_layer",
  "context_length": "n_positions",
  "embedding_length": "n_embd",
  "feed_forward_length": "n_inner",
  "attention.head_count": "n_head",
  "attention.layer_norm_epsilon": "layer_norm_epsilon",
};

function keysOf(architecture: string): Readonly<Record<string, string>> {
  return architecture === "gpt2" ? GPT2_KEYS : FAMILY_KEYS;
}

/** Keys that are read below, or that do not affect the results. */
const GPT2_OTHERS = new Set(["vocab_size", "attention.head_count_kv", "tensor_data_layout"]);
const FAMILY_OTHERS = new Set([
  "vocab_size",
  "attention.value_length",
  "rope.dimension_count",
  "rope.scaling.type",
  "rope.scaling.factor",
  "rope.scale_linear",
  "rope.scaling.original_context_length",
  "rope.scaling.finetuned",
  ...["attn_factor", "yarn_ext_factor", "yarn_attn_factor", "yarn_beta_fast", "yarn_beta_slow"]
    .map((key) => `rope.scaling.${key}`),
  "rope.scaling.yarn_log_multiplier",
  "tensor_data_layout",
]);

/** Architectures whose tensors and metadata are known. */
const ARCHITECTURES = ["llama", "qwen2", "qwen3", "gpt2"];

/**
 * The contents of the `config.json` for the file's model.
 * @param scaling the file's `rope_scaling`, or null (rope_scaling.ts)
 * @throws UsageError for what is not supported, RgxError for metadata that contradict each other
 */
export function ggufConfig(
  file: GgufFile,
  tokens: { bosId: number | null; eosIds: readonly number[]; padId: number | null },
  scaling: Readonly<Record<string, unknown>> | null,
): Record<string, unknown> {
  const architecture = ggufArchitecture(file);
  const get = (key: string) => file.metadata.get(`${architecture}.${key}`);
  refuseUnknown(file, architecture);
  const embedding = file.info("token_embd.weight");
  const config: Record<string, unknown> = {
    model_type: architecture,
    vocab_size: embedding.shape[0],
    tie_word_embeddings: !file.tensors.has("output.weight"),
    bos_token_id: tokens.bosId,
    eos_token_id: [...tokens.eosIds],
    pad_token_id: tokens.padId,
  };
  for (const [key, name] of Object.entries(keysOf(architecture))) {
    const value = get(key);
    if (value !== undefined) config[name] = typeof value === "number" ? shortest(value) : value;
  }
  if (architecture === "gpt2") {
    checkKvHeads(file, config["n_head"]);
    return config;
  }
  if (config["sliding_window"] !== undefined) {
    // A Mistral is called llama in such a file; a Llama has no window.
    if (architecture === "llama") config["model_type"] = "mistral";
    else Object.assign(config, { use_sliding_window: true, max_window_layers: 0 });
  }
  for (const [suffix, key] of [["attn_q", "attention_bias"], ["ffn_up", "mlp_bias"]] as const) {
    // Qwen2 always has these biases.
    const biased = file.tensors.has(`blk.0.${suffix}.bias`);
    if (architecture !== "qwen2") config[key] = biased;
  }
  checkHeads(file, architecture, config);
  config["rope_scaling"] = scaling;
  return config;
}

/** @throws UsageError when the architecture is not supported */
export function ggufArchitecture(file: GgufFile): string {
  const architecture = file.metadata.get("general.architecture");
  if (typeof architecture !== "string" || !ARCHITECTURES.includes(architecture)) {
    throw new UsageError(
      `${file.label}: general.architecture is ${JSON.stringify(architecture)}, ` +
        `which is not supported (only ${ARCHITECTURES.join(", ")})`,
    );
  }
  return architecture;
}

function refuseUnknown(file: GgufFile, architecture: string): void {
  const keys = keysOf(architecture);
  const others = architecture === "gpt2" ? GPT2_OTHERS : FAMILY_OTHERS;
  for (const [key, value] of file.metadata) {
    if (!key.startsWith(`${architecture}.`)) continue;
    const name = key.slice(architecture.length + 1);
    if (Object.hasOwn(keys, name) || others.has(name) || /^expert_/.test(name) && value === 0) {
      continue;
    }
    throw new UsageError(
      `${file.label}: the metadata "${key}" (${String(value).slice(0, 40)}) are not understood`,
      {
        advice: name.startsWith("expert_")
          ? "Models with experts are not supported."
          : "The model computes something that rgx does not: use another model.",
      },
    );
  }
}

/** GPT-2 has as many key and value heads as query heads. */
function checkKvHeads(file: GgufFile, heads: unknown): void {
  const kv = file.metadata.get("gpt2.attention.head_count_kv") ?? heads;
  if (kv === heads) return;
  throw new UsageError(
    `${file.label}: gpt2.attention.head_count_kv is ${kv}, which is not supported ` +
      `(only the number of heads, ${heads})`,
  );
}

function checkHeads(file: GgufFile, architecture: string, config: Record<string, unknown>): void {
  const get = (key: string) => file.metadata.get(`${architecture}.${key}`);
  const { hidden_size: hidden, num_attention_heads: heads } = config;
  const headDim = config["head_dim"] ??
    (typeof hidden === "number" && typeof heads === "number" ? hidden / heads : undefined);
  for (const key of ["attention.value_length", "rope.dimension_count"]) {
    const value = get(key);
    if (value !== undefined && value !== headDim) {
      throw new UsageError(
        `${file.label}: ${architecture}.${key} is ${value}, which is not supported ` +
          `(only the width of a head, ${headDim})`,
      );
    }
  }
}

/**
 * The shortest decimal that gives a float32: 1e-5 for 9.99999974e-6. Whole numbers do not change.
 */
export function shortest(value: number): number {
  if (Number.isInteger(value) || Math.fround(value) !== value) return value;
  for (let digits = 1; digits < 9; digits++) {
    const rounded = Number(value.toPrecision(digits));
    if (Math.fround(rounded) === value) return rounded;
  }
  return value;
}

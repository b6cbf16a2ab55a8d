/** Reads the fields of a model's `config.json`. Every error names the file and the key. */
import { UsageError } from "../../core/errors.ts";
import { isRecord } from "../../core/json_file.ts";

export type Json = Readonly<Record<string, unknown>>;

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
  // −1 is an old way to say "none".
  return (ids as number[]).filter((id) => id >= 0);
}

export class MissingKey extends UsageError {}

/** The fields of a part of a config.json; `where` is its place, for messages. */
export class Fields {
  constructor(readonly json: Json, readonly where: string) {}

  /** The error for a field with another value than expected. */
  wrong(key: string, expected: string, found: unknown = this.json[key]): UsageError {
    return new UsageError(`${this.where}: ${key} is ${shown(found)}, expected ${expected}`);
  }

  /** @param absent what a missing key and null stand for. @throws MissingKey, UsageError */
  number(key: string, absent?: number): number {
    const value = this.json[key];
    if (absent !== undefined && (value ?? null) === null) return absent;
    if (value === undefined) throw new MissingKey(`${this.where}: ${key} is missing`);
    if (typeof value === "number" && Number.isFinite(value)) return value;
    throw this.wrong(key, "a number");
  }

  count(key: string, absent?: number): number {
    const value = this.number(key, absent);
    if (Number.isInteger(value) && value >= 1) return value;
    throw this.wrong(key, "a whole number of at least 1");
  }

  positive(key: string, absent?: number): number {
    const value = this.number(key, absent);
    if (value > 0) return value;
    throw this.wrong(key, "a number above 0");
  }

  /** An object; a missing one is empty. */
  object(key: string): Json {
    const value = this.json[key] ?? {};
    if (isRecord(value)) return value;
    throw this.wrong(key, "an object");
  }

  /** Checks keys that may have these values only. @throws UsageError that names the key */
  requireNeutral(neutral: Readonly<Record<string, readonly unknown[]>>): void {
    for (const [key, values] of Object.entries(neutral)) {
      const value = this.json[key];
      if (value === undefined || value === null || values.includes(value)) continue;
      if (Array.isArray(value) && value.length === 0) continue;
      const only = values.map((v) => JSON.stringify(v)).join(", ");
      const advice = only === "" ? "rgx reads models without it" : `only ${only}`;
      throw new UsageError(
        `${this.where}: ${key} is ${JSON.stringify(value)}, which is not supported (${advice})`,
      );
    }
  }

  /**
   * Refuses keys that no reader understands: ignoring them could change the model's output.
   * @param known keys that the architecture's reader understands
   * @throws UsageError that names the keys
   */
  refuseUnknown(known: ReadonlySet<string>): void {
    const { json } = this;
    const unknown = Object.keys(json).filter((key) =>
      (json[key] ?? null) !== null && !known.has(key) && !WITHOUT_BEARING.has(key) &&
      !Object.hasOwn(COMMON_NEUTRAL, key) && !/^(_|unsloth)/.test(key)
    );
    requireNone(json, unknown, this.where, {
      advice:
        "The model may compute something that rgx does not. Remove a key that is of no account.",
    });
  }
}

/** Keys of any config.json that do not change the logits. */
const WITHOUT_BEARING = new Set([
  "architectures",
  "model_type",
  "dtype",
  "torch_dtype",
  "transformers_version",
  "auto_map",
  "bos_token_id",
  "eos_token_id",
  "pad_token_id",
  "unk_token_id",
  "sep_token_id",
  "decoder_start_token_id",
  "forced_bos_token_id",
  "forced_eos_token_id",
  "cls_token_id",
  "name_or_path",
  "attn_implementation",
  "use_cache",
  "return_dict",
  "return_dict_in_generate",
  "torchscript",
  "output_attentions",
  "output_hidden_states",
  "output_scores",
  "use_bfloat16",
  "tf_legacy_loss",
  "initializer_range",
  "initializer_factor",
  "attention_dropout",
  "hidden_dropout",
  "attention_probs_dropout_prob",
  "hidden_dropout_prob",
  "gradient_checkpointing",
  "task_specific_params",
  "finetuning_task",
  "problem_type",
  "id2label",
  "label2id",
  "num_labels",
  "tokenizer_class",
  "prefix",
  "is_decoder",
  "is_llama_config",
  "transformers.js_config",
  "quantization_config", // which readHfConfig decides on
  // Options of generation: generation_config.json and the caller decide.
  "temperature",
  "top_k",
  "top_p",
  "typical_p",
  "do_sample",
  "num_beams",
  "num_beam_groups",
  "num_return_sequences",
  "max_length",
  "min_length",
  "early_stopping",
  "length_penalty",
  "repetition_penalty",
  "no_repeat_ngram_size",
  "encoder_no_repeat_ngram_size",
  "diversity_penalty",
  "bad_words_ids",
  "begin_suppress_tokens",
  "suppress_tokens",
  "exponential_decay_length_penalty",
  "remove_invalid_values",
  "chunk_size_feed_forward",
]);

/** Keys of every architecture with the only values that are supported. */
export const COMMON_NEUTRAL: Readonly<Record<string, readonly unknown[]>> = {
  add_cross_attention: [false],
  is_encoder_decoder: [false],
  tie_encoder_decoder: [false],
  pruned_heads: [],
};

/** @throws UsageError that names the keys, when there are any, with `advice` */
export function requireNone(
  json: Json,
  unknown: readonly string[],
  where: string,
  advice: { readonly advice: string },
): void {
  if (unknown.length === 0) return;
  const found = unknown.map((key) => `${key} (${shown(json[key])})`).join(", ");
  const are = unknown.length === 1 ? "a key is" : "keys are";
  throw new UsageError(`${where}: ${are} not understood: ${found}`, advice);
}

/** A value for a message. Python writes Infinity and NaN, which JSON does not have. */
function shown(value: unknown): string {
  const isInJson = typeof value !== "number" && value !== undefined;
  return isInJson ? JSON.stringify(value).slice(0, 60) : String(value);
}

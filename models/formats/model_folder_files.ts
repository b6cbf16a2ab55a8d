/**
 * The files of a model folder that is written: configuration, end tokens, tokenizer and, for models
 * in memory, the weights.
 */
import { writeHfConfig } from "../architectures/hf_config.ts";
import { encodeSafetensors } from "./safetensors/safetensors_writer.ts";
import type { ModelConfig } from "../architectures/model_config.ts";
import type { Tokenizer } from "../tokenizers/types.ts";

export interface ModelText {
  config: ModelConfig;
  tokenizer: Tokenizer | null;
  generationEosIds: readonly number[];
  bosId: number | null;
  padId: number | null;
}

/**
 * The text files by name.
 * @param dtype type of most weights
 * @param generation further keys of the generation_config.json
 */
export function modelTextFiles(
  { config, tokenizer, generationEosIds, bosId, padId }: ModelText,
  dtype: "float32" | "bfloat16" | "float16" = "float32",
  generation: Readonly<Record<string, unknown>> = {},
): Map<string, string> {
  const eosIds = [...generationEosIds];
  const ids = {
    bos_token_id: bosId,
    eos_token_id: eosIds.length > 1 ? eosIds : eosIds[0] ?? null,
    pad_token_id: padId,
  };
  return new Map([
    ["config.json", writeHfConfig({ modelConfig: config, bosId, eosIds, padId }, dtype)],
    ["generation_config.json", JSON.stringify({ ...generation, ...ids }, null, 2) + "\n"],
    ...tokenizer?.files() ?? [],
  ]);
}

export interface ModelToWrite extends ModelText {
  /**
   * Base tensors by their full Hugging Face name; without `lm_head.weight` when the head is tied.
   */
  tensors: Iterable<
    { name: string; shape: readonly number[]; data: Float32Array | Float64Array }
  >;
}

/** All files of a full model, with weights in F32. */
export function encodeModelFolder(model: ModelToWrite): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  for (const [name, text] of modelTextFiles(model)) {
    files.set(name, new TextEncoder().encode(text));
  }
  files.set(
    "model.safetensors",
    encodeSafetensors([...model.tensors].map((tensor) => ({ ...tensor, dtype: "F32" as const }))),
  );
  return files;
}

/**
 * The files of a model folder that is written: configuration, end tokens, tokenizer and the weights
 * of one file.
 */
import type { FileContent } from "../../core/atomic_file.ts";
import { writeHfConfig } from "../architectures/hf_config.ts";
import type { ModelConfig } from "../architectures/model_config.ts";
import type { Tokenizer } from "../tokenizers/types.ts";
import { safetensorsContent, type StreamedTensor } from "./tensor_stream.ts";

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

/**
 * All files of a full model by name.
 * @param tensors the base's, by their full Hugging Face name; without `lm_head.weight` when the
 *   head is tied
 */
export function modelFolderFiles(
  model: ModelText,
  tensors: Iterable<StreamedTensor>,
): Map<string, FileContent> {
  const files = new Map<string, FileContent>();
  for (const [name, text] of modelTextFiles(model)) {
    files.set(name, new TextEncoder().encode(text));
  }
  files.set("model.safetensors", safetensorsContent(tensors));
  return files;
}

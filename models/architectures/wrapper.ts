/**
 * Models that also see: their `config.json` wraps that of a text model. The text model is read, and
 * its tensors are found behind a prefix; images, towers and further heads are left aside.
 */
import { UsageError } from "../../core/errors.ts";
import { isRecord } from "../../core/json_file.ts";
import type { ArchitectureName } from "./architecture.ts";
import { Fields, type Json } from "./config_fields.ts";

interface Wrapper {
  readonly className: string;
  /** What the text model may be. */
  readonly texts: readonly ArchitectureName[];
  /** Whether the head is tied where no key says it. */
  readonly ties: boolean;
}

const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  gemma3: { className: "Gemma3ForConditionalGeneration", texts: ["gemma3_text"], ties: true },
  gemma4: { className: "Gemma4ForConditionalGeneration", texts: ["gemma4_text"], ties: true },
  mistral3: {
    className: "Mistral3ForConditionalGeneration",
    texts: ["ministral3", "mistral"],
    ties: true,
  },
  qwen3_5: {
    className: "Qwen3_5ForConditionalGeneration",
    texts: ["qwen3_5_text"],
    ties: false,
  },
};

export const WRAPPER_NAMES: readonly string[] = Object.keys(WRAPPERS);

/** Keys about images. Those about tokens are read of either file. */
const OTHERS = new Set([
  "text_config",
  "vision_config",
  "audio_config",
  "tie_word_embeddings",
  "mm_tokens_per_image",
  "boi_token_index",
  "eoi_token_index",
  "image_token_index",
  "image_token_id",
  "multimodal_projector_bias",
  "projector_hidden_act",
  "spatial_merge_size",
  "vision_feature_layer",
  "video_token_id",
  "audio_token_id",
  "boi_token_id",
  "eoi_token_id",
  "boa_token_id",
  "eoa_token_id",
  "eoa_token_index",
  "vision_soft_tokens_per_image",
  "vision_start_token_id",
  "vision_end_token_id",
]);

/** The text model's configuration in a wrapper, with the wrapper's ids; null for other files. */
export function wrappedConfig(json: Json, where: string): Json | null {
  const type = json["model_type"];
  if (typeof type !== "string" || !Object.hasOwn(WRAPPERS, type)) return null;
  const { className, texts, ties } = WRAPPERS[type]!,
    classes = json["architectures"] ?? [className];
  if (!Array.isArray(classes) || !classes.every((found) => found === className)) {
    throw new UsageError(
      `${where}: architectures is ${JSON.stringify(classes)}, which is not supported for a ` +
        `model_type of "${type}" (only "${className}")`,
    );
  }
  const of = new Fields(json, where);
  of.refuseUnknown(OTHERS);
  const text = json["text_config"];
  if (!isRecord(text)) throw of.wrong("text_config", "an object");
  const inner: Json = { model_type: texts[0], ...text };
  if (!texts.some((name) => name === inner["model_type"])) {
    throw new UsageError(
      `${where}: text_config.model_type is ${JSON.stringify(inner["model_type"])}, which is not ` +
        `supported in a model_type of "${type}" (only ${texts.join(", ")})`,
    );
  }
  const ids = ["bos_token_id", "eos_token_id", "pad_token_id"]
    .flatMap((key) => json[key] === undefined ? [] : [[key, json[key]]]);
  return {
    ...inner,
    ...Object.fromEntries(ids),
    quantization_config: json["quantization_config"] ?? inner["quantization_config"] ?? null,
    // As in transformers, the wrapper decides, whatever the text model's says.
    tie_word_embeddings: json["tie_word_embeddings"] ?? ties,
  };
}

const PLAIN = "model.", PREFIX = "model.language_model.";

/** The name in the wrapper of a tensor or module of the text model, as PEFT calls it. */
export function nameInWrapper(name: string): string {
  return name.startsWith(PLAIN) ? PREFIX + name.slice(PLAIN.length) : name;
}

/** Names that files of a wrapper may have for a tensor of the text model. */
export function storedInWrapper(name: string): string[] {
  return [nameInWrapper(name), `language_model.${name}`];
}

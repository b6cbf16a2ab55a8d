/**
 * Checks an adapter's file against the base: it must have every tensor that the base needs, in the
 * right shape, and no other. A file for another base is refused before any of it is used.
 */
import { RgxError } from "../../../core/errors.ts";
import { parameterNames } from "../../architectures/mixtures.ts";
import { moduleNames } from "../../architectures/mod.ts";
import { type AdapterTensors, adapterTensors, headAdapter } from "./model_weights.ts";
import { checkLoraOptions } from "../adapters/lora.ts";
import { embeddingCopy, HEAD_COPY } from "../adapters/modules_to_save.ts";
import { modelSizes } from "./model_sizes.ts";
import { loraOptions, type PeftAdapter } from "../adapters/peft_adapter.ts";
import type { ModelConfig } from "../../architectures/model_config.ts";

/** PEFT's names of an adapter's tensors. */
export function adapterNames(config: ModelConfig, tensors: AdapterTensors): string[] {
  return adapterTensors(config, tensors).filter(({ computed }) => !computed)
    .map(({ name }) => name);
}

/** Maximum number of tensors that a message names. */
const MAX_NAMED = 4;

/** Where an adapter's tensors go. @param base its name. @throws RgxError for another base */
export function fitAdapter(
  { config: peft, weights: { tensors, label } }: PeftAdapter,
  config: ModelConfig,
  base: string,
): AdapterTensors {
  const options = loraOptions(peft);
  checkLoraOptions(options, moduleNames(config), parameterNames(config));
  const { lora, saved, embedding } = modelSizes(config, { lora: options, trainable: "none" });
  const wanted = new Map<string, readonly number[]>();
  for (const { name, shape, computed } of adapterTensors(config, { lora, saved, embedding })) {
    if (!computed) wanted.set(name, shape);
  }
  if (headAdapter(lora) !== null && tensors.has(HEAD_COPY)) {
    wanted.set(HEAD_COPY, [config.vocabSize, config.hiddenSize]);
  }
  const copy = embedding === null ? null : embeddingCopy(embedding.peftPath);
  if (copy !== null && tensors.has(copy)) wanted.set(copy, [config.vocabSize, config.hiddenSize]);
  const wrong: string[] = [];
  for (const [name, shape] of wanted) {
    const found = tensors.get(name)?.shape;
    if (String(found) === String(shape)) continue;
    const is = found === undefined ? "is missing" : `has shape [${found.join(", ")}]`;
    wrong.push(`${name} ${is}, the base needs [${shape.join(", ")}]`);
  }
  for (const name of tensors.keys()) {
    if (!wanted.has(name)) wrong.push(`${name} has no place in the base`);
  }
  if (wrong.length === 0) return { lora, saved, embedding };
  const named = wrong.slice(0, MAX_NAMED), more = wrong.length - named.length;
  throw new RgxError(
    `${label}: the adapter does not fit the base model ${base}: ${named.join("; ")}` +
      (more > 0 ? `; and ${more} more` : ""),
    {
      advice: peft.baseModel === null
        ? "Name the base that the adapter was trained on."
        : `Its adapter_config.json says that it was trained on ${peft.baseModel}: use that ` +
          "base, or correct base_model_name_or_path.",
    },
  );
}

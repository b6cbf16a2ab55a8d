/**
 * Checks an adapter's file against the base: it must have every tensor that the base needs, in the
 * right shape, and no other. A file for another base is refused before any of it is used.
 */
import { RgxError } from "../../../core/errors.ts";
import {
  embeddingName,
  headName,
  LM_HEAD,
  moduleNames,
  parameterNames,
  peftPath,
} from "../../architectures/mod.ts";
import { isBlockType } from "../../formats/stored_weight.ts";
import type { WeightReader } from "../../formats/weight_reader.ts";
import { type AdapterTensors, adapterTensors, headAdapter } from "./model_weights.ts";
import { checkLoraOptions } from "../adapters/lora.ts";
import { embeddingCopy, HEAD_COPY, modulePathOf } from "../adapters/modules_to_save.ts";
import { modelSizes } from "./model_sizes.ts";
import { loraOptions, type PeftAdapter } from "../adapters/peft_adapter.ts";
import type { ModelConfig } from "../../architectures/model_config.ts";

export function adapterNames(config: ModelConfig, tensors: AdapterTensors): string[] {
  return adapterTensors(config, tensors).filter(({ computed }) => !computed)
    .map(({ name }) => name);
}

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

// The copy of the base's head or embedding that PEFT stores beside an adapter on it. When PEFT
// loads the adapter, the copy replaces the base's matrix. It is the same unless that was changed
// before or during training, so here it is only compared.

/** The copy may have been rounded to halves, so it may differ by this part of each value. */
const ROUNDING = 2 ** -8;
const PART = 2 ** 22;

/** Compares copies with the base's head and embedding, unless it is in blocks. @throws RgxError */
export async function checkHeadCopy(
  adapter: PeftAdapter,
  config: ModelConfig,
  base: { files: WeightReader; path: string },
): Promise<void> {
  const name = embeddingName(config), peft = peftPath(config, modulePathOf(name));
  await checkCopy(adapter, config, base, HEAD_COPY, [headName(config), LM_HEAD]);
  await checkCopy(adapter, config, base, embeddingCopy(peft), [name, LM_HEAD]);
}

async function checkCopy(
  { weights }: PeftAdapter,
  config: ModelConfig,
  { files, path }: { files: WeightReader; path: string },
  copyName: string,
  names: readonly [string, string],
): Promise<void> {
  const shape = [config.vocabSize, config.hiddenSize], copy = weights.tensors.get(copyName);
  if (copy === undefined || String(copy.shape) !== String(shape)) return;
  const type = names.map((name) => files.typeOf(name)).find((type) => type !== null);
  if (type != null && isBlockType(type)) return;
  const base = await files.values(names[0]!, shape) ?? await files.values(names[1]!, shape);
  if (base === null) return;
  for (let from = 0; from < base.length; from += PART) {
    const count = Math.min(PART, base.length - from);
    const values = await weights.float32(copyName, from, count);
    for (let i = 0; i < count; i++) {
      const expected = base[from + i]!, found = values[i]!;
      if (Math.abs(found - expected) <= ROUNDING * Math.abs(expected) + 1e-7) continue;
      const place = `[${Math.floor((from + i) / shape[1]!)}, ${(from + i) % shape[1]!}]`;
      const [article, what] = copyName === HEAD_COPY ? ["a", "head"] : ["an", "embedding"];
      throw new RgxError(
        `${weights.label}: the adapter has ${article} ${what} of its own: ${copyName} has ` +
          `${found} at ${place}, the ${what} of ${path} has ${expected}`,
        {
          advice: "Use the base that it was trained on, or merge it with PEFT (merge_and_unload).",
        },
      );
    }
  }
}

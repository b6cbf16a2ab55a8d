/**
 * The copy of the base's head or embedding that PEFT stores beside an adapter on it. When PEFT
 * loads the adapter, the copy replaces the base's matrix. It is the same unless that was changed
 * before or during training, so here it is only compared.
 */
import { RgxError } from "../../../core/errors.ts";
import { embeddingName, headName, LM_HEAD, peftPath } from "../../architectures/mod.ts";
import type { ModelConfig } from "../../architectures/model_config.ts";
import { isBlockType } from "../../formats/stored_weight.ts";
import type { WeightReader } from "../../formats/weight_reader.ts";
import { embeddingCopy, HEAD_COPY, modulePathOf } from "./modules_to_save.ts";
import type { PeftAdapter } from "./peft_adapter.ts";

/** The copy may have been rounded to halves, so it may differ by this part of each value. */
const ROUNDING = 2 ** -8;
/** Elements that are compared at a time. */
const PART = 2 ** 22;

/**
 * Compares the copies, where there are any, with the base's head and embedding. A base in blocks of
 * few bits is not compared: its values are rounded.
 * @throws RgxError when they differ
 */
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

/**
 * PEFT's `modules_to_save`: modules that are trained in full and stored with the low-rank adapters.
 * The adapter has its own copy of each, and the base's module stays unchanged, so that the model
 * without the adapter is the base. A head that is tied to the embedding gets its own copy, too, and
 * is not tied while the adapter is on. The biases that `bias` names are stored the same way.
 */
import { UsageError } from "../../../core/errors.ts";
import { nearest } from "../../../core/suggest.ts";
import { embeddingName, LM_HEAD, peftPath } from "../../architectures/mod.ts";
import type { LoraOptions } from "./lora.ts";
import type { ModelConfig } from "../../architectures/model_config.ts";

/** PEFT's prefix of all tensor names in an adapter. */
export const PEFT_PREFIX = "base_model.model.";

/** PEFT's name of the copy of the head that it stores beside an adapter on the head. */
export const HEAD_COPY = `${PEFT_PREFIX}lm_head.base_layer.weight`;

/** The same of the embedding at `peftPath`. */
export function embeddingCopy(peftPath: string): string {
  return `${PEFT_PREFIX}${peftPath}.base_layer.weight`;
}

/** A tensor's name without the last part: "lm_head" for "lm_head.weight". */
export function modulePathOf(tensor: string): string {
  return tensor.replace(/\.(?:weight|bias)$/, "");
}

/** A tensor that the adapter has a full copy of. */
export interface SavedTensor {
  /** The tensor of the base that gives the initial values. */
  base: string;
  /** The tensor that the copy replaces: the base's, or the head's where that is tied. */
  replaces: string;
  name: string;
  shape: readonly number[];
  decay: boolean;
}

interface BaseTensor {
  name: string;
  shape: readonly number[];
  decay: boolean;
}

/** The biases that `bias` trains, but for those of `saved`. @param adapted paths with an adapter */
export function savedBiases(
  config: ModelConfig,
  bias: LoraOptions["bias"],
  adapted: ReadonlySet<string>,
  tensors: readonly BaseTensor[],
  saved: readonly SavedTensor[],
): SavedTensor[] {
  const others = new Set(saved.map(({ replaces }) => replaces));
  const wanted = tensors.filter(({ name }) =>
    name.endsWith(".bias") && !others.has(name) &&
    (bias === "all" || bias === "lora_only" && adapted.has(modulePathOf(name)))
  );
  return wanted.map(({ name, shape, decay }) => {
    const path = modulePathOf(name), own = adapted.has(path) ? ".base_layer" : "";
    const peft = `${PEFT_PREFIX}${peftPath(config, path)}${own}.bias`;
    return { base: name, replaces: name, name: peft, shape, decay };
  });
}

/** Whether the path of a module, or of one that contains it, ends with one of the names. */
export function isSavedModule(path: string, modules: readonly string[]): boolean {
  return modules.some((name) => outermost(path, name) !== null);
}

/** The shortest leading part of a path that ends with the name. */
function outermost(path: string, name: string): string | null {
  const parts = path.split(".");
  for (let n = 1; n <= parts.length; n++) {
    const part = parts.slice(0, n).join(".");
    if (part.endsWith(name)) return part;
  }
  return null;
}

/** @param tensors of the base model. @throws UsageError for a name that no path ends with */
export function savedTensors(
  config: ModelConfig,
  modules: readonly string[],
  tensors: readonly BaseTensor[],
): SavedTensor[] {
  if (modules.length === 0) return [];
  const places = tensors.map((tensor) => ({ ...tensor, base: tensor.name }));
  if (config.tieWordEmbeddings) {
    const embedding = places.find(({ name }) => name === embeddingName(config))!;
    places.push({ ...embedding, name: LM_HEAD });
  }
  for (const name of modules) {
    if (places.some((tensor) => isSavedModule(modulePathOf(tensor.name), [name]))) continue;
    const known = new Set(places.map((tensor) => modulePathOf(tensor.name).split(".").at(-1)!));
    const guess = nearest(name, [...known]);
    throw new UsageError(
      `modules_to_save: "${name}" is no module of this model`,
      {
        advice: guess === null
          ? `modules are ${[...known].join(", ")}`
          : `did you mean "${guess}"?`,
      },
    );
  }
  return places
    .filter(({ name }) => isSavedModule(modulePathOf(name), modules))
    .map(({ name, base, shape, decay }) => ({
      base,
      replaces: name,
      name: PEFT_PREFIX + peftPath(config, name),
      shape,
      decay,
    }));
}

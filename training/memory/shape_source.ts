/**
 * The sizes of a model whose weights are not on this machine: of a `config.json` alone, of the
 * configuration (`model.shape`), or of an embedded file.
 */
import {
  embeddedShapes,
  type ModelShape,
  plannedOnly,
  shapeOf,
} from "../../configs/model_shapes.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { UsageError } from "../../core/errors.ts";
import { didYouMean } from "../../core/suggest.ts";
import { readJsonObject } from "../../core/json_file.ts";
import { folderOf, isFile } from "../../core/paths.ts";
import { findModel, missing } from "../../hub/find_model.ts";
import { modelName } from "../../hub/repository.ts";
import { hasTokenizer } from "../../models/tokenizers/tokenizer.ts";

export interface ShapeSource {
  name: string;
  shape: ModelShape;
  /** Where the sizes are from, for messages. */
  where: string;
  /** A folder with the model's tokenizer; null = there is none here. */
  tokenizer: string | null;
}

/**
 * Returns null when the model's weights are on this machine, or are made from a seed.
 * @throws UsageError when neither the weights nor the sizes are known
 */
export async function shapeSource(model: RunConfig["model"]): Promise<ShapeSource | null> {
  const name = model.model_name_or_path;
  if (name === null) return null;
  const { path, lookedAt } = await findModel(name);
  if (path === null) {
    const shape = shapeOf(model), where = `model.shape of ${name}`;
    if (shape !== null) return { name, shape, where, tokenizer: null };
    const only = plannedOnly(), planned = only.get(modelName(name));
    if (planned !== undefined) return { name, shape: planned.shape, where, tokenizer: null };
    const { message, advice } = missing(name, lookedAt);
    const meant = didYouMean(name, [...embeddedShapes().keys(), ...only.keys()]);
    throw new UsageError(message + meant, {
      advice: `${advice} For a plan (--dry-run), the model's config.json alone is enough: give ` +
        "its path, or write its keys to model.shape.",
    });
  }
  const isConfig = path.endsWith(".json") && await isFile(path);
  if (!isConfig && await hasWeights(path)) return null;
  const file = isConfig ? path : `${path}/config.json`;
  const shape = await readJsonObject(file);
  // Neither weights nor sizes: opening the model says what is wrong with the folder.
  if (shape === null) return null;
  const folder = folderOf(file);
  const tokenizer = await hasTokenizer(folder) ? folder : null;
  return { name, shape, where: file, tokenizer };
}

/** Names of files with weights, of indices that list such files, and of adapters. */
const WEIGHTS = /\.(?:safetensors|bin|gguf|pth?|h5)$|\.index\.json$|^adapter_config\.json$/;

/** Whether a path is a file (a GGUF file), or a folder with weights or an adapter. */
export async function hasWeights(path: string): Promise<boolean> {
  if (await isFile(path)) return true;
  for await (const { name } of Deno.readDir(path)) if (WEIGHTS.test(name)) return true;
  return false;
}

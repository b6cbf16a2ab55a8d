/**
 * Exports a checkpoint's adapter as a folder for PEFT, transformers and vLLM. The training state is
 * left out. The path of a base on this machine becomes absolute, since PEFT resolves relative paths
 * from the working directory.
 */
import { UsageError } from "../../core/errors.ts";
import { exists } from "../../core/paths.ts";
import {
  ADAPTER_CONFIG,
  ADAPTER_WEIGHTS,
  INITIAL_ADAPTER,
  isAdapterFolder,
  readPeftAdapter,
  writePeftConfig,
} from "../network/adapters/peft_adapter.ts";
import { readModelFolder } from "../model_folder.ts";
import type { SafetensorsDType } from "../formats/safetensors/dtypes.ts";
import { TOKENIZER_FILES } from "../tokenizers/tokenizer.ts";
import { writeSafetensors } from "../formats/tensor_stream.ts";
import { encodePieces, FLOAT_TYPES, type FloatType } from "../formats/weight_encoding.ts";

/**
 * Fills the empty folder `target`.
 * @param dtype null = the stored type
 * @returns what users of the adapter should know
 * @throws UsageError when `folder` holds no adapter, or one that is not supported
 */
export async function writeAdapterFolder(
  folder: string,
  dtype: FloatType | null,
  target: string,
): Promise<string[]> {
  await requireAdapterFolder(folder);
  const { config, weights } = await readPeftAdapter(folder);
  const local = await localPath(folder, config.baseModel);
  await Deno.writeTextFile(
    `${target}/${ADAPTER_CONFIG}`,
    writePeftConfig({ ...config, baseModel: local ?? config.baseModel }),
  );
  const tensors = [...weights.tensors.values()].map(({ name, dtype: stored, shape }) => {
    const type: SafetensorsDType = dtype === null ? stored : FLOAT_TYPES[dtype].dtype;
    const bytes = async function* () {
      if (dtype === null) yield await weights.bytes(name);
      else yield* encodePieces(dtype, { name, shape }, await weights.float32(name));
    };
    return { name, dtype: type, shape, bytes };
  });
  await writeSafetensors(`${target}/${ADAPTER_WEIGHTS}`, tensors);
  for (const name of [...TOKENIZER_FILES, INITIAL_ADAPTER, "README.md"]) {
    await copyIfThere(`${folder}/${name}`, `${target}/${name}`);
  }
  const notes: string[] = [];
  if (config.modulesToSave !== undefined) {
    notes.push("vLLM takes no adapter with modules_to_save: for it, merge with --to hf");
  }
  const { useDora, loraBias, bias, init } = config;
  if (useDora || loraBias || bias !== undefined || init !== undefined) {
    notes.push("vLLM takes no DoRA, biases, PiSSA or OLoRA: for it, merge with --to hf");
  }
  if (config.baseModel === null) notes.push("the adapter names no base model");
  if (local?.endsWith(".gguf")) {
    notes.push(`PEFT does not read the base ${local}: make a folder of it with rgx convert`);
  }
  return notes;
}

/** @throws UsageError for a folder without an adapter */
export async function requireAdapterFolder(folder: string): Promise<void> {
  if (!await isAdapterFolder(folder)) {
    // Throws a clearer error for a folder that is no model at all.
    await readModelFolder(folder);
    throw new UsageError(`${folder}: no adapter to export: looked for ${ADAPTER_CONFIG}`, {
      advice: "A full model is exported to hf or to gguf.",
    });
  }
}

/**
 * The absolute path of a base that is a file or folder on this machine; null for a name on the Hub.
 */
async function localPath(folder: string, name: string | null): Promise<string | null> {
  if (name === null || name === "") return null;
  for (const candidate of name.startsWith("/") ? [name] : [`${folder}/${name}`, name]) {
    if (await exists(candidate)) return await Deno.realPath(candidate);
  }
  return null;
}

export async function copyIfThere(from: string, to: string): Promise<void> {
  try {
    await Deno.copyFile(from, to);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

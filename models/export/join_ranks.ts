/**
 * Puts a checkpoint of verl's FSDP processes together: one safetensors file, with the configuration
 * and the tokenizer that verl saves beside the parts.
 */
import { produceFolderAtomic } from "../../core/atomic_file.ts";
import { UsageError } from "../../core/errors.ts";
import { readJsonObject } from "../../core/json_file.ts";
import { isFile } from "../../core/paths.ts";
import { writeSafetensors } from "../formats/tensor_stream.ts";
import { openRankFiles, type RankFiles } from "../formats/torch/rank_files.ts";
import type { Exported } from "./export.ts";
import { copyIfThere } from "./export_adapter.ts";
import { checkOutputPlace, type OutputRules } from "./output_place.ts";

/** The types of weights as a config.json names them. */
const TYPE_NAMES: Readonly<Record<string, string>> = {
  F32: "float32",
  F16: "float16",
  BF16: "bfloat16",
};

/**
 * @param otherFiles names of the files that a model has besides its weights
 * @throws UsageError when there is no configuration, or the output exists; RgxError when the parts
 *   are damaged or do not belong together (no incomplete output remains)
 */
export async function joinRanks(
  ranks: RankFiles,
  output: string,
  rules: OutputRules,
  otherFiles: readonly string[],
): Promise<Exported> {
  await checkOutputPlace(output, "folder", rules);
  const source = await textFolder(ranks.folder);
  const joined = await openRankFiles(ranks);
  const tensors = joined.tensors.map((entry) => ({
    ...entry,
    bytes: async function* () {
      rules.signal?.throwIfAborted();
      yield await joined.bytes(entry.name);
    },
  }));
  await produceFolderAtomic(output, async (folder) => {
    await writeSafetensors(`${folder}/model.safetensors`, tensors);
    for (const name of otherFiles) await copyIfThere(`${source}/${name}`, `${folder}/${name}`);
  });
  const { size } = await Deno.stat(`${output}/model.safetensors`);
  const notes = [`put together from the parts of ${ranks.paths.length} FSDP processes`];
  const config = await readJsonObject(`${source}/config.json`);
  const said = config?.["dtype"] ?? config?.["torch_dtype"];
  const stored = new Set(joined.tensors.map(({ dtype }) => TYPE_NAMES[dtype] ?? dtype));
  if (typeof said === "string" && !stored.has(said)) {
    notes.push(`config.json says ${said}, the weights are ${[...stored].join(" and ")} as saved`);
  }
  return { path: output, dtype: null, bytes: size, notes };
}

/** The folder with the model's configuration: verl's `huggingface`, or that of the parts. */
async function textFolder(folder: string): Promise<string> {
  for (const candidate of [`${folder}/huggingface`, folder]) {
    if (await isFile(`${candidate}/config.json`)) return candidate;
  }
  throw new UsageError(`${folder}: no configuration: looked for huggingface/config.json`, {
    advice: "Copy config.json and the tokenizer of the base model into the folder " +
      `${folder}/huggingface.`,
  });
}

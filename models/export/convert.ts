/**
 * Converts a model to a Hugging Face folder with one safetensors file: from a GGUF file, from
 * shards, from PyTorch's pickles, or from the parts of verl's FSDP processes. Shards of safetensors
 * and such parts are copied byte for byte, whatever their architecture. Everything else is read as
 * a model and keeps its types; quantised weights become f32, which represents them exactly.
 */
import { UsageError } from "../../core/errors.ts";
import { isFile } from "../../core/paths.ts";
import { type Exported, type ExportOptions, writeHfFolder } from "./export.ts";
import { copyIfThere } from "./export_adapter.ts";
import {
  findRankFiles,
  type JoinedTensors,
  openRankFiles,
  type RankFiles,
} from "../formats/torch/rank_files.ts";
import { requireModel } from "../../hub/find_model.ts";
import { isVerlFolder } from "../../hub/verl_folder.ts";
import { readModelFolder } from "../model_folder.ts";
import { checkOutputPlace, type OutputRules, writeModelFolder } from "./output_place.ts";
import { isAdapterFolder } from "../network/adapters/peft_adapter.ts";
import { writeSafetensors } from "../formats/tensor_stream.ts";
import { FLOAT_TYPES } from "../formats/weight_encoding.ts";
import { TOKENIZER_FILES } from "../tokenizers/tokenizer.ts";
import { VOCABULARY_FILES } from "../tokenizers/vocab_merges.ts";
import { openShards, SAFETENSORS } from "../formats/weight_files.ts";
import { readJsonObject } from "../../core/json_file.ts";

/** Files of a folder besides its weights. */
const OTHER_FILES = [
  "config.json",
  "generation_config.json",
  ...TOKENIZER_FILES,
  ...VOCABULARY_FILES,
  "tokenizer.model",
  "README.md",
  "LICENSE",
];

/**
 * Writes a model (a GGUF file, shards) as one Hugging Face folder.
 * @throws UsageError when there is nothing to convert or the output exists already; RgxError when a
 *   file is damaged, or the disk is full (no incomplete output remains)
 */
export async function convertModel(
  name: string,
  options: Pick<ExportOptions, "output" | "force" | "signal">,
): Promise<Exported> {
  const output = options.output.replace(/(.)\/+$/, "$1");
  if (output.endsWith(".gguf")) {
    throw new UsageError(`${output}: convert writes Hugging Face folders`, {
      advice: `A GGUF file is written by: rgx export ${name} --to gguf --output ${output}`,
    });
  }
  const source = await requireModel(name);
  const { force = false, signal } = options, rules = { force, sources: [source], signal };
  const ranks = await findRankFiles(source);
  if (ranks !== null) return await joinRanks(ranks, output, rules);
  const has = (file: string) => isFile(`${source}/${file}`);
  if (await isAdapterFolder(source)) {
    throw new UsageError(`${source}: it is an adapter, not a whole model`, {
      advice: "rgx export … --to hf merges it into its base model.",
    });
  }
  if (await has(SAFETENSORS.single)) {
    if (await isVerlFolder(name)) return await copyModel(source, output, rules);
    throw new UsageError(`${source}: it has one ${SAFETENSORS.single} already`, {
      advice:
        "It can be used as it is. Another type of weights, or a GGUF file, is written by rgx export.",
    });
  }
  if (await has(SAFETENSORS.index)) return await joinShards(source, output, rules);
  return await writeHfFolder(await readModelFolder(source), output, null, rules);
}

/** Who converts a checkpoint of verl goes on with the new folder, whatever verl saved. */
async function copyModel(source: string, output: string, rules: OutputRules): Promise<Exported> {
  await checkOutputPlace(output, "folder", rules);
  const bytes = await writeModelFolder(output, async (folder) => {
    for (const name of [SAFETENSORS.single, ...OTHER_FILES]) {
      rules.signal?.throwIfAborted();
      await copyIfThere(`${source}/${name}`, `${folder}/${name}`);
    }
  });
  return { path: output, dtype: null, bytes, notes: [`a copy: ${source} is one file already`] };
}

async function joinShards(source: string, output: string, rules: OutputRules): Promise<Exported> {
  await checkOutputPlace(output, "folder", rules);
  const bytes = await writeModelFolder(output, async (folder) => {
    const files = await openShards(source, SAFETENSORS);
    const tensors = [...files].map(([name, file]) => file.info(name));
    const joined = { tensors, bytes: (name: string) => files.get(name)!.bytes(name) };
    await writeJoined(joined, source, folder, rules);
  });
  return { path: output, dtype: null, bytes, notes: [] };
}

/** Fills a folder with the tensors as one file, and with the other files of a model. */
async function writeJoined(
  { tensors, bytes }: JoinedTensors,
  source: string,
  folder: string,
  { signal }: OutputRules,
): Promise<void> {
  const streamed = tensors.map((entry) => ({
    ...entry,
    bytes: async function* () {
      signal?.throwIfAborted();
      yield await bytes(entry.name);
    },
  }));
  await writeSafetensors(`${folder}/${SAFETENSORS.single}`, streamed);
  for (const name of OTHER_FILES) await copyIfThere(`${source}/${name}`, `${folder}/${name}`);
}

// Puts a checkpoint of verl's FSDP processes together: one safetensors file, with the configuration
// and the tokenizer that verl saves beside the parts.

/**
 * @throws UsageError when there is no configuration, or the output exists; RgxError when the parts
 *   are damaged or do not belong together (no incomplete output remains)
 */
async function joinRanks(ranks: RankFiles, output: string, rules: OutputRules): Promise<Exported> {
  await checkOutputPlace(output, "folder", rules);
  const source = await textFolder(ranks.folder), joined = await openRankFiles(ranks);
  const write = (folder: string) => writeJoined(joined, source, folder, rules);
  const bytes = await writeModelFolder(output, write);
  const notes = [`put together from the parts of ${ranks.paths.length} FSDP processes`];
  const config = await readJsonObject(`${source}/config.json`);
  const said = config?.["dtype"] ?? config?.["torch_dtype"];
  const stored = new Set(joined.tensors.map(({ dtype }) => nameOf(dtype)));
  if (typeof said === "string" && !stored.has(said)) {
    notes.push(`config.json says ${said}, the weights are ${[...stored].join(" and ")} as saved`);
  }
  return { path: output, dtype: null, bytes, notes };
}

/** An element type as a config.json names it. */
function nameOf(dtype: string): string {
  return Object.values(FLOAT_TYPES).find((type) => type.dtype === dtype)?.name ?? dtype;
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

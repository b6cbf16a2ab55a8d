/**
 * Reads a model on disk in the layout of Hugging Face: configuration, weights, tokenizer, end
 * tokens. A folder with only an adapter counts as a model: its base is looked for where
 * `adapter_config.json` says. A GGUF file counts as a model, too.
 */
import { dirname } from "node:path";
import { EXIT, RgxError, UsageError } from "../core/errors.ts";
import { exists, isFile } from "../core/paths.ts";
import { fetchAdvice, findModel, requireModel } from "../hub/find_model.ts";
import { withRevision } from "../hub/repository.ts";
import { type HfConfig, readHfConfig, readTokenIds } from "./architectures/hf_config.ts";
import { readJsonObject } from "../core/json_file.ts";
import { embeddingName } from "./architectures/mod.ts";
import type { ModelConfig } from "./architectures/model_config.ts";
import { checkHeadCopy } from "./network/weights/adapter_fit.ts";
import { isGgufAdapter, readGgufAdapter } from "./network/weights/gguf_adapter.ts";
import {
  isAdapterFolder,
  type PeftAdapter,
  readPeftAdapter,
} from "./network/adapters/peft_adapter.ts";
import { hasTokenizer, loadTokenizer, tokenizerFromFiles } from "./tokenizers/tokenizer.ts";
import type { Tokenizer } from "./tokenizers/types.ts";
import type { WeightReader } from "./formats/weight_reader.ts";
import { holdsRankFiles, isRankFile } from "./formats/torch/rank_files.ts";
import { openWeightFiles } from "./formats/weight_files.ts";
import { ggufConfig } from "./formats/gguf/gguf_config.ts";
import { ggufWeights } from "./formats/gguf/gguf_weights.ts";
import { ggufRopeScaling } from "./formats/gguf/rope_scaling.ts";
import { ggufTokenizer } from "./formats/gguf/gguf_tokenizer.ts";
import { readGguf } from "./formats/gguf/gguf.ts";

export interface ModelFolder {
  /** Folder of the configuration and weights (of the base), or the GGUF file. */
  path: string;
  config: ModelConfig;
  /** The weights by their full Hugging Face name. */
  files: WeightReader;
  /** Null when neither the folder nor the adapter's base has one. */
  tokenizer: Tokenizer | null;
  /** Ids that end a generation, by generation_config.json or config.json and the tokenizer. */
  generationEosIds: number[];
  bosId: number | null;
  padId: number | null;
  adapter: PeftAdapter | null;
}

/** Opens a model by path or name on the Hub. @param adapter put on it. @throws RgxError */
export async function readModelFolder(
  name: string,
  adapter: string | null = null,
): Promise<ModelFolder> {
  if (adapter !== null) return await readAdapterModel(await requireAdapter(adapter), name);
  const path = await requireModel(name);
  try {
    return await readModelAt(path);
  } catch (error) {
    throw path === name ? error : maybeIncomplete(error, name);
  }
}

/** The folder of an adapter. @throws UsageError that says where it was looked for */
async function requireAdapter(name: string): Promise<string> {
  const { path, lookedAt } = await findModel(name);
  if (path !== null) return path;
  const places = lookedAt.length === 1
    ? ""
    : `, nor a copy from the Hub: looked for ${lookedAt.join(" and for ")}`;
  throw new UsageError(`${name}: no such folder of an adapter${places}`, {
    advice:
      `${
        lookedAt.length === 1 ? "" : fetchAdvice(name) ?? ""
      }Give the path of a folder with adapter_config.json and adapter_model.safetensors, or of a ` +
      "GGUF file.",
  });
}

/** Adds to an error about a model in the Hub's cache that its download may be incomplete. */
function maybeIncomplete(error: unknown, name: string): unknown {
  if (!(error instanceof RgxError)) return error;
  const { message, advice, exitCode } = error;
  const more = `${advice === undefined ? "" : `${advice} `}Is its download complete? ${
    fetchAdvice(name) ?? ""
  }`.trimEnd();
  return exitCode === EXIT.usage
    ? new UsageError(message, { advice: more, cause: error })
    : new RgxError(message, { advice: more, exitCode, cause: error });
}

async function readModelAt(path: string): Promise<ModelFolder> {
  if (path.endsWith(".gguf") && await isFile(path)) return await readGgufFile(path);
  await requireFolder(path);
  if (await isAdapterFolder(path)) return await readAdapterModel(path, null);
  const configJson = await readJsonObject(`${path}/config.json`);
  if (configJson === null) throw await noModel(path);
  const hf = readHfConfig(configJson, `${path}/config.json`);
  const { tieWordEmbeddings: tied, wrapped } = hf.modelConfig;
  const files = await openWeightFiles(path, tied, wrapped);
  files.checkLayers(hf.modelConfig);
  const tieWordEmbeddings = await files.sharesHead(embeddingName(hf.modelConfig));
  const config = { ...hf.modelConfig, tieWordEmbeddings };
  const tokenizer = await hasTokenizer(path) ? await loadTokenizer(path) : null;
  checkVocabulary(path, tokenizer, config);
  return {
    path,
    config,
    files,
    tokenizer,
    generationEosIds: await generationEosIds(path, hf, tokenizer),
    bosId: hf.bosId,
    padId: tokenizer?.padId ?? hf.padId,
    adapter: null,
  };
}

/** @throws UsageError for what is not supported, RgxError when the file is damaged */
async function readGgufFile(path: string): Promise<ModelFolder> {
  const file = await readGguf(path);
  if (isGgufAdapter(file)) {
    throw new UsageError(`${path}: it is an adapter, which does not name its base`, {
      advice: `Name both, as in rgx generate --model BASE --adapter ${path}. A command ` +
        "without --adapter needs the folder in PEFT's format, which names its base.",
    });
  }
  const tokens = ggufTokenizer(file);
  const ids = tokens ?? { bosId: null, eosIds: [], padId: null };
  const { modelConfig: config, eosIds, ...others } = readHfConfig(
    ggufConfig(file, ids, await ggufRopeScaling(file)),
    path,
  );
  const tokenizer = tokens === null ? null : tokenizerFromFiles(tokens.files, path);
  checkVocabulary(path, tokenizer, config);
  const files = ggufWeights(file, config);
  return {
    path,
    config,
    files,
    tokenizer,
    generationEosIds: eosIds,
    ...others,
    adapter: null,
  };
}

function checkVocabulary(path: string, tokenizer: Tokenizer | null, config: ModelConfig): void {
  if (tokenizer === null || tokenizer.vocabSize <= config.vocabSize) return;
  throw new RgxError(
    `${path}: the tokenizer has ${tokenizer.vocabSize} ids, ` +
      `the model's vocab_size is ${config.vocabSize}`,
    { advice: "The tokenizer and the model's configuration belong to different models." },
  );
}

const isGgufFile = (path: string) => path.endsWith(".gguf");

/** An adapter in a folder of PEFT or a GGUF file. @throws RgxError for another base */
export async function readAdapter(
  path: string,
  base: Pick<ModelFolder, "config" | "files" | "path">,
): Promise<PeftAdapter> {
  if (isGgufFile(path)) return await readGgufAdapter(await readGguf(path), base.config);
  const adapter = await readPeftAdapter(path);
  await checkHeadCopy(adapter, base.config, base);
  return adapter;
}

/** @param named the base; null = the one that the adapter's file names */
async function readAdapterModel(folder: string, named: string | null): Promise<ModelFolder> {
  const base = await readModelFolder(named ?? await findBase(folder));
  if (base.adapter !== null) {
    throw new UsageError(`${folder}: its base model ${base.path} is an adapter itself`, {
      advice: "Merge the inner adapter into its base model first.",
    });
  }
  const adapter = await readAdapter(folder, base);
  // Training may have changed the tokenizer: the adapter's own has priority.
  if (isGgufFile(folder) || !await hasTokenizer(folder)) return { ...base, adapter };
  const tokenizer = await loadTokenizer(folder);
  const ids = new Set(base.generationEosIds);
  if (tokenizer.eosId !== null) ids.add(tokenizer.eosId);
  return {
    ...base,
    adapter,
    tokenizer,
    generationEosIds: [...ids],
    padId: tokenizer.padId ?? base.padId,
  };
}

/**
 * The name of a base may be relative to the adapter's folder, to the folder where its run was
 * started, or to the working directory; absolute; or a name on the Hub.
 */
async function findBase(folder: string): Promise<string> {
  const { baseModel: name, revision } = (await readPeftAdapter(folder)).config;
  if (name === null || name === "") {
    throw new UsageError(`${folder}: adapter_config.json names no base_model_name_or_path`);
  }
  const places = name.startsWith("/") ? [] : [folder, ...await startOfRun(folder)];
  const candidates = places.map((place) => `${place}/${name}`);
  for (const candidate of candidates) if (await exists(candidate)) return candidate;
  const wanted = await exists(name) ? name : withRevision(name, revision);
  const { path, lookedAt } = await findModel(wanted);
  if (path !== null) return path;
  const looked = [...new Set([...candidates, ...lookedAt])], fetch = fetchAdvice(wanted);
  throw new UsageError(
    `${folder}: the adapter's base model "${name}" is not there: looked for ` +
      looked.join(" and "),
    {
      advice: fetch === null
        ? "Correct base_model_name_or_path in adapter_config.json."
        : `${fetch}Or correct base_model_name_or_path in adapter_config.json.`,
    },
  );
}

/** The folder where the run of an adapter was started; its checkpoints are in the run's folder. */
async function startOfRun(folder: string): Promise<string[]> {
  for (const place of [folder, dirname(folder)]) {
    const run = await readJsonObject(`${place}/run.json`).catch(() => null);
    const start = run?.["working_directory"];
    if (typeof start === "string") return [start];
  }
  return [];
}

async function generationEosIds(
  path: string,
  hf: HfConfig,
  tokenizer: Tokenizer | null,
): Promise<number[]> {
  const file = `${path}/generation_config.json`;
  const json = await readJsonObject(file);
  const named = json === null ? [] : readTokenIds(json, "eos_token_id", file);
  const ids = new Set(named.length > 0 ? named : hf.eosIds);
  if (tokenizer !== null && tokenizer.eosId !== null) ids.add(tokenizer.eosId);
  return [...ids];
}

async function requireFolder(path: string): Promise<void> {
  if ((await Deno.stat(path)).isDirectory) return;
  if (isRankFile(path)) throw fsdpParts(path);
  throw new UsageError(`${path}: it is a file, expected a model folder`, {
    advice: "Name the folder that the file is in, or a file whose name ends with .gguf.",
  });
}

function fsdpParts(path: string): UsageError {
  return new UsageError(`${path}: it is a part of a model, as the processes of FSDP save it`, {
    advice: `Put the parts together: rgx convert ${path} --output FOLDER`,
  });
}

async function noModel(path: string): Promise<UsageError> {
  for await (const { name } of Deno.readDir(path)) {
    if (name.endsWith(".gguf")) {
      return new UsageError(`${path}: not a model folder, but it holds a GGUF file`, {
        advice: `Name the file: ${path}/${name}`,
      });
    }
  }
  if (await holdsRankFiles(path)) return fsdpParts(path);
  if (await isFile(`${path}/run.json`)) {
    return new UsageError(`${path}: the run has no checkpoint yet`, {
      advice: `rgx train ${path}/config.yaml --resume goes on with it.`,
    });
  }
  return new UsageError(
    `${path}: not a model folder: looked for config.json and adapter_config.json`,
    { advice: "Give the folder that holds config.json, model.safetensors and tokenizer.json." },
  );
}

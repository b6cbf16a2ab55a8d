/**
 * Finds a model on this machine: by its path, or by its name on the Hugging Face Hub when its files
 * are in the local cache (hub/cache.ts). Nothing is downloaded.
 */
import { existsSync } from "node:fs";
import { UsageError } from "../core/errors.ts";
import { exists, isAbsent } from "../core/paths.ts";
import { fileSize, findSnapshot, placeWithout } from "./cache.ts";
import { whyUnsafe } from "./file_names.ts";
import { type Named, parseNamed, pullCommand } from "./repository.ts";
import { type Environment, hubCache } from "./settings.ts";
import { modelInVerlFolder } from "./verl_folder.ts";

export interface FoundModel {
  /** A folder or file that exists, or null. */
  path: string | null;
  /** The name is a run without a final model, and the path its newest checkpoint. */
  isCheckpointOfRun?: true;
  /** The paths that were tried; where a revision is missing, also those that are here. */
  lookedAt: string[];
}

/**
 * Looks for an existing path first and then in the cache: `ORG/NAME`, `NAME@REVISION`,
 * `hf://ORG/NAME/FILE.gguf`. When the only model in a snapshot is one GGUF file, the result is that
 * file. A run that was stopped stands for its newest checkpoint, a checkpoint of verl for the model
 * in it.
 * @param env environment variables; default those of the process
 */
export async function findModel(
  name: string,
  env: Environment = (key) => Deno.env.get(key),
): Promise<FoundModel> {
  const lookedAt = [name];
  if (await exists(name)) {
    const checkpoint = await newestCheckpoint(name);
    return checkpoint === null
      ? { path: await modelInVerlFolder(name) ?? name, lookedAt }
      : { path: checkpoint, lookedAt, isCheckpointOfRun: true };
  }
  const named = parseNamed(name, "model"), cache = hubCache(env);
  if (named === null || named.repository.kind !== "model" || cache === null) {
    return { path: null, lookedAt };
  }
  const { repository, revision, path } = named;
  const snapshot = await findSnapshot(cache, repository, revision);
  if (snapshot === null && isFileName(name)) return { path: null, lookedAt };
  if (snapshot === null) {
    return { path: null, lookedAt: [name, await placeWithout(cache, repository, revision)] };
  }
  const folder = snapshot.path;
  const place = path === null ? folder : `${folder}/${path}`;
  lookedAt.push(place);
  if (path !== null && (whyUnsafe(path) !== null || !await exists(place))) {
    return { path: null, lookedAt };
  }
  return { path: path === null ? await onlyGguf(folder) ?? folder : place, lookedAt };
}

export function checkpointNotes(name: string, { path, isCheckpointOfRun }: FoundModel): string[] {
  return isCheckpointOfRun ? [`${name} has no final model yet: ${path} is used`] : [];
}

/** Splits a model's name and revision, but no paths and no addresses of a repository's files. */
export function nameAndRevision(text: string): { name: string; revision: string | null } {
  const named = existsSync(text) ? null : parseNamed(text, "model");
  return named === null || named.path !== null
    ? { name: text, revision: null }
    : { name: named.repository.name, revision: named.revision };
}

/** Whether a name looks like a file's rather than a model's on the Hub. */
function isFileName(name: string): boolean {
  return /\.(?:gguf|safetensors|bin)$/i.test(name) && !name.includes("://");
}

/** The only GGUF file of a folder that holds no other model, or null. */
async function onlyGguf(folder: string): Promise<string | null> {
  for (const name of ["config.json", "adapter_config.json"]) {
    if (await fileSize(`${folder}/${name}`) !== null) return null;
  }
  const found: string[] = [];
  for await (const { name } of Deno.readDir(folder)) if (name.endsWith(".gguf")) found.push(name);
  return found.length === 1 ? `${folder}/${found[0]}` : null;
}

/** The path of a model. @throws UsageError that says where it was looked for */
export async function requireModel(name: string): Promise<string> {
  const { path, lookedAt } = await findModel(name);
  if (path === null) throw missing(name, lookedAt);
  return path;
}

export function missing(name: string, lookedAt: readonly string[]): UsageError {
  const path =
    "Give the path of a folder with config.json, model.safetensors and tokenizer.json, " +
    "or of a GGUF file";
  if (lookedAt.length === 1) {
    return new UsageError(`${name}: no such model folder`, { advice: `${path}.` });
  }
  return new UsageError(
    `${name}: no such model folder, nor a copy from the Hub: looked for ${
      lookedAt.join(" and for ")
    }`,
    {
      advice: `${fetchAdvice(name) ?? ""}${path} (HF_HOME or HF_HUB_CACHE say where the cache is).`,
    },
  );
}

/**
 * How to get a model into the cache, as the first sentence of an advice. Null when the name is not
 * one on the Hub.
 */
export function fetchAdvice(name: string): string | null {
  const named = isFileName(name) ? null : parseNamed(name, "model");
  return named === null ? null : `If it is on the Hub: ${commandFor(named)} fetches it. `;
}

function commandFor({ repository, revision, path }: Named): string {
  return pullCommand(repository, revision) + (path === null ? "" : ` ${path}`);
}

// The newest checkpoint of a run without a final model, because the run goes on or was stopped.
// Before the first step of GRPO, this is a checkpoint of the warm start.

const MODEL_FILES = ["config.json", "adapter_config.json"];
/** Folders in a run that hold its checkpoints; the first that has any counts. */
const PLACES = ["", "/warm-start"];

/** Null for a folder that is a model itself, or holds no checkpoint, and for a file. */
async function newestCheckpoint(folder: string): Promise<string | null> {
  if (await isModel(folder)) return null;
  const run = folder.replace(/(.)\/+$/, "$1");
  for (const place of PLACES) {
    for (const step of await stepsIn(run + place)) {
      const path = `${run}${place}/checkpoint-${step}`;
      if (await isModel(path)) return path;
    }
  }
  return null;
}

async function isModel(folder: string): Promise<boolean> {
  for (const name of MODEL_FILES) if (await exists(`${folder}/${name}`)) return true;
  return false;
}

/** The steps of the checkpoints in a folder, newest first. */
async function stepsIn(folder: string): Promise<number[]> {
  const steps: number[] = [];
  try {
    for await (const { name } of Deno.readDir(folder)) {
      const match = /^checkpoint-(\d+)$/.exec(name);
      if (match !== null) steps.push(Number(match[1]));
    }
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
  return steps.sort((a, b) => b - a);
}

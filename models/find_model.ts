/**
 * Where a model is on this machine: a path, or a name of the Hugging Face Hub whose files are in the local
 * cache (`models--org--name/snapshots/…`, as huggingface_hub 1.x lays it out). Nothing is downloaded.
 */
import { UsageError } from "../core/errors.ts";

export interface FoundModel {
  /** A folder or file that exists, or null. */
  path: string | null;
  /** The places that were looked at, in order. */
  lookedAt: string[];
}

/** `org/name` or `name`, with `@revision` or without. */
const HUB_NAME = /^([\w-][\w.-]*(?:\/[\w-][\w.-]*)?)(?:@([\w.\/-]+))?$/;

type Environment = (name: string) => string | undefined;

/**
 * An existing path wins, then the cache.
 * @param env environment variables; default the process's
 */
export async function findModel(
  name: string,
  env: Environment = (key) => Deno.env.get(key),
): Promise<FoundModel> {
  const lookedAt = [name];
  if (await exists(name)) return { path: name, lookedAt };
  const match = HUB_NAME.exec(name), cache = hubCache(env);
  if (match === null || name.includes("..") || cache === null) return { path: null, lookedAt };
  const repository = `${cache}/models--${match[1]!.replace("/", "--")}`;
  const revision = match[2] ?? "main";
  const commit = await commitOf(repository, revision, match[2] === undefined);
  const snapshot = `${repository}/snapshots/${commit ?? revision}`;
  lookedAt.push(snapshot);
  return { path: commit !== null && await exists(snapshot) ? snapshot : null, lookedAt };
}

/** The path of a model. @throws UsageError that says where it was looked for */
export async function requireModel(name: string): Promise<string> {
  const { path, lookedAt } = await findModel(name);
  if (path === null) throw missing(name, lookedAt);
  return path;
}

/** What to say about a model that is at none of the places. */
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
      advice: `${path}, or copy the model's files from the Hub into the cache ` +
        "(HF_HOME or HF_HUB_CACHE say where it is).",
    },
  );
}

/** Folder of the cache; null where not even a home folder is known. */
function hubCache(env: Environment): string | null {
  for (const key of ["HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE"]) {
    const value = env(key);
    if (value) return value;
  }
  const home = env("HF_HOME");
  if (home) return `${home}/hub`;
  const user = env("HOME") ?? env("USERPROFILE");
  const cache = env("XDG_CACHE_HOME") || (user ? `${user}/.cache` : null);
  return cache === null ? null : `${cache}/huggingface/hub`;
}

/** The commit that a branch, tag or commit means; without a branch of that name the only snapshot, if `any`. */
async function commitOf(
  repository: string,
  revision: string,
  any: boolean,
): Promise<string | null> {
  if (/^[0-9a-f]{40}$/.test(revision)) return revision;
  try {
    return (await Deno.readTextFile(`${repository}/refs/${revision}`)).trim();
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
  if (!any) return null;
  const snapshots: string[] = [];
  try {
    for await (const entry of Deno.readDir(`${repository}/snapshots`)) snapshots.push(entry.name);
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
  return snapshots.length === 1 ? snapshots[0]! : null;
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory ||
    error instanceof Deno.errors.IsADirectory;
}

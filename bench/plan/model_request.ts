/** A model of a benchmark: where it is, and how it is asked. */
import type { DialogueKeys } from "../dialogue/dialogue.ts";
import type { StorageOptions } from "../../models/network/weights/weight_storage.ts";
import type { PromptRecord, Sampling } from "../results/result_file.ts";
import type { Untrained } from "./starting_model.ts";
import { sha256Hex } from "../../core/checksums.ts";
import { UsageError } from "../../core/errors.ts";

/** How a model is asked. */
export interface ModelSettings {
  prompt: PromptRecord;
  sampling: Sampling;
  /** Seed of the draws. */
  seed: number;
  /** Prompts are cut to this many tokens, as in the checkpoint's run; null = they are not cut. */
  keepPromptTokens: number | null;
  /**
   * Maximum number of completions that a model on this machine decodes together; absent: as many
   * as are fastest. No answer depends on it.
   */
  batchSize?: number;
  /** Environments and tools; absent: an answer is one turn. */
  dialogues?: DialogueKeys;
}

export interface ModelRequest {
  /** The name as the user gave it: its name in results and charts. */
  name: string;
  where: ModelPlace;
  settings: ModelSettings;
  /** Changes when the weights do. */
  fingerprint: string;
}

export type ModelPlace = LocalPlace | UntrainedPlace | RemotePlace;

/** A folder on this machine. */
export interface LocalPlace {
  kind: "local";
  path: string;
  /** The folder of the weights; for an adapter that of its base. */
  weights: string;
  /** The type in which weights are held, if it differs from the type of their file. */
  storage?: StorageOptions;
  /** The folder of the tokenizer, if it is not the model's folder. */
  tokenizer?: string;
}

/** A model that is made from a seed. */
export interface UntrainedPlace {
  kind: "untrained";
  made: Untrained;
}

/** A name on an OpenAI-compatible server. */
export interface RemotePlace {
  kind: "remote";
  model: string;
}

/** Equal for models that can share the weights on the device; null: the model shares with none. */
export function sharedWeights({ where }: Pick<ModelRequest, "where">): string | null {
  if (where.kind !== "local") return null;
  return `${where.weights} ${JSON.stringify(where.storage ?? {})}`;
}

// Tells, without reading the weights, whether stored answers are from the present model.

/** A hash of names, sizes and modification times of the files of a model and an adapter's base. */
export function fingerprintOf(
  { path, weights, tokenizer = path, storage }: LocalPlace,
): string {
  const lines = [...new Set([path, weights, tokenizer])].flatMap((place) => fileLines(place));
  return sha256Hex([...lines, ...(storage ? [JSON.stringify(storage)] : [])].join("\n"));
}

/**
 * The same without times, which differ where each machine has a copy of its own.
 * @throws UsageError when the model is not on this machine
 */
export function fileSizesOf({ path, weights, tokenizer = path }: LocalPlace): string {
  try {
    const lines = [...new Set([path, weights, tokenizer])]
      .flatMap((place) => fileLines(place, false));
    return sha256Hex(lines.join("\n"));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new UsageError(`${path}: ${Deno.hostname()} has no such model`, {
      advice: "All ranks need it, on a file system that their machines share or as copies.",
    });
  }
}

function fileLines(path: string, withTimes = true): string[] {
  const line = (name: string) => {
    const { size, mtime } = Deno.statSync(name);
    return `${name} ${size}${withTimes ? ` ${mtime?.getTime()}` : ""}`;
  };
  if (Deno.statSync(path).isFile) return [line(path)];
  // In a run's folder only the files of the model count.
  const names = [...Deno.readDirSync(path)].map(({ name }) => name).filter((name) =>
    /\.(safetensors|gguf|json|jinja|bin)$|^merges\.txt$/.test(name) &&
    !/^(run|trainer_state|rgx_state)\.json$/.test(name)
  ).sort();
  return [path, ...names.map((name) => line(`${path}/${name}`))];
}

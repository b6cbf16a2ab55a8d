/**
 * What a run or a benchmark needs and this machine lacks: models, tokenizers, data sets. A job
 * downloads nothing, so missing parts are reported before the job waits in a queue: all of them at
 * once, with the commands that fetch them.
 */
import { ConfigMistakes, type NamedParts } from "../../configs/load.ts";
import { UsageError } from "../../core/errors.ts";
import { readJsonObject } from "../../core/json_file.ts";
import { exists } from "../../core/paths.ts";
import { parseSplit } from "../../data/split_slices.ts";
import { findDataFiles } from "../../hub/data_files.ts";
import {
  parseNamed,
  pullCommand,
  type RepositoryKind,
  withRevision,
} from "../../hub/repository.ts";
import { publishedPlace } from "../../hub/set_addresses.ts";
import { findModel } from "../../hub/find_model.ts";
import { hasWeights } from "../../training/memory/shape_plan.ts";

/** One thing that is needed and not here. */
export interface MissingPart {
  /** The key of the configuration or the flag that asks for the part. */
  where: string;
  name: string;
  /** What is wrong with the part, as the rest of a sentence that begins with its name. */
  why: string;
  /** The command that fetches the part; null = the part is a path, which no command fetches. */
  fetch: string | null;
}

/** The parts that a run of this configuration needs and this machine lacks. */
export async function missingForRun({ model, data }: NamedParts): Promise<MissingPart[]> {
  const { model_name_or_path: name, tokenizer_name_or_path: tokenizer } = model;
  const { adapter_name_or_path: adapter } = model;
  const place = data.dataset_name ??
    (data.task_name === null ? null : publishedPlace(data.task_name));
  const split = parseSplit(data.dataset_train_split ?? "train")[0]!.split;
  const held = data.eval_dataset_name;
  const key = data.dataset_name === null ? "data.task_name" : "data.dataset_name";
  const found = [
    name === null ? null : await missingModel("model.model_name_or_path", name, true),
    // The adapter's base is the run's model, even if the adapter's file names another one.
    adapter === null ? null : await missingModel("model.adapter_name_or_path", adapter, false),
    tokenizer === null
      ? null
      : await missingModel("model.tokenizer_name_or_path", tokenizer, false),
    place === null ? null : await missingData(key, data.task_name ?? place, place, split),
    held == null ? null : await missingData("data.eval_dataset_name", held, held, "test"),
  ];
  return found.filter((part) => part !== null);
}

/** A model or tokenizer that is not here, or null. @param weights whether weights are needed too */
export async function missingModel(
  where: string,
  name: string,
  weights: boolean,
): Promise<MissingPart | null> {
  const { path, lookedAt } = await findModel(name);
  const fetch = path === name ? null : fetchCommand(name, "model");
  if (path === null) return { where, name, why: lookedIn(lookedAt), fetch };
  if (!weights) return null;
  if (!await hasWeights(path)) {
    return {
      where,
      name,
      why: path === name ? "has no weights" : `has no weights in ${path}`,
      fetch,
    };
  }
  const base = await baseOfAdapter(path);
  return base === null ? null : await missingModel(`${where} (base of ${name})`, base, true);
}

/** The base model that an adapter's folder names but does not contain; null for other models. */
async function baseOfAdapter(folder: string): Promise<string | null> {
  const json = await readJsonObject(`${folder}/adapter_config.json`).catch(() => null);
  const base = json?.["base_model_name_or_path"];
  const revision = json?.["revision"];
  if (typeof base !== "string" || await exists(`${folder}/${base}`)) return null;
  return typeof revision !== "string" || await exists(base) ? base : withRevision(base, revision);
}

/** A data set that is not here, or null. @param place its file, folder or address */
export async function missingData(
  where: string,
  name: string,
  place: string,
  split: string,
): Promise<MissingPart | null> {
  const { files, lookedAt } = await findDataFiles(place, split);
  if (files !== null) return null;
  return { where, name, why: lookedIn(lookedAt), fetch: fetchCommand(place, "dataset") };
}

const lookedIn = (places: readonly string[]) => `is not here (looked in ${places.at(-1)})`;

/** The command that fetches a repository of the Hub; null for a path. */
function fetchCommand(name: string, kind: RepositoryKind): string | null {
  const named = /^[./~]|\.[a-z]+$/.test(name) && !name.includes("://")
    ? null
    : parseNamed(name, kind);
  if (named === null || named.repository.kind !== kind) return null;
  return pullCommand(named.repository, named.revision);
}

export function missingLines(parts: readonly MissingPart[]): string[] {
  return parts.map(({ where, name, why }) => `${where}: ${name} ${why}`);
}

/** The advice about missing parts. Its last lines are commands that a user can copy. */
export function missingAdvice(parts: readonly MissingPart[]): string {
  const commands = [...new Set(parts.flatMap(({ fetch }) => fetch ?? []))];
  const paths = parts.filter(({ fetch }) => fetch === null);
  const check = paths.length === 0
    ? ""
    : `check the path of ${paths.map(({ where }) => where).join(" and of ")}`;
  if (commands.length === 0) return check;
  const fetch = commands.map((command) => `\n  ${command}`).join("");
  return `${check === "" ? "" : `${check}, and `}fetch it where there is internet:${fetch}`;
}

/**
 * Reads a configuration. When it has mistakes, a missing reward file among them, the error also
 * says which model and data set are missing.
 * @param lookFor looks for what the configuration names
 */
export async function namingMissing<T>(
  read: () => Promise<T>,
  lookFor: (named: NamedParts) => Promise<MissingPart[]> = missingForRun,
): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof ConfigMistakes)) throw error;
    const parts = await lookFor(error.named);
    if (parts.length === 0) throw error;
    throw new UsageError([error.message, ...missingLines(parts)].join("\n"), {
      advice: missingAdvice(parts),
    });
  }
}

export function missingError(parts: readonly MissingPart[]): UsageError {
  const lines = missingLines(parts);
  const message = lines.length === 1
    ? lines[0]!
    : `the run could not start:\n  ${lines.join("\n  ")}`;
  return new UsageError(message, { advice: missingAdvice(parts) });
}

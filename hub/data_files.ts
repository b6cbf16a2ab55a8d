/**
 * Finds the local files of a data set by its name: a file, a folder, or a repository of the Hub
 * that was pulled (`ORG/NAME`, `hf://datasets/ORG/NAME/FOLDER-OR-PATTERN`). A configuration of the
 * data set is named as a folder is, also where its README lists it without such a folder.
 */
import { basename, dirname } from "node:path";
import { UsageError } from "../core/errors.ts";
import { fileSize, filesOf, findSnapshot, placeWithout } from "./cache.ts";
import { isDataFile, isReadable, isTable } from "./default_files.ts";
import { matcher } from "./file_patterns.ts";
import { type Configuration, matchingFiles, readConfigurations } from "./readme_configs.ts";
import { parseNamed, pullCommand } from "./repository.ts";
import {
  filesOfSplit,
  listText,
  setOf,
  type SplitFiles,
  splitNames,
  splitsByName,
  splitsOfConfiguration,
  TRAIN,
  usualFiles,
} from "./set_splits.ts";
import { type Environment, hubCache } from "./settings.ts";

/** The name of a split of a data set: train, test, validation, or one of its own. */
export type DataSplit = string;

export interface FoundData {
  /** At least one path, in order; null = this machine has no such data set. */
  files: string[] | null;
  /** The splits of the data set; null: its files do not say to which split they belong. */
  splits: string[] | null;
  /** The places that were searched, in order. */
  lookedAt: string[];
  /** How to get the data set when it was not found; null = unknown. */
  advice: string | null;
}

/** Whether the data set is not on this machine. A name that fits several is an error elsewhere. */
export async function isAway(name: string): Promise<boolean> {
  try {
    return (await findDataFiles(name, TRAIN)).files === null;
  } catch (error) {
    if (error instanceof UsageError) return false;
    throw error;
  }
}

/**
 * @param split the split to use when the name does not say which files are meant
 * @throws UsageError when the name is ambiguous between several sets, or the split does not exist
 */
export async function findDataFiles(
  name: string,
  split: DataSplit,
  env: Environment = (key) => Deno.env.get(key),
): Promise<FoundData> {
  const lookedAt = [name];
  if (await fileSize(name) !== null) {
    return { files: [name], splits: null, lookedAt, advice: null };
  }
  if (await isFolder(name)) {
    const folder = name.replace(/(?<=.)\/+$/, "");
    return { ...await choose(folder, null, split, folder), lookedAt, advice: null };
  }
  const parent = dirname(name), configuration = basename(name);
  if (await hasConfiguration(parent, configuration)) {
    return { ...await choose(parent, configuration, split, parent), lookedAt, advice: null };
  }
  const named = parseNamed(name, "dataset"), cache = hubCache(env);
  const isHere = named?.repository.kind === "dataset";
  if (!isHere || cache === null) return { files: null, splits: null, lookedAt, advice: null };
  const { repository, revision, path } = named;
  const advice = `If it is a data set on the Hub: ${pullCommand(repository, revision)} fetches it.`;
  const snapshot = await findSnapshot(cache, repository, revision);
  if (snapshot === null && (isDataFile(name) || isTable(name)) && !name.includes("://")) {
    return { files: null, splits: null, lookedAt, advice: null };
  }
  lookedAt.push(snapshot?.path ?? await placeWithout(cache, repository, revision));
  if (snapshot === null) return { files: null, splits: null, lookedAt, advice };
  const label = `hf://datasets/${repository.name}${revision === null ? "" : `@${revision}`}`;
  return { ...await choose(snapshot.path, path, split, label), lookedAt, advice };
}

/** Whether a path is that of a data set: a file, a folder, or a configuration of a folder. */
export async function isDataPath(path: string): Promise<boolean> {
  return await fileSize(path) !== null || await isFolder(path) ||
    await hasConfiguration(dirname(path), basename(path));
}

/** Whether the README in a folder lists a configuration. */
async function hasConfiguration(folder: string, name: string): Promise<boolean> {
  const listed = await readConfigurations(folder).catch(() => []);
  return listed.some((configuration) => configuration.name === name);
}

/** A file that a run or a benchmark writes into its folder, and the folder. */
const OUTPUT =
  /^(.*\/|)(?:run\.json|metrics\.jsonl|trainer_state\.json|(?:results|samples)_.*\d{8}_\d{6}.*\.jsonl?)$/;
/** What these write beside it that looks like data. */
const WRITTEN =
  /^(?:metrics|eval_before|eval_after|samples_.*\d{8}_\d{6}.*)\.jsonl$|^(?:completions|checkpoint-\d+)\//;

/** The files of a folder without what training runs and benchmarks in it or below have written. */
function withoutRuns(present: readonly string[]): string[] {
  const outputs = new Set(present.flatMap((file) => OUTPUT.exec(file)?.[1] ?? []));
  if (outputs.size === 0) return [...present];
  return present.filter((file) => {
    if (outputs.has("") && WRITTEN.test(file)) return false;
    for (let end = file.indexOf("/"); end >= 0; end = file.indexOf("/", end + 1)) {
      if (outputs.has(file.slice(0, end + 1))) return false;
    }
    return true;
  });
}

/**
 * The files of a split of the data set in a folder.
 * @param path a file, folder or pattern in it, or one of its configurations; null = all of it
 * @param label the name of the folder in messages
 */
async function choose(
  folder: string,
  path: string | null,
  split: DataSplit,
  label: string,
): Promise<Pick<FoundData, "files" | "splits">> {
  const present = withoutRuns(await filesOf(folder)), listed = await readConfigurations(folder);
  const asked = configurationAt(listed, present, path, label);
  if (asked !== null) {
    const configuration = listed.length === 1 ? "" : `/${asked.name}`;
    const splits = splitsOfConfiguration(asked, present, label);
    return ofSplit(splits, split, { folder, label, configuration });
  }
  const isExact = path !== null && (isReadable(path) || /[*?[]/.test(path));
  const all = isExact ? present.filter(isReadable) : usualFiles(present);
  const named = path === null ? all : all.filter(matcher(path));
  const where = path === null ? label : `${label}/${path}`;
  if (named.length === 0) {
    throw new UsageError(`${where}: there are no .parquet, .jsonl and .csv files`, {
      advice: all.length > 0
        ? `There are: ${listText(all)}.`
        : present.some((name) => name.endsWith(".arrow"))
        ? "Arrow files are not read. In Python: " +
          `datasets.load_from_disk("${folder}").to_parquet("data.parquet").`
        : `Looked in ${folder}.`,
    });
  }
  if (isExact) return { files: named.map((file) => `${folder}/${file}`), splits: null };
  return ofSplit(splitsByName(named), split, { folder, label, configuration: null });
}

/**
 * The configuration of a README's list that is meant: the one that `path` names, the default one,
 * or the only one whose files are here. Null: the names of files say what there is.
 * @throws UsageError when it is not clear which one is meant
 */
function configurationAt(
  listed: readonly Configuration[],
  present: readonly string[],
  path: string | null,
  label: string,
): Configuration | null {
  if (listed.length === 0) return null;
  if (path !== null) return listed.find(({ name }) => name === path) ?? null;
  const byDefault = listed.find(({ isDefault }) => isDefault);
  if (byDefault !== undefined) return byDefault;
  const here = listed.filter(({ folder, patterns }) =>
    patterns === null
      ? present.some((file) => isReadable(file) && (folder === "" || file.startsWith(`${folder}/`)))
      : [...patterns.values()].some((globs) => matchingFiles(present, folder, globs).length > 0)
  );
  if (here.length === 1) return here[0]!;
  const names = listed.map(({ name }) => name);
  throw new UsageError(`${label}: it holds several sets of problems: ${listText(names)}`, {
    advice: `Name one of them: ${label}/${names[0]}`,
  });
}

function ofSplit(
  splits: SplitFiles,
  split: DataSplit,
  { folder, label, configuration }: {
    folder: string;
    label: string;
    /** The end of the name of a listed configuration; null: the files are not listed. */
    configuration: string | null;
  },
): Pick<FoundData, "files" | "splits"> {
  const found = filesOfSplit(splits, split), names = splitNames(splits);
  if (found === undefined) {
    throw new UsageError(
      `${label}${configuration ?? ""}: there is no split "${split}", only ` +
        (names ?? []).join(", "),
      {
        advice: "Name one: data.dataset_train_split and data.dataset_test_split; or name the " +
          `files, for example ${label}/${[...splits.files.values()][0]![0]}.`,
      },
    );
  }
  const sets = splits.isListed || configuration !== null ? new Map() : Map.groupBy(found, setOf);
  if (sets.size > 1) {
    const names = [...sets.keys()];
    throw new UsageError(`${label}: it holds several sets of problems: ${listText(names)}`, {
      advice: `Name one of them: ${label}/${names.find((name) => name !== ".")}`,
    });
  }
  // A repository may hold the same rows in both formats: then only parquet is read.
  const parquet = splits.isListed ? [] : found.filter((file) => file.endsWith(".parquet"));
  const files = parquet.length > 0 ? parquet : found;
  return { files: files.map((file) => `${folder}/${file}`), splits: names };
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isDirectory;
  } catch {
    return false;
  }
}

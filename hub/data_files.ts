/**
 * Finds the local files of a data set by its name: a file, a folder, or a repository of the Hub
 * that was pulled (`ORG/NAME`, `hf://datasets/ORG/NAME/FOLDER-OR-PATTERN`). A configuration of the
 * data set is named like a folder, even if the README lists it and no such folder exists.
 */
import { basename, dirname } from "node:path";
import { UsageError } from "../core/errors.ts";
import { isFolder } from "../core/paths.ts";
import { didYouMean } from "../core/suggest.ts";
import { fileSize, filesOf, findSnapshot, placeWithout } from "./cache.ts";
import { isDataFile, isReadable, isTable } from "./choose_files.ts";
import { matcher } from "./file_patterns.ts";
import { type Configuration, matchingFiles, readConfigurations } from "./readme_configs.ts";
import { parseNamed, pullCommand } from "./repository.ts";
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

/** Whether a data set is not on this machine; false for a name of several, refused elsewhere. */
export async function isAway(name: string): Promise<boolean> {
  try {
    return (await findDataFiles(name, TRAIN)).files === null;
  } catch (error) {
    if (error instanceof UsageError) return false;
    throw error;
  }
}

/** @param split where the name says none. @throws UsageError for an ambiguous name or no split */
export async function findDataFiles(
  name: string,
  split: DataSplit,
  env: Environment = (key) => Deno.env.get(key),
): Promise<FoundData> {
  const lookedAt = [name], missing = { files: null, splits: null, lookedAt, advice: null };
  if (await fileSize(name) !== null) return { ...missing, files: [name] };
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
  if (!isHere || cache === null) return missing;
  const { repository, revision, path } = named;
  const advice = `If it is a data set on the Hub: ${pullCommand(repository, revision)} fetches it.`;
  const snapshot = await findSnapshot(cache, repository, revision);
  const isFileName = (isDataFile(name) || isTable(name)) && !name.includes("://");
  if (snapshot === null && isFileName) return missing;
  lookedAt.push(snapshot?.path ?? await placeWithout(cache, repository, revision));
  if (snapshot === null) return { ...missing, advice };
  const label = `hf://datasets/${repository.name}${revision === null ? "" : `@${revision}`}`;
  return { ...await choose(snapshot.path, path, split, label), lookedAt, advice };
}

/** Whether a path is that of a data set: a file, a folder, or a configuration of a folder. */
export async function isDataPath(path: string): Promise<boolean> {
  return await fileSize(path) !== null || await isFolder(path) ||
    await hasConfiguration(dirname(path), basename(path));
}

async function hasConfiguration(folder: string, name: string): Promise<boolean> {
  const listed = await readConfigurations(folder).catch(() => []);
  return listed.some((configuration) => configuration.name === name);
}

/** A file that a run or a benchmark writes into its folder, and the folder. */
const OUTPUT =
  /^(.*\/|)(?:run\.json|metrics\.jsonl|trainer_state\.json|(?:results|samples)_.*\d{8}_\d{6}.*\.jsonl?)$/;
/** Other files in that folder that look like data. */
const WRITTEN =
  /^(?:metrics|eval_before|eval_after|samples_.*\d{8}_\d{6}.*)\.jsonl$|^(?:completions|checkpoint-\d+)\//;

/** The files of a folder, but for those that runs and benchmarks have written there. */
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

/** The files of a split in a folder. @param path file, pattern or configuration in it */
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

/** The configuration that `path` names, the default, or the only one here. @throws UsageError */
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
  const all = filesOfSplit(splits, split), names = splitNames(splits);
  if (all === undefined) {
    throw new UsageError(
      `${label}${configuration ?? ""}: there is no split "${split}", only ` +
        (names ?? []).join(", "),
      {
        advice: "Name one: data.dataset_train_split and data.dataset_test_split; or name the " +
          `files, for example ${label}/${[...splits.files.values()][0]![0]}.`,
      },
    );
  }
  const sets = splits.isListed || configuration !== null
    ? new Map<string, string[]>()
    : Map.groupBy(all, setOf);
  // If a folder has data files itself, files in folders below it do not count.
  const found = sets.get(OWN) ?? all;
  if (sets.size > 1 && found === all) {
    const names = [...sets.keys()];
    throw new UsageError(`${label}: it holds several sets of problems: ${listText(names)}`, {
      advice: `Name one of them: ${label}/${names[0]}`,
    });
  }
  // A repository may hold the same rows in both formats: then only parquet is read.
  const parquet = splits.isListed ? [] : found.filter((file) => file.endsWith(".parquet"));
  const files = parquet.length > 0 ? parquet : found;
  return { files: files.map((file) => `${folder}/${file}`), splits: names };
}

// Which files belong to which split of a data set: by the list `configs` of its README, by the
// names that the Hub gives to shards (`data/train_sft-00000-of-00001.parquet`), or by words in the
// names of files and folders, as the `datasets` package does.

/** The split that files without one in their names belong to. */
const TRAIN = "train";

const SPLIT_WORDS: readonly [RegExp, string][] = [
  [/^train(?:ing)?$/, TRAIN],
  [/^test(?:ing)?$/, "test"],
  [/^(?:validation|valid|val|dev)$/, "validation"],
  [/^eval(?:uation)?$/, "test"],
];

/** A shard in the folder of the Hub's own layout. */
const SHARD = /(?:^|\/)data\/([^/]+)-\d{5}-of-\d{5}[^/]*\.[^/]*$/;

interface SplitFiles {
  /** null stands for files that name no split. */
  readonly files: ReadonlyMap<string | null, readonly string[]>;
  /** Whether a README lists the splits. Then no other split replaces a missing one. */
  readonly isListed: boolean;
}

/** The names of the splits; null: nothing says which split the files belong to. */
function splitNames({ files }: SplitFiles): string[] | null {
  const names = [...files.keys()];
  return names.every((name) => name === null)
    ? null
    : [...new Set(names.map((name) => name ?? TRAIN))];
}

/** The files of a split, if any. The validation split replaces a missing test split. */
function filesOfSplit(
  { files, isListed }: SplitFiles,
  split: string,
): readonly string[] | undefined {
  const isUnnamed = [...files.keys()].every((name) => name === null);
  if (files.has(split)) return files.get(split);
  if (split === "test" && files.has("validation")) return files.get("validation");
  if (isListed) return undefined;
  // If there are files for training, a file without a split in its name is not held out.
  const isOther = split === "test" && files.has(TRAIN);
  return isUnnamed || split === TRAIN || split === "test" && !isOther ? files.get(null) : undefined;
}

/** The splits of a configuration. @throws UsageError when none of its files can be read */
function splitsOfConfiguration(
  { name, folder, patterns }: Configuration,
  present: readonly string[],
  label: string,
): SplitFiles {
  if (patterns === null) {
    const inside = folder === ""
      ? present
      : present.filter((file) => file.startsWith(`${folder}/`));
    return splitsByName(usualFiles(inside), folder);
  }
  const files = new Map<string, string[]>();
  const others: string[] = [];
  for (const [split, globs] of patterns) {
    const found = matchingFiles(present, folder, globs), readable = found.filter(isReadable);
    if (readable.length > 0) files.set(split, readable);
    others.push(...found.filter((file) => !isReadable(file)));
  }
  if (files.size > 0) return { files, isListed: true };
  const wanted = [...patterns.values()].flat().join(", ");
  throw new UsageError(
    others.length > 0
      ? `${label}: the files of its configuration ${name} are not .parquet, .jsonl, .json or .csv`
      : `${label}: no files of its configuration ${name} are here (${wanted})`,
    others.length > 0 ? { advice: `They are ${listText(others)}.` } : {},
  );
}

/** The usual data files, or else tables in plain text; no hidden ones, none in `__pycache__`. */
function usualFiles(present: readonly string[]): string[] {
  const seen = present.filter((file) => !/(?:^|\/)(?:\.|__)/.test(file));
  const usual = seen.filter(isDataFile);
  return usual.length > 0 ? usual : seen.filter(isTable);
}

/** @param folder the folder of the data set or of its configuration; "" = the top */
function splitsByName(files: readonly string[], folder = ""): SplitFiles {
  const inside = (file: string) => folder === "" ? file : file.slice(folder.length + 1);
  const shards = files.filter((file) => SHARD.test(inside(file)));
  if (shards.length > 0) {
    const bySplit = Map.groupBy(shards, (file) => SHARD.exec(inside(file))![1]!);
    return { files: bySplit, isListed: true };
  }
  return { files: Map.groupBy(files, (file) => splitOf(inside(file))), isListed: false };
}

/** The split that is named by the file or a folder above it, or null. */
function splitOf(file: string): string | null {
  for (const part of file.toLowerCase().split("/").reverse()) {
    for (const word of part.split(/[^a-z]+/)) {
      const found = SPLIT_WORDS.find(([form]) => form.test(word));
      if (found !== undefined) return found[1];
    }
  }
  return null;
}

/** The set of the files that lie in no folder but those of splits. */
const OWN = ".";

/** The folder of a file, without the parts that name a split. */
function setOf(file: string): string {
  const folders = file.split("/").slice(0, -1).filter((part) =>
    !SPLIT_WORDS.some(([form]) => form.test(part.toLowerCase()))
  );
  return folders.length === 0 ? OWN : folders.join("/");
}

export function listText(names: readonly string[]): string {
  const shown = names.slice(0, 8).join(", ");
  return names.length > 8 ? `${shown} and ${names.length - 8} more` : shown;
}

// One configuration of a data set, as `datasets.load_dataset(NAME, CONFIGURATION)` names it. The
// README may list it, or it is (by the conventions of the Hub) a folder of that name, in the top
// folder or in `data/`.

/** The name of the configuration of a data set without others. */
const DEFAULT = "default";

/**
 * The name of a data set with its configuration in it: `gsm8k-copy/main`, or
 * `hf://datasets/openai/gsm8k/main`. The configuration `default` is the whole data set, where no
 * folder has that name.
 * @param name a folder, or a data set on the Hub, which need not be here yet
 * @throws UsageError when there is no such configuration, or the name can have none
 */
export async function withConfiguration(
  name: string,
  configuration: string,
  env: Environment = (key) => Deno.env.get(key),
): Promise<string> {
  const folder = name.replace(/(?<=.)\/+$/, "");
  const found = await Deno.stat(folder).catch(() => null);
  if (found?.isDirectory) {
    const place = await placeIn(folder, configuration, folder);
    return place === null ? name : `${folder}/${place}`;
  }
  const named = found === null ? parseNamed(name, "dataset") : null;
  if (named === null || named.repository.kind !== "dataset") {
    throw new UsageError(`${configuration}: ${name} has no configurations`, {
      advice: "A folder has them, or a data set of the Hub: leave the key out.",
    });
  }
  const { repository, revision, path } = named;
  if (path !== null) {
    if (path.split("/").at(-1) === configuration) return name;
    throw new UsageError(`${configuration}: ${name} names ${path} already`, {
      advice: `Write hf://datasets/${repository.name}, or leave the key out.`,
    });
  }
  const address = `hf://datasets/${repository.name}${revision === null ? "" : `@${revision}`}`;
  const cache = hubCache(env);
  const snapshot = cache === null ? null : await findSnapshot(cache, repository, revision);
  const place = snapshot === null
    ? configuration === DEFAULT ? null : configuration
    : await placeIn(snapshot.path, configuration, address);
  return place === null ? name : `${address}/${place}`;
}

/**
 * A configuration as `findDataFiles` finds it in the data set's folder: by its name, or its folder.
 * Null where the whole data set is meant.
 */
async function placeIn(
  path: string,
  configuration: string,
  label: string,
): Promise<string | null> {
  const listed = (await readConfigurations(path)).map(({ name }) => name);
  if (listed.includes(configuration)) return configuration;
  const data = (await filesOf(path)).filter(isReadable);
  const places = [configuration, `data/${configuration}`];
  const place = places.find((folder) => data.some((file) => file.startsWith(`${folder}/`)));
  if (place !== undefined) return place;
  if (configuration === DEFAULT && listed.length === 0) return null;
  const folders = new Set(data.flatMap((file) => file.split("/").slice(0, -1)));
  const names = listed.length > 0 ? listed : [...folders].sort();
  const near = didYouMean(configuration, names);
  const there = names.length === 0 ? "it has no folders" : `its folders: ${names.join(", ")}`;
  const what = listed.length > 0
    ? `Its README lists ${listed.join(", ")}`
    : `A configuration is a folder with data files (${there})`;
  throw new UsageError(`${configuration}: no such configuration of ${label}`, {
    advice: `${what}${near === "" ? "." : near}`,
  });
}

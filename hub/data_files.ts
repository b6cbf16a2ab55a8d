/**
 * Finds the local files of a data set by its name: a file, a folder, or a repository of the Hub
 * that was pulled (`ORG/NAME`, `hf://datasets/ORG/NAME/FOLDER-OR-PATTERN`). The split of a file is
 * read from its name, as the `datasets` package does; the repository's README is not read.
 */
import { UsageError } from "../core/errors.ts";
import { cacheFolderName, fileSize, filesOf, findSnapshot } from "./cache.ts";
import { isDataFile, isTable } from "./default_files.ts";
import { matcher } from "./file_patterns.ts";
import { parseNamed, pullCommand } from "./repository.ts";
import { type Environment, hubCache } from "./settings.ts";

/** The split of a data set. */
export type DataSplit = "train" | "test";

export interface FoundData {
  /** At least one path, in order; null = this machine has no such data set. */
  files: string[] | null;
  /** The places that were searched, in order. */
  lookedAt: string[];
  /** How to get the data set when it was not found; null = unknown. */
  advice: string | null;
}

const SPLIT_WORDS: readonly [RegExp, string][] = [
  [/^train(?:ing)?$/, "train"],
  [/^test(?:ing)?$/, "test"],
  [/^(?:validation|valid|val|dev|eval|evaluation)$/, "validation"],
];

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
  if (await fileSize(name) !== null) return { files: [name], lookedAt, advice: null };
  if (await isFolder(name)) {
    const folder = name.replace(/(?<=.)\/+$/, "");
    return { files: await choose(folder, null, split, folder), lookedAt, advice: null };
  }
  const named = parseNamed(name, "dataset"), cache = hubCache(env);
  const isHere = named?.repository.kind === "dataset";
  if (!isHere || cache === null) return { files: null, lookedAt, advice: null };
  const { repository, revision, path } = named;
  const advice = `If it is a data set on the Hub: ${pullCommand(repository, revision)} fetches it.`;
  const snapshot = await findSnapshot(cache, repository, revision);
  if (snapshot === null && (isDataFile(name) || isTable(name)) && !name.includes("://")) {
    return { files: null, lookedAt, advice: null };
  }
  lookedAt.push(
    snapshot?.path ?? `${cache}/${cacheFolderName(repository)}/snapshots/${revision ?? "main"}`,
  );
  if (snapshot === null) return { files: null, lookedAt, advice };
  const label = `hf://datasets/${repository.name}${revision === null ? "" : `@${revision}`}`;
  return { files: await choose(snapshot.path, path, split, label), lookedAt, advice };
}

/** @param label the name of the folder in messages */
async function choose(
  folder: string,
  path: string | null,
  split: DataSplit,
  label: string,
): Promise<string[]> {
  const present = await filesOf(folder), tables = present.filter(isTable);
  const usual = present.filter(isDataFile);
  const all = usual.length === 0 || (path !== null && isTable(path)) ? tables : usual;
  const named = path === null ? all : all.filter(matcher(path));
  if (named.length === 0) {
    const where = path === null ? label : `${label}/${path}`;
    throw new UsageError(`${where}: there are no .parquet, .jsonl and .csv files`, {
      advice: all.length > 0
        ? `There are: ${listText(all)}.`
        : present.some((name) => name.endsWith(".arrow"))
        ? "Arrow files are not read. In Python: " +
          `datasets.load_from_disk("${folder}").to_parquet("data.parquet").`
        : `Looked in ${folder}.`,
    });
  }
  const isExact = path !== null && (isDataFile(path) || isTable(path) || /[*?[]/.test(path));
  const chosen = isExact ? named : ofSplit(named, split, label);
  return chosen.map((file) => `${folder}/${file}`);
}

function ofSplit(files: readonly string[], split: DataSplit, label: string): string[] {
  const splits = [...new Set(files.map(splitOf))];
  const wanted = splits.includes(split)
    ? split
    : split === "test" && splits.includes("validation")
    ? "validation"
    // Beside files for training, one without a split in its name is not held out.
    : splits.includes(null) && !(split === "test" && splits.includes("train"))
    ? null
    : undefined;
  if (wanted === undefined) {
    throw new UsageError(
      `${label}: there is no split "${split}", only ${
        splits.filter((name) => name !== null).join(", ")
      }`,
      {
        advice: `Name the files, for example ${label}/${files[0]}.`,
      },
    );
  }
  const found = files.filter((file) => splitOf(file) === wanted);
  const sets = Map.groupBy(found, setOf);
  if (sets.size > 1) {
    const names = [...sets.keys()];
    throw new UsageError(`${label}: it holds several sets of problems: ${listText(names)}`, {
      advice: `Name one of them: ${label}/${names.find((name) => name !== ".")}`,
    });
  }
  // A repository may hold the same rows in both formats: then only parquet is read.
  const parquet = found.filter((file) => file.endsWith(".parquet"));
  return parquet.length > 0 ? parquet : found;
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

/** The folder of a file, without the parts that name a split. */
function setOf(file: string): string {
  const folders = file.split("/").slice(0, -1).filter((part) =>
    !SPLIT_WORDS.some(([form]) => form.test(part.toLowerCase()))
  );
  return folders.length === 0 ? "." : folders.join("/");
}

function listText(names: readonly string[]): string {
  const shown = names.slice(0, 8).join(", ");
  return names.length > 8 ? `${shown} and ${names.length - 8} more` : shown;
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isDirectory;
  } catch {
    return false;
  }
}

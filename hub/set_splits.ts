/**
 * Which files belong to which split of a data set: by the list `configs` of its README, by the
 * names that the Hub gives to shards (`data/train_sft-00000-of-00001.parquet`), or by words in the
 * names of files and folders, as the `datasets` package does.
 */
import { UsageError } from "../core/errors.ts";
import { isDataFile, isReadable, isTable } from "./default_files.ts";
import { type Configuration, matchingFiles } from "./readme_configs.ts";

/** The split that files without one in their names belong to. */
export const TRAIN = "train";

const SPLIT_WORDS: readonly [RegExp, string][] = [
  [/^train(?:ing)?$/, TRAIN],
  [/^test(?:ing)?$/, "test"],
  [/^(?:validation|valid|val|dev)$/, "validation"],
  [/^eval(?:uation)?$/, "test"],
];

/** A shard in the folder of the Hub's own layout. */
const SHARD = /(?:^|\/)data\/([^/]+)-\d{5}-of-\d{5}[^/]*\.[^/]*$/;

/** Files by split. */
export interface SplitFiles {
  /** null stands for files that name no split. */
  readonly files: ReadonlyMap<string | null, readonly string[]>;
  /** Whether the splits are listed, so that no other stands for one that is not there. */
  readonly isListed: boolean;
}

/** The names of the splits; null: nothing says which split the files belong to. */
export function splitNames({ files }: SplitFiles): string[] | null {
  const names = [...files.keys()];
  return names.every((name) => name === null)
    ? null
    : [...new Set(names.map((name) => name ?? TRAIN))];
}

/**
 * The files of one split; undefined when it is not there. The validation stands for a test split
 * that is not there.
 */
export function filesOfSplit(
  { files, isListed }: SplitFiles,
  split: string,
): readonly string[] | undefined {
  const isUnnamed = [...files.keys()].every((name) => name === null);
  if (files.has(split)) return files.get(split);
  if (split === "test" && files.has("validation")) return files.get("validation");
  if (isListed) return undefined;
  // Beside files for training, one without a split in its name is not held out.
  const isOther = split === "test" && files.has(TRAIN);
  return isUnnamed || split === TRAIN || split === "test" && !isOther ? files.get(null) : undefined;
}

/** The splits of a configuration. @throws UsageError when none of its files can be read */
export function splitsOfConfiguration(
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

/**
 * The files of the usual data formats; tables in plain text where there is nothing else. Hidden
 * ones, and those in folders like `__pycache__`, are left out.
 */
export function usualFiles(present: readonly string[]): string[] {
  const seen = present.filter((file) => !/(?:^|\/)(?:\.|__)/.test(file));
  const usual = seen.filter(isDataFile);
  return usual.length > 0 ? usual : seen.filter(isTable);
}

/** @param folder the folder of the data set or of its configuration; "" = the top */
export function splitsByName(files: readonly string[], folder = ""): SplitFiles {
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

/** The folder of a file, without the parts that name a split. */
export function setOf(file: string): string {
  const folders = file.split("/").slice(0, -1).filter((part) =>
    !SPLIT_WORDS.some(([form]) => form.test(part.toLowerCase()))
  );
  return folders.length === 0 ? "." : folders.join("/");
}

export function listText(names: readonly string[]): string {
  const shown = names.slice(0, 8).join(", ");
  return names.length > 8 ? `${shown} and ${names.length - 8} more` : shown;
}

/** Chooses the files of a repository that a pull fetches. If no file fits, the error says why. */
import { bytesText } from "../core/bytes.ts";
import { UsageError } from "../core/errors.ts";
import { didYouMean } from "../core/suggest.ts";
import type { ListedFile } from "./api.ts";
import { shown } from "./file_names.ts";
import { matcher } from "./file_patterns.ts";
import { defaultFiles, isDataFile, README } from "./default_files.ts";
import { pullCommand, type Repository, type RepositoryKind } from "./repository.ts";

const MAX_SHOWN = 12;

/** The user's selection; empty lists = the default. */
export interface Selection {
  /** Full names or patterns. */
  readonly files: readonly string[];
  /** Patterns of files that are wanted. */
  readonly include: readonly string[];
  /** Patterns of files that are not wanted. */
  readonly exclude: readonly string[];
}

export const EVERYTHING_NEEDED: Selection = { files: [], include: [], exclude: [] };

/** The selected files of `names`, in the same order. */
export function wantedFiles(
  names: readonly string[],
  kind: RepositoryKind,
  { files, include, exclude }: Selection,
): string[] {
  const asked = files.length + include.length > 0;
  const known = new Set(names);
  const included = [...include, ...files.filter((file) => !known.has(file))].map(matcher);
  const excluded = exclude.map(matcher);
  const listed = new Set([...files, ...asked ? [] : defaultFiles(names, kind)]);
  return names.filter((name) =>
    (listed.has(name) || included.some((matches) => matches(name))) &&
    !excluded.some((matches) => matches(name))
  );
}

/** @throws UsageError for a pattern without files, or a repository without the usual ones */
export function chooseFiles(
  files: readonly ListedFile[],
  repository: Repository,
  selection: Selection,
): ListedFile[] {
  const names = files.map(({ name }) => name), known = new Set(names);
  for (const pattern of [...selection.files, ...selection.include]) {
    if (known.has(pattern) || names.some(matcher(pattern))) continue;
    throw new UsageError(
      `${repository.name}: no file ${shown(pattern)}${didYouMean(pattern, names)}`,
      { advice: `The repository holds ${listText(files)}.` },
    );
  }
  const wanted = new Set(wantedFiles(names, repository.kind, selection));
  const chosen = files.filter(({ name }) => wanted.has(name));
  const { files: named, include, exclude } = selection;
  const isUsual = named.length + include.length + exclude.length === 0;
  const suffices = !isUsual ||
    chosen.some(({ name }) =>
      repository.kind === "dataset" ? name !== README : name.endsWith(".safetensors")
    );
  if (chosen.length > 0 && suffices) return chosen;
  if (names.length > 0 && exclude.length > 0) {
    throw new UsageError(`${repository.name}: --exclude leaves no file`);
  }
  throw nothingUsual(files, repository, chosen);
}

function nothingUsual(
  files: readonly ListedFile[],
  repository: Repository,
  chosen: readonly ListedFile[],
): UsageError {
  const command = pullCommand(repository), { name } = repository;
  if (repository.kind === "dataset") {
    return new UsageError(`${name}: the data set has no .parquet, .jsonl and .csv files`, {
      advice: files.length === 0
        ? "It is empty."
        : `It holds ${listText(files)}. The Hub itself makes parquet of many data sets: ` +
          `${command}@refs/convert/parquet. Other files: --include PATTERN.`,
    });
  }
  const gguf = files.filter((file) => file.name.endsWith(".gguf"));
  if (gguf.length > 0) {
    return new UsageError(`${name}: no .safetensors, but GGUF files: name the one to fetch`, {
      advice: `For example: ${command} ${gguf[0]!.name}. There are ${listText(gguf)}.`,
    });
  }
  const pickles = files.filter((file) => /\.bin$/.test(file.name) && !file.name.includes("/"));
  if (pickles.length > 0) {
    return new UsageError(`${name}: no .safetensors, only weights as pickles`, {
      advice: "They are fetched when they are named (rgx reads them without running what is in " +
        `them): ${command} ${[...chosen, ...pickles].map((file) => file.name).join(" ")}`,
    });
  }
  const data = files.some((file) => isDataFile(file.name));
  return new UsageError(`${name}: no .safetensors: there are no weights in it`, {
    advice: files.length === 0
      ? "It is empty."
      : `It holds ${listText(files)}. Files are fetched when they are named: ${command} FILE…` +
        (data ? " A data set is fetched with --dataset." : ""),
  });
}

function listText(files: readonly ListedFile[]): string {
  if (files.length === 0) return "no files";
  const texts = files.slice(0, MAX_SHOWN).map(({ name, size }) =>
    size === null ? name : `${name} (${bytesText(size)})`
  );
  const more = files.length - texts.length;
  return texts.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

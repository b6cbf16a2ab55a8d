/**
 * The configurations of a data set as its README.md lists them (`configs:` in the metadata block):
 * a name, and the files of each split. Patterns are those of the `datasets` package: `*` matches no
 * slash, `**` any folders.
 */
import { parse } from "yaml";
import { UsageError } from "../core/errors.ts";
import { readIfThere } from "../core/text_file.ts";
import { patternTest } from "./file_patterns.ts";

export interface Configuration {
  readonly name: string;
  readonly isDefault: boolean;
  /** Folder that the patterns are relative to; "" = the top. */
  readonly folder: string;
  /** Split → patterns of its files; null: the names of the files in `folder` say the splits. */
  readonly patterns: ReadonlyMap<string, readonly string[]> | null;
}

/** The split of files that are listed without one. */
const TRAIN = "train";

/** The configurations that a folder's README lists. @throws UsageError for an unreadable list */
export async function readConfigurations(folder: string): Promise<Configuration[]> {
  const path = `${folder}/README.md`, text = await readIfThere(path);
  const block = /^\ufeff?---\r?\n([^]*?)\r?\n---\s*(?:\n|$)/.exec(text ?? "")?.[1];
  if (block === undefined || !/^configs\s*:/m.test(block)) return [];
  const fail = (what: string) =>
    new UsageError(`${path}: configs: ${what}`, {
      advice: "Name the files instead: data.dataset_name=FOLDER/FILE-OR-PATTERN.",
    });
  let list: unknown;
  try {
    list = (parse(block, { logLevel: "error" }) as { configs?: unknown } | null)?.configs;
  } catch (error) {
    throw fail(`not valid YAML: ${(error as Error).message.split("\n")[0]}`);
  }
  if (list === null || list === undefined) return [];
  if (!Array.isArray(list)) throw fail("expected a list");
  const found = list.map((entry) => configuration(entry, list.length === 1, fail));
  const first = found.filter(({ isDefault }) => isDefault).map(({ name }) => name);
  if (first.length > 1) throw fail(`several defaults: ${first.join(", ")}`);
  return found;
}

function configuration(
  entry: unknown,
  isOnly: boolean,
  fail: (what: string) => UsageError,
): Configuration {
  const fields = (typeof entry === "object" ? entry : null) as Record<string, unknown> | null;
  const name = fields?.["config_name"], dir = fields?.["data_dir"] ?? "";
  if (typeof name !== "string" || name === "") throw fail("an entry has no config_name");
  if (typeof dir !== "string") throw fail(`${name}: data_dir: expected text`);
  const files = fields!["data_files"] ?? null;
  return {
    name,
    isDefault: isOnly || name === "default" || fields!["default"] === true,
    folder: plainPath(dir),
    patterns: files === null ? null : patternsOf(files, (what) => fail(`${name}: ${what}`)),
  };
}

/** `data_files`: a pattern, a list of them, or a list of `{split, path}`. */
function patternsOf(
  files: unknown,
  fail: (what: string) => UsageError,
): Map<string, readonly string[]> {
  const isTexts = (value: unknown): value is string[] =>
    Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "string");
  const expected = "data_files: expected text, a list of texts, or a list of {split, path}";
  if (typeof files === "string") return new Map([[TRAIN, [files]]]);
  if (isTexts(files)) return new Map([[TRAIN, files]]);
  if (!Array.isArray(files) || files.length === 0) throw fail(expected);
  const splits = new Map<string, readonly string[]>();
  for (const item of files) {
    const { split, path } = (item ?? {}) as { split?: unknown; path?: unknown };
    const paths = typeof path === "string" ? [path] : path;
    if (typeof split !== "string" || !isTexts(paths)) throw fail(expected);
    if (splits.has(split)) throw fail(`data_files: the split ${split} stands there twice`);
    splits.set(split, paths);
  }
  return splits;
}

/** `./data/` → `data` */
function plainPath(path: string): string {
  return path.split("/").filter((part) => part !== "" && part !== ".").join("/");
}

/** The files of a split by its patterns: twice if two match, as in the `datasets` package. */
export function matchingFiles(
  files: readonly string[],
  folder: string,
  patterns: readonly string[],
): string[] {
  const found: string[] = [];
  for (const pattern of patterns) {
    const whole = plainPath(`${folder}/${pattern}`), isMatch = patternTest(whole, "folders");
    for (const file of files) {
      if (file === whole || isMatch(file) && !isUnasked(file, whole)) found.push(file);
    }
  }
  return found;
}

/** Hidden names, and such as `__pycache__`, match only a pattern that names them. */
function isUnasked(file: string, pattern: string): boolean {
  const special = (text: string) =>
    text.split("/").filter((part) => part.startsWith(".") || part.startsWith("__")).length;
  return special(file) > special(pattern);
}

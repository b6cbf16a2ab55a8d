/** Helpers of the tests of configurations: files in a temporary folder, loaded as for a user. */
import assert from "node:assert/strict";
import { parse } from "yaml";
import { RgxError } from "../core/errors.ts";
import { withFolder, writeFiles } from "../core/testing.ts";
import { loadConfig, type LoadedConfig, type LoadOptions } from "./load.ts";

/**
 * The smallest complete configuration. It has three lines, so that what a test adds begins in line
 * 4.
 */
export const MINIMAL = "model: m\ntask: chain_sum\nrewards: [correctness]\n";

/** Calls `use` with a folder that holds these files, and removes it afterwards. */
export async function withFiles<T>(
  files: Readonly<Record<string, string | Uint8Array>>,
  use: (folder: string) => Promise<T>,
): Promise<T> {
  return await withFolder(async (folder) => {
    await writeFiles(folder, files);
    return await use(folder);
  });
}

/** Loads the text as the file f.yaml, with further files beside it. */
export async function load(
  yaml: string | Uint8Array,
  options: LoadOptions = {},
  files: Readonly<Record<string, string>> = {},
): Promise<LoadedConfig> {
  return await withFiles(
    { ...files, "f.yaml": yaml },
    (cwd) => loadConfig("f.yaml", { cwd, ...options }),
  );
}

/** The lines of the error of loading this text. Empty when it loads. */
export async function errorsOf(
  yaml: string | Uint8Array,
  options: LoadOptions = {},
  files: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  try {
    await load(yaml, options, files);
    return [];
  } catch (error) {
    if (!(error instanceof RgxError) || error.exitCode !== 2) throw error;
    return error.message.split("\n");
  }
}

/**
 * The cases of a table: a line of YAML (`\\n` breaks it), below it what is expected, two spaces
 * deeper. A line that is deeper still goes on with the one above.
 */
function casesOf(table: string): [yaml: string, expected: string[]][] {
  const cases: [yaml: string, expected: string[]][] = [];
  for (const line of table.trim().replace(/\n {4,}/g, " ").split("\n")) {
    if (line.startsWith("  ")) cases.at(-1)![1].push(line.trim());
    else cases.push([`${line.replaceAll("\\n", "\n")}\n`, []]);
  }
  return cases;
}

/**
 * Asserts that each text of a table has these errors; `…` is any text in them.
 * @param head what stands before each text, or what finds the errors of a text
 */
export async function assertErrors(
  table: string,
  head: string | ((text: string) => Promise<string[]>) = MINIMAL,
  files: Files = {},
): Promise<void> {
  const find = typeof head === "string" ? (yaml: string) => errorsOf(head + yaml, {}, files) : head;
  for (const [yaml, errors] of casesOf(table)) {
    const expected = errors.map((error) => error.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const whole = new RegExp(`^${expected.join("\n").replaceAll("…", ".*")}$`);
    assert.match((await find(yaml)).join("\n"), whole, yaml);
  }
}

type Files = Readonly<Record<string, string>>;

type Forms = readonly (readonly [yaml: string, expected: RegExp])[];

/** Asserts that the errors of each text, after `head`, have this form together. */
export async function assertErrorsMatch(
  cases: Forms,
  head = MINIMAL,
  files: Files = {},
): Promise<void> {
  for (const [yaml, expected] of cases) {
    assert.match((await errorsOf(`${head}${yaml}\n`, {}, files)).join("\n"), expected, yaml);
  }
}

/** Asserts that each text, after `head`, has one error, which has this form. */
export async function assertOneError(
  cases: Forms,
  head = MINIMAL,
  files: Files = {},
): Promise<void> {
  for (const [yaml, expected] of cases) {
    const lines = await errorsOf(`${head}${yaml}\n`, {}, files);
    assert.equal(lines.length, 1, `${yaml}: ${lines.join("\n")}`);
    assert.match(lines[0]!, expected, yaml);
  }
}

/** Asserts that each text of a table, after `head`, loads to the values of {@link assertValues}. */
export async function assertLoads(table: string, head = MINIMAL, files: Files = {}): Promise<void> {
  for (const [yaml, values] of casesOf(table)) {
    assertValues((await load(head + yaml, {}, files)).config, values.join(", "), yaml);
  }
}

/** Asserts what is at some paths, written as YAML: `path: value, path: value`. */
export function assertValues(config: object, values: string, message = ""): void {
  for (const [path, value] of Object.entries(parse(`{${values}}`))) {
    assert.deepEqual(valueAt(config, path), value, `${message} ${path}`);
  }
}

/** The value at a dotted path; undefined where there is none. */
export const valueAt = (config: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((at, part) => (at as Record<string, unknown>)?.[part], config);

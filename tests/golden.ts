/**
 * For tests only: reads the recorded values in `tests/golden/`. The README there says which version
 * of which program made them.
 */

const FOLDER = new URL("./golden/", import.meta.url);

/** The path of a file or folder in `tests/golden/`. */
export function goldenPath(path: string): string {
  return new URL(path, FOLDER).pathname;
}

export function readGoldenText(path: string): string {
  return Deno.readTextFileSync(goldenPath(path));
}

export function readGoldenJson<T>(path: string): T {
  return JSON.parse(readGoldenText(path));
}

/** The values of all lines of a JSON Lines file. */
export function readGoldenLines<T>(path: string): T[] {
  return readGoldenText(path).split("\n").filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

/** The YAML texts of `pipelines/`, in the order of the file names. */
export function readPipelines(): string[] {
  return [...Deno.readDirSync(goldenPath("pipelines"))].map(({ name }) => name).sort()
    .map((name) => readGoldenText(`pipelines/${name}`));
}

/** Whether this file exists. Not every task has recorded values of every kind. */
export function hasGolden(path: string): boolean {
  try {
    return Deno.statSync(goldenPath(path)).isFile;
  } catch {
    return false;
  }
}

/**
 * Reads from the sources which file of the program imports which. Imports of types, lazy `import()`
 * and `new URL("./worker.ts", import.meta.url)` count. Imports of packages, of JSON and of other
 * data do not.
 */

export const ROOT = new URL("../../", import.meta.url);

/**
 * The folders of the program. Each may import only those before it in this list. `tests/`, `tools/`
 * and `examples/` may import anything.
 */
export const ROOMS = [
  "core",
  "hub",
  "tasks",
  "kernels",
  "data",
  "rewards",
  "configs",
  "cluster",
  "models",
  "serve",
  "bench",
  "training",
  "reports",
  "library",
  "cli",
] as const;

/** For each file, the files that it imports. Paths are relative to the root of the project. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/** Whether a file is a test, a benchmark or a helper of these. Such files may import anything. */
export function isTestFile(path: string): boolean {
  return /(_test|_bench|(^|[/_])testing)\.ts$/.test(path);
}

/** Finds imports. One of the groups is the path, which begins with a dot. */
const IMPORT = new RegExp(
  [
    String.raw`(?:^|\n)\s*(?:import|export)\b[^;"'\`]*?from\s*["'](\.[^"']+)["']`,
    String.raw`(?:^|\n)\s*import\s*["'](\.[^"']+)["']`,
    String.raw`\bimport\(\s*["'](\.[^"']+)["']`,
    String.raw`\bnew URL\(\s*["'](\.[^"']+\.ts)["'],\s*import\.meta\.url`,
  ].join("|"),
  "g",
);

/**
 * The relative imports of a source, as paths from the root, without duplicates.
 * @param path the path of the source from the root
 */
export function importsIn(text: string, path: string): string[] {
  const base = new URL(path, "file:///");
  const found = [...text.matchAll(IMPORT)].map((match) =>
    new URL(match.slice(1).find((specifier) => specifier !== undefined)!, base).pathname.slice(1)
  );
  return [...new Set(found)].filter((target) => target !== path);
}

/** Finds imports of packages. One of the groups is the name. */
const PACKAGE = new RegExp(
  String.raw`(?:^|\n)\s*(?:import|export)\b[^;"'\`]*?from\s*["']([^."'][^"']*)["']` +
    String.raw`|\bimport\(\s*["']([^."'][^"']*)["']`,
  "g",
);

/** The sources that some files reach by imports, with themselves; a text is a source here, too. */
function* reachedFrom(entries: readonly string[]): Generator<[path: string, text: string]> {
  const seen = new Set<string>(), waiting = [...entries];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (seen.has(path) || !path.endsWith(".ts")) continue;
    seen.add(path);
    const text = Deno.readTextFileSync(new URL(path, ROOT));
    waiting.push(...importsIn(text, path));
    yield [path, text];
  }
}

/** The packages that some files import, and all files that they reach. */
export function packagesOf(entries: readonly string[]): Set<string> {
  const packages = new Set<string>();
  for (const [, text] of reachedFrom(entries)) {
    for (const match of text.matchAll(PACKAGE)) packages.add((match[1] ?? match[2])!);
  }
  return packages;
}

/** Folders without text of the project: results, packages, git's files, recorded values. */
const NO_SOURCES = new Set([
  ".cache",
  ".git",
  "benchmark_results",
  "dist",
  "experiments",
  "logs",
  "node_modules",
  "tests/golden",
]);

/** The paths of all files of the project below a folder, from the root. "" is the root. */
export function* filesIn(folder = ""): Generator<string> {
  for (const entry of Deno.readDirSync(new URL(folder === "" ? "." : `${folder}/`, ROOT))) {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (NO_SOURCES.has(path)) continue;
    if (entry.isDirectory) yield* filesIn(path);
    else yield path;
  }
}

/** The paths of all TypeScript files below a folder. */
export function* sourcesIn(folder: string): Generator<string> {
  for (const path of filesIn(folder)) {
    if (path.endsWith(".ts")) yield path;
  }
}

/** Data files that the tasks read when they need them. */
export const ASSETS = [...filesIn("tasks/assets")].filter((path) => /\/[a-z_]+\.\w+$/.test(path))
  .sort();

/** The imports between the files of the program, without tests. */
export function readImports(): ImportGraph {
  const graph = new Map<string, string[]>();
  for (const room of ROOMS) {
    for (const path of sourcesIn(room)) {
      if (isTestFile(path)) continue;
      const targets = importsIn(Deno.readTextFileSync(new URL(path, ROOT)), path);
      graph.set(path, targets.filter((target) => target.endsWith(".ts")));
    }
  }
  return graph;
}

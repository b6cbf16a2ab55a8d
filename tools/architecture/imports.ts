/**
 * The import graph of the project, read from the sources: which file imports which, with type imports,
 * lazy `import()` and `new URL("./worker.ts", import.meta.url)` counted. Imports of packages, of JSON and
 * of other data are left out.
 */

export const ROOT = new URL("../../", import.meta.url);

/** Folders that hold the program. `tests/`, `tools/` and `examples/` may import anything. */
export const ROOMS = [
  "core",
  "hub",
  "tasks",
  "tracking",
  "kernels",
  "data",
  "rewards",
  "configs",
  "models",
  "evaluation",
  "training",
  "bench",
  "reports",
  "cluster",
  "cli",
] as const;

/** File → the files that it imports; paths from the root of the project. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/** Tests, benchmarks and their helpers: they may import upwards. */
export function isTestFile(path: string): boolean {
  return /(_test|_bench|(^|[/_])testing|test_support|test_data)\.ts$/.test(path);
}

const STATEMENT = new RegExp(
  [
    String.raw`(?:^|\n)\s*(?:import|export)\b[^;"'\`]*?from\s*["'](\.[^"']+)["']`,
    String.raw`(?:^|\n)\s*import\s*["'](\.[^"']+)["']`,
    String.raw`\bimport\(\s*["'](\.[^"']+)["']`,
    String.raw`\bnew URL\(\s*["'](\.[^"']+\.ts)["'],\s*import\.meta\.url`,
  ].join("|"),
  "g",
);

/** The relative imports in a source text, as paths from the root. */
export function importsIn(text: string, path: string): string[] {
  const base = new URL(path, "file:///");
  const found = [...text.matchAll(STATEMENT)].map((match) =>
    new URL(match.slice(1).find((specifier) => specifier !== undefined)!, base).pathname.slice(1)
  );
  return [...new Set(found)].filter((target) => target !== path);
}

/** All sources below a folder that the compiler of Deno sees (not AssemblyScript), as paths. */
export function* sourcesIn(folder: string): Generator<string> {
  for (const entry of Deno.readDirSync(new URL(`${folder}/`, ROOT))) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory) yield* sourcesIn(path);
    else if (path.endsWith(".ts") && !path.endsWith(".as.ts")) yield path;
  }
}

/** The graph of the program without its tests. */
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

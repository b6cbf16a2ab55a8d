/** The rooms and the directions of their imports, read from the code itself. */
import assert from "node:assert/strict";

/** Room → rooms it may import directly. `mod.ts` and `main.ts` stand above all. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  core: [],
  hub: ["core"],
  tasks: ["core"],
  kernels: ["core"],
  data: ["tasks", "hub", "core"],
  rewards: ["data", "tasks", "core"],
  models: ["kernels", "hub", "core"],
  configs: ["tasks", "rewards", "hub", "core"],
  training: ["models", "kernels", "rewards", "data", "tasks", "configs", "tracking", "core"],
  bench: ["models", "data", "tasks", "configs", "hub", "core"],
  tracking: ["core"],
  cluster: ["configs", "core"],
  cli: [
    "bench",
    "hub",
    "cluster",
    "tracking",
    "training",
    "models",
    "kernels",
    "rewards",
    "data",
    "tasks",
    "configs",
    "core",
  ],
};

const root = new URL("..", import.meta.url);

async function* sources(folder: URL): AsyncGenerator<URL> {
  for await (const entry of Deno.readDir(folder)) {
    if (entry.isDirectory) yield* sources(new URL(`${entry.name}/`, folder));
    else if (entry.name.endsWith(".ts") && !entry.name.endsWith(".as.ts")) {
      yield new URL(entry.name, folder);
    }
  }
}

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b[^;"']*?from\s*["'](\.[^"']+)["']|\bimport\(\s*["'](\.[^"']+)["']/g;

/** Relative imports of a file, as URLs. */
async function importsOf(file: URL): Promise<URL[]> {
  const text = await Deno.readTextFile(file);
  return [...text.matchAll(IMPORT)].map((match) => new URL(match[1] ?? match[2]!, file));
}

const roomOf = (file: URL) => file.href.slice(root.href.length).split("/")[0]!;
const pathOf = (file: URL) => file.href.slice(root.href.length);
const isTest = (file: URL) => /_(test|bench)\.ts$|\/testing\.ts$/.test(file.href);

Deno.test("imports between rooms point downwards only", async () => {
  const wrong: string[] = [];
  for (const [room, allowed] of Object.entries(MAY_IMPORT)) {
    for await (const file of sources(new URL(`${room}/`, root))) {
      if (isTest(file)) continue;
      for (const target of await importsOf(file)) {
        const other = roomOf(target);
        if (other !== room && !allowed.includes(other)) {
          wrong.push(`${pathOf(file)} imports ${pathOf(target)}: ${room} may not import ${other}`);
        }
      }
    }
  }
  assert.deepEqual(wrong, []);
});

Deno.test("no file imports itself through others", async () => {
  const graph = new Map<string, string[]>();
  for (const room of Object.keys(MAY_IMPORT)) {
    for await (const file of sources(new URL(`${room}/`, root))) {
      // A type-only or lazy cycle costs nothing at run time, but static ones make order matter.
      const text = (await Deno.readTextFile(file)).replaceAll(/\bimport type\b[^;]*;/g, "");
      const targets = [...text.matchAll(IMPORT)].filter((match) => match[1] !== undefined);
      graph.set(pathOf(file), targets.map((match) => pathOf(new URL(match[1]!, file))));
    }
  }
  assert.ok(graph.size > 20, "the import graph was not read");
  const state = new Map<string, "open" | "done">();
  const cycles: string[] = [];
  const visit = (file: string, chain: string[]): void => {
    if (state.get(file) === "done") return;
    if (state.get(file) === "open") {
      cycles.push([...chain.slice(chain.indexOf(file)), file].join(" → "));
      return;
    }
    state.set(file, "open");
    for (const target of graph.get(file) ?? []) visit(target, [...chain, file]);
    state.set(file, "done");
  };
  for (const file of graph.keys()) visit(file, []);
  assert.deepEqual(cycles, []);
});

Deno.test("every source file says what it is, and stays readable in length", async () => {
  const wrong: string[] = [];
  for (const room of Object.keys(MAY_IMPORT)) {
    for await (const file of sources(new URL(`${room}/`, root))) {
      const text = await Deno.readTextFile(file);
      const lines = text.split("\n").length;
      if (lines > 450 && !isTest(file)) wrong.push(`${pathOf(file)} has ${lines} lines`);
      if (!isTest(file) && !/^(?:#!.*\n)?\/(\*\*|\/)/.test(text)) {
        wrong.push(`${pathOf(file)} does not begin with a comment`);
      }
    }
  }
  assert.deepEqual(wrong, []);
});

Deno.test("the command line starts without loading what only some commands need", async () => {
  const loaded = new Set<string>(), waiting = [new URL("main.ts", root)];
  const statically =
    /(?:^|\n)\s*(?:import|export)\b(?!\s+type\b)[^;"']*?from\s*["'](\.[^"']+)["']/g;
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (loaded.has(file.href)) continue;
    loaded.add(file.href);
    const text = await Deno.readTextFile(file);
    for (const match of text.matchAll(statically)) waiting.push(new URL(match[1]!, file));
  }
  assert.ok(loaded.size > 5);
  const names = [...loaded].map((href) => href.slice(root.href.length));
  assert.ok(names.length < 30, `${names.length} files are loaded at every start: ${names}`);
});

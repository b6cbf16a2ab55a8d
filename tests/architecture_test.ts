/**
 * The rooms and the directions of their imports, read from the code itself, and what keeps files easy to
 * read: their length, their number in a folder, the width of comments, and that comments name files that exist.
 */
import assert from "node:assert/strict";
import { readImports, ROOMS, ROOT, sourcesIn } from "../tools/architecture/imports.ts";
import { isTestFile } from "../tools/architecture/imports.ts";
import { pictures, roomTable, withTable } from "../tools/architecture/page.ts";
import { circleIn, entriesOf, foldersOf } from "../tools/architecture/rooms.ts";

const graph = readImports();
const read = (path: string) => Deno.readTextFileSync(new URL(path, ROOT));

Deno.test("a room imports only rooms that stand before it in the list", () => {
  assert.ok(graph.size > 500, "the import graph was not read");
  const place = (path: string) => (ROOMS as readonly string[]).indexOf(path.split("/")[0]!);
  const wrong: string[] = [];
  for (const [path, targets] of graph) {
    for (const target of targets) {
      const isRoom = place(target) >= 0;
      if (!isRoom || place(target) > place(path)) wrong.push(`${path} imports ${target}`);
    }
  }
  assert.deepEqual(wrong, []);
});

Deno.test("in every folder, files and folders import one another without a circle", () => {
  const circles: string[] = [];
  for (const folder of foldersOf(graph)) {
    const circle = circleIn(entriesOf(graph, folder));
    if (circle !== null) circles.push(`${folder || "the root"}: ${circle.join(" → ")}`);
  }
  assert.deepEqual(circles, []);
});

Deno.test("ARCHITECTURE.md has the table and the pictures of today's imports", () => {
  const advice = "run: deno task docs:architecture";
  const page = read("ARCHITECTURE.md");
  assert.ok(page === withTable(page, roomTable(graph)), `the table is not today's; ${advice}`);
  for (const [path, text] of pictures(graph)) {
    assert.ok(read(path) === text, `${path} is not today's; ${advice}`);
    assert.ok(page.includes(`(${path})`), `ARCHITECTURE.md does not show ${path}`);
  }
});

Deno.test("no folder holds more than 25 files, tests apart", () => {
  const counts = new Map<string, number>();
  for (const path of graph.keys()) {
    const folder = path.slice(0, path.lastIndexOf("/"));
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  assert.deepEqual([...counts].filter(([, count]) => count > 25), []);
});

Deno.test("every source file says what it is, and stays readable in length", () => {
  const wrong: string[] = [];
  for (const path of [...graph.keys(), ...sourcesIn("tools")]) {
    const text = read(path), lines = text.split("\n").length;
    if (lines > 450) wrong.push(`${path} has ${lines} lines`);
    if (!isTestFile(path) && !/^(?:#!.*\n)?\/(\*\*|\/)/.test(text)) {
      wrong.push(`${path} does not begin with a comment`);
    }
  }
  assert.deepEqual(wrong, []);
});

/** All text of the project that has comments. */
function* commented(folder = "."): Generator<string> {
  for (const entry of Deno.readDirSync(new URL(`${folder}/`, ROOT))) {
    const path = folder === "." ? entry.name : `${folder}/${entry.name}`;
    if (/^(\.git|dist|experiments|node_modules|logs)$|golden$/.test(entry.name)) continue;
    if (entry.isDirectory) yield* commented(path);
    else if (/\.(ts|sh|py)$/.test(entry.name)) yield path;
  }
}

/** The comments of a source: number of the line, and its text. */
function* commentLines(text: string): Generator<[number, string]> {
  for (const [i, line] of text.split("\n").entries()) {
    if (/^\s*(\/\/|\/\*|\*|#)|\s\/\/ /.test(line)) yield [i + 1, line];
  }
}

Deno.test("lines with a comment have at most 100 columns", () => {
  const wide: string[] = [];
  for (const path of commented()) {
    for (const [number, line] of commentLines(read(path))) {
      if ([...line].length > 100) wide.push(`${path}:${number}`);
    }
  }
  assert.deepEqual(wide, []);
});

Deno.test("files that comments name exist", () => {
  const paths = new Set(commented()), names = new Set<string>();
  for (const path of paths) {
    for (let i = path.length; i > 0; i = path.lastIndexOf("/", i - 1)) names.add(path.slice(i + 1));
    names.add(path);
  }
  // Sources that the compiler's generators write, and files that an example makes up.
  for (const name of ["tiles.as.ts", "int8_tiles.as.ts", "codes.as.ts"]) names.add(name);
  const missing: string[] = [];
  for (const path of paths) {
    for (const [number, line] of commentLines(read(path))) {
      for (const [name] of line.matchAll(/(?<![\w./*{<$-])[\w-]+(?:[/.][\w-]+)*\.ts\b/g)) {
        if (!names.has(name) && !/(^|\/)(my|your|x|few_vowels|reward)[\w]*\.ts$/.test(name)) {
          missing.push(`${path}:${number}: ${name}`);
        }
      }
    }
  }
  assert.deepEqual(missing, []);
});

Deno.test("the command line starts without loading what only some commands need", async () => {
  const loaded = new Set<string>(), waiting = [new URL("main.ts", ROOT)];
  const statically =
    /(?:^|\n)\s*(?:import|export)\b(?!\s+type\b)[^;"']*?from\s*["'](\.[^"']+)["']/g;
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (loaded.has(file.href)) continue;
    loaded.add(file.href);
    const text = await Deno.readTextFile(file);
    for (const match of text.matchAll(statically)) waiting.push(new URL(match[1]!, file));
  }
  assert.ok(loaded.size > 5);
  const names = [...loaded].map((href) => href.slice(ROOT.href.length));
  assert.ok(names.length < 30, `${names.length} files are loaded at every start: ${names}`);
});

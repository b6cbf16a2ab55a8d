/**
 * Reads the sources of the project and checks two things: that imports between rooms and folders go
 * in one direction, and that files are easy to read (length, comments, number in a folder, links).
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import {
  filesIn,
  isTestFile,
  readImports,
  ROOMS,
  ROOT,
  sourcesIn,
} from "../../tools/architecture/imports.ts";
import { PAGES, pictures, withGenerated } from "../../tools/architecture/page.ts";
import { circleIn, entriesOf, foldersOf } from "../../tools/architecture/rooms.ts";

const MAX_LINES = 700, MAX_COLUMNS = 100, MAX_FILES = 25;

const graph = readImports();
const read = (path: string) => Deno.readTextFileSync(new URL(path, ROOT));

Deno.test("a room imports only rooms that are before it in the list", () => {
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

Deno.test("ARCHITECTURE.md has the table and the pictures of the current imports", () => {
  const advice = "run: deno task docs:architecture";
  for (const path of PAGES) {
    const isNew = read(path) === withGenerated(path, read(path), graph);
    assert.ok(isNew, `${path} is out of date; ${advice}`);
  }
  const page = read("ARCHITECTURE.md");
  for (const [path, text] of pictures(graph)) {
    assert.ok(read(path) === text, `${path} is out of date; ${advice}`);
    assert.ok(page.includes(`(${path})`), `ARCHITECTURE.md does not show ${path}`);
  }
});

Deno.test(`no folder has more than ${MAX_FILES} files, without tests`, () => {
  const counts = new Map<string, number>();
  for (const path of graph.keys()) {
    const folder = path.slice(0, path.lastIndexOf("/"));
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  assert.deepEqual([...counts].filter(([, count]) => count > MAX_FILES), []);
});

/** All files with code, configuration or documentation. */
const PATHS = [...filesIn()].filter((path) => /\.(ts|sh|py|yaml|md|c|h)$/.test(path));
const SOURCES = new Map(
  PATHS.filter((path) => !path.endsWith(".md")).map((path) => [path, read(path)]),
);

Deno.test(`no source has more than ${MAX_LINES} lines`, () => {
  const counts = [...SOURCES].map(([path, text]) => [path, text.split("\n").length - 1] as const);
  assert.deepEqual(counts.filter(([, count]) => count > MAX_LINES), []);
});

Deno.test("every file of the program begins with a comment on what it is", () => {
  const paths = [...graph.keys(), ...sourcesIn("tools"), ...sourcesIn("examples")];
  const bare = paths.filter((path) =>
    !isTestFile(path) && !/^(?:#!.*\n)?\/(\*\*|\/)/.test(SOURCES.get(path)!)
  );
  assert.deepEqual(bare, []);
});

/** The lines of a source with a comment, and their numbers. */
function* commentLines(text: string): Generator<[number, string]> {
  for (const [i, line] of text.split("\n").entries()) {
    if (/^\s*(\/\/|\/\*|\*|#)|\s\/\/ /.test(line)) yield [i + 1, line];
  }
}

Deno.test(`lines with a comment have at most ${MAX_COLUMNS} columns`, () => {
  const wide: string[] = [];
  for (const [path, text] of SOURCES) {
    for (const [number, line] of commentLines(text)) {
      if ([...line].length > MAX_COLUMNS) wide.push(`${path}:${number}`);
    }
  }
  assert.deepEqual(wide, []);
});

/** Names in comments that are no files of the project. */
const OTHER_FILES = new Set([
  // A file of every run, one of a project that rgx init makes, and one of another program.
  "report.md",
  "rewards/short_answer.ts",
  "ggml's docs/gguf.md",
]);

/** Files of users in examples. */
const EXAMPLE = /(^|\/)(my|your|x|few_vowels|reward)\w*\.ts$/;

Deno.test("files that comments name exist", () => {
  // Comments also name files without their first folders.
  const names = new Set(OTHER_FILES);
  for (const path of [...PATHS, "tests/golden/README.md"]) {
    for (let i = path.length; i > 0; i = path.lastIndexOf("/", i - 1)) names.add(path.slice(i + 1));
    names.add(path);
  }
  const missing: string[] = [];
  for (const [path, text] of SOURCES) {
    for (const [number, line] of commentLines(text)) {
      const found = line.matchAll(
        /(?<![\w./*{<$-])(?:ggml's )?[\w-]+(?:[/.][\w-]+)*\.(?:ts|md)\b/g,
      );
      for (const [name] of found) {
        if (!names.has(name) && !EXAMPLE.test(name)) missing.push(`${path}:${number}: ${name}`);
      }
    }
  }
  assert.deepEqual(missing, []);
});

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): Set<string> {
  const headings = page.replaceAll(/^```.*?^```/gms, "").matchAll(/^#+ (.*)$/gm);
  return new Set(
    [...headings].map(([, heading]) =>
      heading!.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_ -]/gu, "").replaceAll(" ", "-")
    ),
  );
}

/** Texts of generated pages of `docs/`; their links start there. */
const PARTS_OF_PAGES = /^(configs\/pages\/\w+|rewards\/writing_rewards)\.md$/;

Deno.test("links between pages lead to files and headings that exist", () => {
  const broken: string[] = [];
  for (const path of PATHS.filter((path) => path.endsWith(".md"))) {
    if (PARTS_OF_PAGES.test(path)) continue;
    const text = read(path).replaceAll(/^```.*?^```/gms, "");
    for (const [, link] of text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
      const { pathname, hash } = new URL(link!, new URL(path, ROOT));
      const target = decodeURIComponent(pathname.slice(ROOT.pathname.length));
      const exists = existsSync(new URL(target, ROOT));
      if (
        !exists || (hash !== "" && !anchorsOf(read(target)).has(decodeURIComponent(hash.slice(1))))
      ) {
        broken.push(`${path}: ${link}`);
      }
    }
  }
  assert.deepEqual(broken, []);
});

/** A file that a page shows how to write. */
const SHOWN_FILE = "tasks/categories/arithmetic/digit_sum.ts";

Deno.test("files that pages name exist", () => {
  const missing: string[] = [];
  for (const path of PATHS) {
    // The log names files as they were.
    if (!path.endsWith(".md") || path.startsWith("docs/log/")) continue;
    for (const [, name] of read(path).matchAll(/`(\w[\w.-]*(?:\/[\w.-]+)+\.(?:ts|c|sh|py))`/g)) {
      const isThere = PATHS.some((one) => one === name || one.endsWith(`/${name}`));
      if (!isThere && name !== SHOWN_FILE) missing.push(`${path}: ${name}`);
    }
  }
  assert.deepEqual(missing, []);
});

Deno.test("the command line starts without loading what only some commands need", () => {
  const loaded = new Set<string>(), waiting = [new URL("cli/program.ts", ROOT)];
  const staticImport =
    /(?:^|\n)\s*(?:import|export)\b(?!\s+type\b)[^;"']*?from\s*["'](\.[^"']+)["']/g;
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (loaded.has(file.href)) continue;
    loaded.add(file.href);
    for (const match of Deno.readTextFileSync(file).matchAll(staticImport)) {
      waiting.push(new URL(match[1]!, file));
    }
  }
  assert.ok(loaded.size > 5);
  const names = [...loaded].map((href) => href.slice(ROOT.href.length));
  assert.ok(names.length < 40, `${names.length} files are loaded at every start: ${names}`);
});

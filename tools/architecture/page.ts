/**
 * Writes what pages show of the sources: in `ARCHITECTURE.md` the table of the rooms, in
 * `docs/architecture/` the pictures of their imports, and in `docs/inside.md` the algorithm. A test
 * fails when one of them is out of date.
 *
 *     deno task docs:architecture
 */
import { instance } from "@viz-js/viz";
import { type ImportGraph, readImports, ROOMS, ROOT } from "./imports.ts";
import { circleIn, entriesOf, type EntryGraph, reduced } from "./rooms.ts";

/** Rooms of which a picture shows the inside. */
const PICTURED = ["kernels", "models", "training", "bench", "configs"] as const;

const viz = await instance();

/**
 * An SVG document of a graph without circles: each entry is above the entries that it imports.
 * Folders have square corners and files have round ones.
 * @throws Error if the graph has a circle
 */
function drawEntries(entries: EntryGraph): string {
  const circle = circleIn(entries);
  if (circle !== null) throw new Error(`a circle of imports: ${circle.join(" → ")}`);
  const nodes = [...entries.keys()].sort().map((name) => {
    const isFile = name.endsWith(".ts");
    const style = isFile ? "filled,rounded" : "filled";
    return { name, attributes: { style, fillcolor: isFile ? "#f7f3e3" : "#dbe9f6" } };
  });
  const edges = [...reduced(entries)].flatMap(([tail, heads]) =>
    [...heads].sort().map((head) => ({ tail, head }))
  );
  // Fonts differ in width, so texts have room.
  const nodeAttributes = {
    shape: "box",
    fontname: "sans-serif",
    color: "#444444",
    margin: "0.4,0.08",
  };
  const edgeAttributes = { color: "#666677", arrowsize: 0.7 };
  const graphAttributes = { bgcolor: "white" };
  return viz.renderString(
    { nodes, edges, nodeAttributes, edgeAttributes, graphAttributes },
    { format: "svg" },
  );
}

/** The SVG text of every picture, by path. */
export function pictures(graph: ImportGraph): Map<string, string> {
  return new Map(["", ...PICTURED].map((room) => [
    `docs/architecture/${room || "rooms"}.svg`,
    drawEntries(entriesOf(graph, room)),
  ]));
}

/**
 * The table of the rooms in Markdown. A room imports only rooms in the rows below it. The contents
 * of a room are written by hand in the table of the page, and are kept.
 */
function roomTable(graph: ImportGraph, page: string): string {
  const entries = entriesOf(graph, "");
  const rows = [...ROOMS].reverse().map((room) => {
    const imports = ROOMS.filter((other) => entries.get(room)?.has(other));
    const list = imports.length === 0 ? "–" : imports.map((name) => `\`${name}\``).join(", ");
    const [, holds = ""] = new RegExp(`^\\| \`${room}/\` \\| (.*?) \\|`, "m").exec(page) ?? [];
    return `| \`${room}/\` | ${holds} | ${list} |`;
  });
  return ["| room | holds | imports |", "| --- | --- | --- |", ...rows].join("\n");
}

/** The methods of `training/grpo.ts` that are one step of GRPO, as a block of code. */
function algorithm(): string {
  const source = Deno.readTextFileSync(new URL("training/grpo.ts", ROOT));
  const methods = ["step", "#batch", "#rollOut", "#loss"].map((name) => {
    const at = source.indexOf(`\n  async ${name}(`), end = source.indexOf("\n  }\n", at);
    if (at < 0) throw new Error(`training/grpo.ts has no method ${name}`);
    return source.slice(source.lastIndexOf("\n\n", at) + 2, end + 5).replace(/^ {2}/gm, "");
  });
  return ["```ts ignore", methods.join("\n").trimEnd(), "```"].join("\n");
}

/** A page with the text that its sources give it now. @throws Error if the page has no place */
export function withGenerated(path: string, page: string, graph: ImportGraph): string {
  const [name, text] = path === "ARCHITECTURE.md"
    ? ["rooms", roomTable(graph, page)]
    : ["algorithm", algorithm()];
  const begin = `<!-- ${name}: written by deno task docs:architecture -->`;
  const end = `<!-- end of ${name} -->`, from = page.indexOf(begin), to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error(`${path} lacks the lines ${begin} and ${end}`);
  return `${page.slice(0, from + begin.length)}\n<!-- deno-fmt-ignore-start -->\n\n${text}\n\n` +
    `<!-- deno-fmt-ignore-end -->\n${page.slice(to)}`;
}

/** The pages that hold a text of the sources. */
export const PAGES = ["ARCHITECTURE.md", "docs/inside.md"];

if (import.meta.main) {
  const graph = readImports();
  Deno.mkdirSync(new URL("docs/architecture/", ROOT), { recursive: true });
  for (const [path, text] of pictures(graph)) Deno.writeTextFileSync(new URL(path, ROOT), text);
  for (const path of PAGES) {
    const page = new URL(path, ROOT), text = Deno.readTextFileSync(page);
    Deno.writeTextFileSync(page, withGenerated(path, text, graph));
  }
}

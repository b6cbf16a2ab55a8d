/**
 * Writes what `ARCHITECTURE.md` says about imports: the table of the rooms, and the pictures in
 * `docs/architecture/`. A test fails when either is out of date.
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
export function roomTable(graph: ImportGraph, page: string): string {
  const entries = entriesOf(graph, "");
  const rows = [...ROOMS].reverse().map((room) => {
    const imports = ROOMS.filter((other) => entries.get(room)?.has(other));
    const list = imports.length === 0 ? "–" : imports.map((name) => `\`${name}\``).join(", ");
    const [, holds = ""] = new RegExp(`^\\| \`${room}/\` \\| (.*?) \\|`, "m").exec(page) ?? [];
    return `| \`${room}/\` | ${holds} | ${list} |`;
  });
  return ["| room | holds | imports |", "| --- | --- | --- |", ...rows].join("\n");
}

const BEGIN = "<!-- rooms: written by deno task docs:architecture -->",
  END = "<!-- end of rooms -->";

/** The page with the table between BEGIN and END. @throws Error if these lines are missing */
export function withTable(page: string, table: string): string {
  const from = page.indexOf(BEGIN), to = page.indexOf(END);
  if (from < 0 || to < from) throw new Error(`ARCHITECTURE.md lacks the lines ${BEGIN} and ${END}`);
  return `${page.slice(0, from + BEGIN.length)}\n<!-- deno-fmt-ignore-start -->\n\n${table}\n\n` +
    `<!-- deno-fmt-ignore-end -->\n${page.slice(to)}`;
}

if (import.meta.main) {
  const graph = readImports(), page = new URL("ARCHITECTURE.md", ROOT);
  Deno.mkdirSync(new URL("docs/architecture/", ROOT), { recursive: true });
  for (const [path, text] of pictures(graph)) Deno.writeTextFileSync(new URL(path, ROOT), text);
  const text = Deno.readTextFileSync(page);
  Deno.writeTextFileSync(page, withTable(text, roomTable(graph, text)));
}

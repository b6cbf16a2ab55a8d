/**
 * Writes what `ARCHITECTURE.md` says about imports: the table of the rooms, and the pictures in
 * `docs/architecture/`. A test fails when either is out of date.
 *
 *     deno task docs:architecture
 */
import { instance } from "@viz-js/viz";
import { type ImportGraph, readImports, ROOMS, ROOT } from "./imports.ts";
import { circleIn, entriesOf, type EntryGraph, reduced } from "./rooms.ts";

/** What each room holds: `note` is for its box in the picture, `holds` for its row of the table. */
const ABOUT: Readonly<Record<typeof ROOMS[number], [note: string, holds: string]>> = {
  core: [
    "errors, files, random numbers",
    "errors, atomic files, locks, random numbers, statistics, what the machine and the job offer",
  ],
  hub: [
    "Hugging Face Hub",
    "downloads from the Hugging Face Hub and the cache shared with Python; uploads",
  ],
  tasks: ["problems and scoring", "one file a task, by category; registry, data sets, curriculum"],
  kernels: [
    "numerical engine",
    "the numerical engine: operations, three devices, one conformance suite",
  ],
  data: [
    "prompts, answers, sources",
    "prompt texts, extraction and scoring of answers, problem sources, held-out splits",
  ],
  rewards: [
    "reward functions",
    "rewards by where they are from, the registry, the weighted rubric, rewards of users",
  ],
  configs: [
    "YAML and its schema",
    "configuration files: reading, inheritance, overrides, one schema, keys of other trainers",
  ],
  models: [
    "tokenizers, network, generation",
    "tokenizers, file formats, the network with its adapters, generation, export",
  ],
  serve: [
    "OpenAI-compatible server",
    "the OpenAI-compatible server: requests, queue, adapters, streams",
  ],
  training: [
    "GRPO",
    "the GRPO loop: rollout, loss, optimizer, checkpoints, the run's folder, files of trackers",
  ],
  bench: [
    "the measure, models × tasks",
    "benchmarks: models × tasks, workers, remote models, paired tests; the measure " +
    "(`evaluation/`), which training shares",
  ],
  reports: [
    "charts, reports, the web page",
    "charts, the report of a run, the card of a shared model, the web page (`dashboard/`)",
  ],
  cluster: [
    "SLURM, ranks",
    "job scripts for SLURM; `ranks/`: the ranks of a run by MPI, sums in a fixed order",
  ],
  library: ["the public library", "the sections of the library: what each exports, with examples"],
  cli: ["commands", "the commands: flags, calls, what is printed"],
};

/** Rooms of which a picture shows the inside. */
const PICTURED = ["kernels", "models", "training", "bench", "configs"] as const;

const viz = await instance();

/**
 * An SVG document of a graph without circles: each entry is above the entries that it imports.
 * Folders have square corners and files have round ones.
 * @param notes a few words for the second line in the box of an entry
 * @throws Error if the graph has a circle
 */
function drawEntries(entries: EntryGraph, notes: Readonly<Record<string, string>>): string {
  const circle = circleIn(entries);
  if (circle !== null) throw new Error(`a circle of imports: ${circle.join(" → ")}`);
  const nodes = [...entries.keys()].sort().map((name) => {
    const isFile = name.endsWith(".ts"), note = notes[name];
    const label = note === undefined ? name : `${name}\n${note}`;
    const style = isFile ? "filled,rounded" : "filled";
    return { name, attributes: { label, style, fillcolor: isFile ? "#f7f3e3" : "#dbe9f6" } };
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
  const notes = Object.fromEntries(Object.entries(ABOUT).map(([room, [note]]) => [room, note]));
  const texts = new Map([[
    "docs/architecture/rooms.svg",
    drawEntries(entriesOf(graph, ""), notes),
  ]]);
  for (const room of PICTURED) {
    texts.set(`docs/architecture/${room}.svg`, drawEntries(entriesOf(graph, room), {}));
  }
  return texts;
}

/** The table of the rooms in Markdown. A room imports only rooms in the rows below it. */
export function roomTable(graph: ImportGraph): string {
  const entries = entriesOf(graph, "");
  const rows = [...ROOMS].reverse().map((room) => {
    const imports = ROOMS.filter((other) => entries.get(room)?.has(other));
    const list = imports.length === 0 ? "–" : imports.map((name) => `\`${name}\``).join(", ");
    return `| \`${room}/\` | ${ABOUT[room][1]} | ${list} |`;
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
  Deno.writeTextFileSync(page, withTable(Deno.readTextFileSync(page), roomTable(graph)));
}

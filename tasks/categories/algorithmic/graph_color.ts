/** Colour the vertices of a graph so that neighbours differ. */
import { RgxError } from "../../../core/errors.ts";
import { consecutive, counts, defineTask, float, int } from "../../define.ts";
import { parseJson } from "../../python/literals.ts";

const MAX_DRAWS = 10_000;

export default defineTask({
  description: "Colour the vertices of a graph.",
  scoring:
    "1 for a JSON map that gives every vertex one of the colours and no two neighbours the same; " +
    "0.01 for another JSON map or list; else 0.",
  params: {
    num_vertices: counts([10, 10], "vertices", { min: 1, spans: [6, 10, 20, 25] }),
    num_colors: int(3, "colours", { min: 1, levels: [5, 4, 3] }),
    edge_probability: float(0.1, "share of pairs that are joined, less than 1", { min: 0 }),
  },
  rules: { "edge_probability: must be less than 1": (c) => c.edge_probability < 1 },
  generate(random, config) {
    const { num_colors, min_num_vertices: min, max_num_vertices: max, edge_probability } = config;
    for (let draw = 0; draw < MAX_DRAWS; draw++) {
      const count = random.int(min, max);
      const edges: [number, number][] = [], colors: Record<number, number> = {};
      const vertices = consecutive(0, count - 1), options = consecutive(1, num_colors);
      // The colours of each vertex's earlier neighbours: it gets the smallest other one.
      const taken: number[][] = [];
      for (const _ of vertices) taken.push([]);
      let pairs = "", most = 0;
      for (const a of vertices) {
        let color = 1;
        while (taken[a]!.includes(color)) color++;
        colors[a] = color;
        most = Math.max(most, color);
        for (let b = a + 1; b < count; b++) {
          if (!random.chance(edge_probability)) continue;
          edges.push([a, b]);
          taken[b]!.push(color);
          pairs += `${pairs && ", "}(${a}, ${b})`;
        }
      }
      if (most > num_colors) continue;
      return {
        question:
          "Give each vertex of this graph a colour such that vertices joined by an edge have " +
          `different colours.\nVertices: ${vertices.join(", ")}\n` +
          `Edges: ${pairs || "none"}\nColours: ${options.join(", ")}\n` +
          "Answer with a JSON map from every vertex, in double quotes, to its colour (such as: " +
          '{"0": 1, "1": 2, "2": 1}).',
        answer: null,
        metadata: {
          possible_answer: colors,
          puzzle: { vertices, edges, num_colors, color_options: options },
          num_vertices: count,
        },
      };
    }
    throw new RgxError(
      `graph_color: none of ${MAX_DRAWS} random graphs could be coloured greedily with ` +
        `num_colors = ${num_colors} colours`,
      { advice: "raise num_colors or lower max_num_vertices or edge_probability" },
    );
  },
  score(answer, entry) {
    const map = parseJson(answer), puzzle = entry.metadata?.["puzzle"];
    if (typeof map !== "object" || map === null || !isPuzzle(puzzle)) return 0;
    if (Array.isArray(map)) return 0.01;
    const options = new Set(puzzle.color_options);
    const colorOf = (vertex: number) => {
      const color = (map as Record<string, unknown>)[String(vertex)];
      return typeof color === "boolean" ? Number(color) : color;
    };
    const right = puzzle.vertices.every((vertex) => options.has(colorOf(vertex))) &&
      puzzle.edges.every(([a, b]) => colorOf(a) !== colorOf(b));
    return right ? 1 : 0.01;
  },
});

interface Puzzle {
  vertices: number[];
  edges: [number, number][];
  color_options: unknown[];
}

function isPuzzle(value: unknown): value is Puzzle {
  const { vertices, edges, color_options } = (value ?? {}) as Record<string, unknown>;
  return Array.isArray(vertices) && Array.isArray(edges) && Array.isArray(color_options) &&
    edges.every((edge) => Array.isArray(edge));
}

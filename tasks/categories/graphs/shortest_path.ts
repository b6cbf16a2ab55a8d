/** The shortest path through a grid with blocked cells, by breadth-first search. */
import { counts, defineTask, float } from "../../define.ts";
import { strip, words } from "../../python/text.ts";
import { gridText, rowsOf } from "../../grids.ts";

const STEPS: readonly (readonly [name: string, row: number, column: number])[] = [
  ["right", 0, 1],
  ["down", 1, 0],
  ["left", 0, -1],
  ["up", -1, 0],
];
const STEP_OF = new Map(STEPS.map(([name, row, column]) => [name, { row, column }]));

export default defineTask({
  description: "Find the shortest path through a grid with obstacles.",
  scoring:
    "1 for the given path or another legal one of the same length, 0.5 for a longer legal path, " +
    "else 0.",
  params: {
    rows: counts([5, 8], "rows", { min: 1, levels: [10, 25, 50, 100] }),
    cols: counts([5, 8], "columns", { min: 1, levels: [10, 25, 50, 100] }),
    p_blocked: float(0.4, "probability that a cell is blocked", { min: 0, max: 1 }),
  },
  rules: {
    "min_rows: a grid needs two cells, for the start and the goal": (c) =>
      c.min_rows * c.min_cols >= 2,
  },
  generate(random, config) {
    const rows = random.int(config.min_rows, config.max_rows);
    const columns = random.int(config.min_cols, config.max_cols);
    const cells: string[] = Array.from(
      { length: rows * columns },
      () => random.chance(config.p_blocked) ? "X" : "O",
    );
    const start = random.below(cells.length);
    const other = random.below(cells.length - 1);
    cells[start] = "*";
    cells[other < start ? other : other + 1] = "#";
    const matrix = rowsOf(cells, columns);
    const path = shortestPath(matrix);
    return {
      question:
        "In this grid, * is the start, # is the goal, O is a free cell and X is a blocked " +
        "cell. A step goes up, down, left or right to a neighbouring cell that is not blocked.\n" +
        `${gridText(matrix)}\n` +
        "Which steps lead from * to # on a shortest path? Answer with the directions in order, " +
        "separated by spaces (such as: down down right), or with the word infeasible when the " +
        "goal cannot be reached.",
      answer: path === null ? "infeasible" : path.join(" "),
      metadata: { matrix, solution: path ?? [] },
    };
  },
  score(answer, entry) {
    const oracle = entry.answer ?? "";
    if (strip(answer) === strip(oracle)) return 1;
    const matrix = entry.metadata?.["matrix"];
    const steps = words(answer);
    if (!isMatrix(matrix) || !reachesGoal(matrix, steps)) return 0;
    return steps.length <= words(oracle).length ? 1 : 0.5;
  },
});

/** The directions from * to #, or null when there is no path. */
export function shortestPath(matrix: readonly (readonly string[])[]): string[] | null {
  const columns = matrix[0]!.length;
  const cells = matrix.flat();
  const start = cells.indexOf("*"), goal = cells.indexOf("#");
  /** The step by which a cell was first reached; −1 if it was not. */
  const reachedBy = new Int8Array(cells.length).fill(-1);
  const queue = [start];
  for (let head = 0; head < queue.length && reachedBy[goal] === -1; head++) {
    const row = Math.floor(queue[head]! / columns), column = queue[head]! % columns;
    for (let s = 0; s < STEPS.length; s++) {
      const r = row + STEPS[s]![1], c = column + STEPS[s]![2], next = r * columns + c;
      if (r < 0 || r >= matrix.length || c < 0 || c >= columns) continue;
      if (cells[next] === "X" || next === start || reachedBy[next] !== -1) continue;
      reachedBy[next] = s;
      queue.push(next);
    }
  }
  if (reachedBy[goal] === -1) return null;
  const path: string[] = [];
  for (let cell = goal; cell !== start;) {
    const [name, row, column] = STEPS[reachedBy[cell]!]!;
    path.push(name);
    cell -= row * columns + column;
  }
  return path.reverse();
}

function isMatrix(value: unknown): value is string[][] {
  return Array.isArray(value) && value.every((row) => Array.isArray(row));
}

function reachesGoal(matrix: readonly (readonly string[])[], steps: readonly string[]): boolean {
  let row = matrix.findIndex((cells) => cells.includes("*"));
  let column = matrix[row]?.indexOf("*") ?? -1;
  for (const name of steps) {
    const step = STEP_OF.get(name);
    if (step === undefined) return false;
    row += step.row;
    column += step.column;
    const cell = matrix[row]?.[column];
    if (cell === undefined || cell === "X") return false;
  }
  return matrix[row]?.[column] === "#";
}

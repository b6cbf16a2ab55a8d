/** Minutes until rot has spread to every fresh orange of a grid, by breadth-first search. */
import { counts, defineTask, exactScore, float } from "../../../define.ts";
import { digitText } from "./matrix.ts";

const FRESH = 1, ROTTEN = 2;

export default defineTask({
  description: "Find how long rot takes to reach every orange of a grid.",
  ...exactScore("the number"),
  params: {
    n: counts([10, 30], "rows and columns", { min: 2, levels: [10, 25, 50, 100] }),
    p_oranges: float(0.85, "probability that a cell has an orange", { min: 0, max: 1 }),
    p_rotten: float(0.1, "probability that an orange is rotten", { min: 0, max: 1 }),
  },
  rules: {
    "p_oranges: must be above 0": ({ p_oranges }) => p_oranges > 0,
    "p_rotten: must be above 0": ({ p_rotten }) => p_rotten > 0,
  },
  generate(random, config) {
    const n = random.int(config.min_n, config.max_n);
    // One draw for each cell: below `rotten` a rotten orange, below `orange` a fresh one.
    const orange = config.p_oranges * 2 ** 32, rotten = orange * config.p_rotten;
    const matrix: number[][] = [];
    for (let row = 0; row < n; row++) {
      const cells: number[] = new Array(n);
      for (let column = 0; column < n; column++) {
        const drawn = random.u32();
        cells[column] = drawn < rotten ? ROTTEN : drawn < orange ? FRESH : 0;
      }
      matrix.push(cells);
    }
    const solution = minutes(matrix);
    return {
      question: "In this grid, 0 is an empty cell, 1 a fresh orange and 2 a rotten orange.\n" +
        `${digitText(matrix)}\nEach minute, every fresh orange directly above, below, left or ` +
        "right of a rotten one rots too. After how many minutes is no fresh orange left? Answer " +
        "with the number only: 0 when there is none to begin with, and -1 when some orange never " +
        "rots.",
      answer: String(solution),
      metadata: { matrix, solution, n },
    };
  },
});

/** Minutes until no orange of a square grid is fresh; −1 when some stay fresh. */
function minutes(matrix: readonly (readonly number[])[]): number {
  const n = matrix.length;
  // A border of empty cells gives every cell of the grid four neighbours.
  const width = n + 2;
  const cells = new Uint8Array(width * width);
  const queue = new Int32Array(n * n);
  let end = 0, fresh = 0;
  for (let row = 0; row < n; row++) {
    for (let column = 0; column < n; column++) {
      const cell = (row + 1) * width + column + 1, value = matrix[row]![column]!;
      cells[cell] = value;
      if (value === ROTTEN) queue[end++] = cell;
      else if (value === FRESH) fresh++;
    }
  }
  const steps = [1, -1, width, -width];
  let minute = 0;
  for (let start = 0; fresh > 0 && start < end; minute++) {
    const stop = end;
    for (; start < stop; start++) {
      for (const step of steps) {
        const next = queue[start]! + step;
        if (cells[next] !== FRESH) continue;
        cells[next] = ROTTEN;
        queue[end++] = next;
        fresh--;
      }
    }
  }
  return fresh > 0 ? -1 : minute;
}

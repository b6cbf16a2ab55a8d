/** 4×4 sudoku with exactly one solution. There are only 288 complete grids. */
import { counts, defineTask, NUMBER_GRID, type RandomStream } from "../../define.ts";
import {
  blockUnits,
  CellSolver,
  digitRows,
  digitsText,
  emptyCells,
  latinUnits,
  makeShape,
} from "./cell_solver.ts";

const SIZE = 4;
/** Maximum number of failed guesses; no grid of this size needs as many. */
const MAX_FAILURES = 1000;

export default defineTask({
  description: "Solve a 4×4 sudoku.",
  ...NUMBER_GRID,
  params: {
    empty: counts([8, 12], "empty cells", { min: 0, max: 12, spans: [4, 6, 8, 10, 12] }),
  },
  generate(random, config) {
    const empty = random.int(config.min_empty, config.max_empty);
    const { puzzle, solution } = drawPuzzle(random, empty);
    return {
      question:
        "Fill in this 4×4 sudoku. Every row, every column and every 2×2 corner block must hold " +
        `each of 1, 2, 3 and 4 exactly once; _ marks an empty cell.\n${digitsText(puzzle)}\n` +
        "Answer with the completed grid: four lines of four digits separated by spaces.",
      answer: digitsText(solution),
      metadata: { puzzle, solution, num_empty: empty },
    };
  },
});

const shape = makeShape(SIZE, [...latinUnits(SIZE), ...blockUnits(2)]);
let made: { grids: Uint16Array[]; solver: CellSolver } | undefined;

/** Clears `empty` cells of a grid in random order while the solution stays unique. */
function drawPuzzle(random: RandomStream, empty: number) {
  const { grids, solver } = made ??= { grids: completeGrids(), solver: new CellSolver(shape) };
  for (;;) {
    const solution = random.choice(grids), puzzle = solution.slice();
    if (emptyCells(random, solver, puzzle, empty, MAX_FAILURES) < empty) continue;
    return { puzzle: digitRows(puzzle, SIZE), solution: digitRows(solution, SIZE) };
  }
}

/** All complete grids, those with lower digits in the first cells first. */
function completeGrids(): Uint16Array[] {
  const grids: Uint16Array[] = [], grid = new Uint16Array(shape.cells);
  const fill = (cell: number) => {
    if (cell === shape.cells) {
      grids.push(grid.slice());
      return;
    }
    for (let bit = 1; bit < 1 << SIZE; bit <<= 1) {
      if (shape.peers[cell]!.some((other) => other < cell && grid[other] === bit)) continue;
      grid[cell] = bit;
      fill(cell + 1);
    }
  };
  fill(0);
  return grids;
}

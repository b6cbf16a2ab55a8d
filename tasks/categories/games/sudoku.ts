/**
 * Sudoku with exactly one solution: 9×9 and 4×4. Cells of a random complete grid are emptied in
 * random order as long as the solution stays unique.
 */
import { counts, defineTask, NUMBER_GRID, type RandomStream } from "../../define.ts";
import { once } from "../../once.ts";
import * as cells from "./cell_solver.ts";

const MINI_SIZE = 4, SIZE = 9;
/**
 * Maximum number of failed guesses. If a search needs more, the cell keeps its digit; no grid of
 * 4×4 needs as many.
 */
const MAX_FAILURES = 200;

/** A solver for grids of side × side blocks; it is made when it is first needed. */
const solverOf = once((side: number) => {
  const units = [...cells.latinUnits(side * side), ...cells.blockUnits(side)];
  return new cells.CellSolver(cells.makeShape(side * side, units));
});

export const sudoku = defineTask({
  description: "Solve a 9×9 sudoku.",
  ...NUMBER_GRID,
  params: {
    empty: counts([30, 50], "empty cells", {
      note: "; fewer where more would allow a second solution",
      min: 0,
      max: 64,
      spans: [20, 30, 40, 50, 60],
    }),
  },
  generate(random, config) {
    const wanted = random.int(config.min_empty, config.max_empty), clues = completeGrid(random);
    const solution = cells.digitRows(clues, SIZE);
    const empty = cells.emptyCells(random, solverOf(3), clues, wanted, MAX_FAILURES);
    const puzzle = cells.digitRows(clues, SIZE);
    return {
      question:
        "Fill in this sudoku. Every row, every column and each of the nine 3×3 blocks must " +
        "hold each digit from 1 to 9 exactly once; _ marks an empty cell.\n" +
        `${cells.digitsText(puzzle)}\n` +
        "Answer with the completed grid: nine lines of nine digits separated by spaces.",
      answer: cells.digitsText(solution),
      metadata: { puzzle, solution, num_empty: empty },
    };
  },
});

/** A random complete grid. Candidates are tried in random order, so every grid is possible. */
function completeGrid(random: RandomStream): Uint16Array {
  const open = new Uint16Array(SIZE * SIZE).fill(2 ** SIZE - 1);
  for (;;) {
    const digits = random.shuffle(Array.from({ length: SIZE }, (_, i) => 1 << i));
    digits.forEach((bit, column) => open[column] = bit);
    const grid = solverOf(3).solve(open, MAX_FAILURES, (bits) => random.shuffle(bits));
    if (grid) return grid;
  }
}

export const mini_sudoku = defineTask({
  description: "Solve a 4×4 sudoku.",
  ...NUMBER_GRID,
  params: { empty: counts([8, 12], "empty cells", { min: 0, max: 12, spans: [4, 6, 8, 10, 12] }) },
  generate(random, config) {
    const empty = random.int(config.min_empty, config.max_empty);
    const { puzzle, solution } = drawMini(random, empty);
    return {
      question:
        "Fill in this 4×4 sudoku. Every row, every column and every 2×2 corner block must hold " +
        "each of 1, 2, 3 and 4 exactly once; _ marks an empty cell.\n" +
        `${cells.digitsText(puzzle)}\n` +
        "Answer with the completed grid: four lines of four digits separated by spaces.",
      answer: cells.digitsText(solution),
      metadata: { puzzle, solution, num_empty: empty },
    };
  },
});

function drawMini(random: RandomStream, empty: number) {
  for (;;) {
    const solution = random.choice(miniGrids()), puzzle = solution.slice();
    if (cells.emptyCells(random, solverOf(2), puzzle, empty, MAX_FAILURES) < empty) continue;
    return {
      puzzle: cells.digitRows(puzzle, MINI_SIZE),
      solution: cells.digitRows(solution, MINI_SIZE),
    };
  }
}

/** All 288 complete grids, those with lower digits in the first cells first. */
const miniGrids = once(() => {
  const grids: Uint16Array[] = [], { shape } = solverOf(2), grid = new Uint16Array(shape.cells);
  const fill = (cell: number) => {
    if (cell === shape.cells) {
      grids.push(grid.slice());
      return;
    }
    for (let bit = 1; bit < 1 << MINI_SIZE; bit <<= 1) {
      if (shape.peers[cell]!.some((other) => other < cell && grid[other] === bit)) continue;
      grid[cell] = bit;
      fill(cell + 1);
    }
  };
  fill(0);
  return grids;
});

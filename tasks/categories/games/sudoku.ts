/**
 * 9×9 sudoku with exactly one solution. Cells of a random complete grid are emptied in random order
 * as long as the solution stays unique.
 */
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

const SIZE = 9, CELLS = 81, FULL = 0x1ff;
/** Maximum number of failed guesses. If a search needs more, the cell keeps its digit. */
const MAX_FAILURES = 200;

export default defineTask({
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
    const { puzzle, solution, empty } = drawPuzzle(
      random,
      random.int(config.min_empty, config.max_empty),
    );
    return {
      question:
        "Fill in this sudoku. Every row, every column and each of the nine 3×3 blocks must " +
        `hold each digit from 1 to 9 exactly once; _ marks an empty cell.\n${
          digitsText(puzzle)
        }\n` +
        "Answer with the completed grid: nine lines of nine digits separated by spaces.",
      answer: digitsText(solution),
      metadata: { puzzle, solution, num_empty: empty },
    };
  },
});

let solver: CellSolver | undefined;

function sudokuSolver(): CellSolver {
  return solver ??= new CellSolver(makeShape(SIZE, [...latinUnits(SIZE), ...blockUnits(3)]));
}

function drawPuzzle(random: RandomStream, wanted: number) {
  const clues = completeGrid(random);
  const solution = digitRows(clues, SIZE);
  const empty = emptyCells(random, sudokuSolver(), clues, wanted, MAX_FAILURES);
  return { puzzle: digitRows(clues, SIZE), solution, empty };
}

/** A random complete grid. Candidates are tried in random order, so every grid is possible. */
function completeGrid(random: RandomStream): Uint16Array {
  const open = new Uint16Array(CELLS).fill(FULL);
  for (;;) {
    const digits = random.shuffle(Array.from({ length: SIZE }, (_, i) => 1 << i));
    digits.forEach((bit, column) => open[column] = bit);
    const grid = sudokuSolver().solve(open, MAX_FAILURES, (bits) => random.shuffle(bits));
    if (grid) return grid;
  }
}

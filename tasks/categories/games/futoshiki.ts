/**
 * Futoshiki with exactly one solution. Cells of a Latin square with inequalities between neighbours
 * are emptied in random order as long as the solution stays unique, until a tenth of the cells is
 * left.
 */
import { counts, defineTask, NUMBER_GRID, type RandomStream, sizes } from "../../define.ts";
import * as cells from "./cell_solver.ts";
import { once } from "../../once.ts";

/** Maximum number of failed guesses. If a search needs more, the cell keeps its digit. */
const MAX_FAILURES = 100;
const MIN_CLUE_SHARE = 0.1;

export default defineTask({
  description: "Complete a Latin square with greater-than signs.",
  ...NUMBER_GRID,
  params: {
    board_size: counts([4, 9], "rows and columns", { min: 4, max: 9, levels: [4, 6, 7, 9] }),
    difficulty: sizes([0, 3], "difficulty", {
      note: ": neighbours have a sign with 0.03 + 0.07 × it",
      min: 0,
      max: 13,
      levels: [0, 1, 2, 3],
    }),
  },
  generate(random, config) {
    const n = random.int(config.min_board_size, config.max_board_size);
    const rating = random.int(config.min_difficulty, config.max_difficulty);
    const square = latinSquare(random, n);
    const constraints = drawConstraints(random, square, n, 0.03 + 0.07 * rating);
    const puzzle = cells.digitRows(emptied(random, square, n, constraints), n);
    const solution = cells.digitRows(square, n);
    return {
      question:
        `Fill in this ${n}×${n} futoshiki. Every row and every column must hold each number ` +
        `from 1 to ${n} exactly once; _ marks an empty cell. The signs < and > compare the cells ` +
        "to their left and right; ∧ means that the cell above it is smaller than the cell below " +
        "it, ∨ that the cell above it is larger.\n\n" +
        `${boardText(puzzle, constraints)}\n\nAnswer with the same drawing, signs and spacing ` +
        "unchanged, with a number in place of every _.",
      answer: boardText(solution, constraints),
      metadata: { puzzle, constraints, solution, board_size: n, difficulty_rating: rating },
    };
  },
});

/** The sign compares the first cell with the second. */
type Constraint = [row1: number, column1: number, row2: number, column2: number, sign: "<" | ">"];

const shapeOf = once((n: number) => cells.makeShape(n, cells.latinUnits(n)));

/** A random Latin square as single bits. Every Latin square is possible. */
function latinSquare(random: RandomStream, n: number): Uint16Array {
  const open = new Uint16Array(n * n).fill((1 << n) - 1), solver = new cells.CellSolver(shapeOf(n));
  for (;;) {
    const square = solver.solve(open, MAX_FAILURES, (bits) => random.shuffle(bits));
    if (square) return square;
  }
}

function drawConstraints(
  random: RandomStream,
  square: Uint16Array,
  n: number,
  probability: number,
): Constraint[] {
  const constraints: Constraint[] = [];
  for (let r = 0; r < n; r++) {
    for (let c = 0; c < n; c++) {
      for (const [r2, c2] of [[r, c + 1], [r + 1, c]] as const) {
        if (r2 === n || c2 === n || !random.chance(probability)) continue;
        constraints.push([r, c, r2, c2, square[r * n + c]! < square[r2 * n + c2]! ? "<" : ">"]);
      }
    }
  }
  return constraints;
}

function emptied(
  random: RandomStream,
  square: Uint16Array,
  n: number,
  constraints: readonly Constraint[],
): Uint16Array {
  const inequalities = constraints.map(([r1, c1, r2, c2, sign]): cells.Inequality => {
    const first = r1 * n + c1, second = r2 * n + c2;
    return sign === "<" ? { less: first, more: second } : { less: second, more: first };
  });
  const solver = new cells.CellSolver(shapeOf(n), inequalities);
  const clues = square.slice(), left = Math.floor(MIN_CLUE_SHARE * clues.length);
  cells.emptyCells(random, solver, clues, clues.length - left, MAX_FAILURES);
  return clues;
}

/** Cells take one character and signs three (` < `). Lines with ∧ and ∨ are between the rows. */
function boardText(grid: readonly number[][], constraints: readonly Constraint[]): string {
  const n = grid.length, signs = new Map<number, string>();
  for (const [r, c, r2, , sign] of constraints) {
    const across = r === r2;
    signs.set((r * n + c) * 2 + (across ? 0 : 1), across ? sign : sign === "<" ? "∧" : "∨");
  }
  const lines: string[] = [];
  grid.forEach((row, r) => {
    let line = "", below = "";
    row.forEach((digit, c) => {
      const isLast = c === n - 1, key = (r * n + c) * 2;
      line += (digit || "_") + (isLast ? "" : ` ${signs.get(key) ?? " "} `);
      below += (signs.get(key + 1) ?? " ") + (isLast ? "" : "   ");
    });
    lines.push(line);
    if (r < n - 1) lines.push(below);
  });
  return lines.join("\n");
}

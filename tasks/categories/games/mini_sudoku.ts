/**
 * 4×4 sudoku with exactly one solution. There are only 288 complete grids. Each (cell, digit) has a
 * bit set with one bit for each grid, and the solutions of a puzzle are the intersection of the
 * sets of its clues.
 */
import { defineTask, int, intervals } from "../../define.ts";
import { NUMBER_GRID } from "../../scoring_rules.ts";
import type { RandomStream } from "../../../core/philox.ts";

const CELLS = 16, WORDS = 288 / 32;

export default defineTask({
  description: "Solve a 4×4 sudoku.",
  ...NUMBER_GRID,
  params: {
    min_empty: int(8, "fewest empty cells", { min: 0 }),
    max_empty: int(12, "most empty cells", { max: 12 }),
  },
  curriculum: {
    empty: intervals([4, 6, 8, 10, 12], "empty cells"),
  },
  generate(random, config) {
    const empty = random.int(config.min_empty, config.max_empty);
    const { puzzle, solution } = drawPuzzle(random, empty);
    return {
      question:
        "Fill in this 4×4 sudoku. Every row, every column and every 2×2 corner block must hold " +
        `each of 1, 2, 3 and 4 exactly once; _ marks an empty cell.\n${gridText(puzzle)}\n` +
        "Answer with the completed grid: four lines of four digits separated by spaces.",
      answer: gridText(solution),
      metadata: { puzzle: rows(puzzle), solution: rows(solution), num_empty: empty },
    };
  },
});

interface Grids {
  /** All 288 complete grids. */
  all: number[][];
  /** For (cell, digit) the bits of the grids that contain it: [16 · 4 · 9 words]. */
  having: Int32Array;
}

let made: Grids | undefined;

/** Clears `empty` cells of a grid in random order while the solution stays unique. */
function drawPuzzle(random: RandomStream, empty: number) {
  const { all, having } = made ??= completeGrids();
  for (;;) {
    const solution = random.choice(all);
    const puzzle = solution.slice();
    const order = random.shuffle(Array.from({ length: CELLS }, (_, i) => i));
    let left = empty;
    for (const cell of order) {
      if (left === 0) break;
      const digit = puzzle[cell]!;
      puzzle[cell] = 0;
      if (isUnique(puzzle, having)) left--;
      else puzzle[cell] = digit;
    }
    if (left === 0) return { puzzle, solution };
  }
}

function isUnique(puzzle: readonly number[], having: Int32Array): boolean {
  let solutions = 0;
  for (let w = 0; w < WORDS; w++) {
    let bits = -1;
    for (let cell = 0; cell < CELLS; cell++) {
      const digit = puzzle[cell]!;
      if (digit > 0) bits &= having[(cell * 4 + digit - 1) * WORDS + w]!;
    }
    while (bits !== 0) {
      bits &= bits - 1;
      if (++solutions > 1) return false;
    }
  }
  return solutions === 1;
}

function completeGrids(): Grids {
  const all: number[][] = [];
  const grid = new Array<number>(CELLS).fill(0);
  const fill = (cell: number) => {
    if (cell === CELLS) {
      all.push(grid.slice());
      return;
    }
    for (let digit = 1; digit <= 4; digit++) {
      if (grid.some((other, i) => i < cell && other === digit && seesEachOther(i, cell))) continue;
      grid[cell] = digit;
      fill(cell + 1);
    }
    grid[cell] = 0;
  };
  fill(0);
  const having = new Int32Array(CELLS * 4 * WORDS);
  all.forEach((digits, g) =>
    digits.forEach((digit, cell) =>
      having[(cell * 4 + digit - 1) * WORDS + (g >> 5)]! |= 1 << (g & 31)
    )
  );
  return { all, having };
}

function seesEachOther(a: number, b: number): boolean {
  const rowA = a >> 2, rowB = b >> 2, columnA = a & 3, columnB = b & 3;
  return rowA === rowB || columnA === columnB ||
    (rowA >> 1 === rowB >> 1 && columnA >> 1 === columnB >> 1);
}

function rows(grid: readonly number[]): number[][] {
  return [0, 4, 8, 12].map((start) => grid.slice(start, start + 4));
}

function gridText(grid: readonly number[]): string {
  return rows(grid).map((row) => row.map((digit) => digit || "_").join(" ")).join("\n");
}

/**
 * Max or average pooling of a matrix of digits. Windows do not overlap; those at the edge may be
 * cut off.
 */
import { counts, defineTask, sizes } from "../../../define.ts";
import { reprFloat } from "../../../python/repr.ts";
import { isSpaceCode } from "../../../python/text.ts";
import { digitMatrix, digitText } from "./matrix.ts";
import { gridText } from "../../../grids.ts";

export default defineTask({
  description: "Pool a matrix by maximum or average.",
  scoring:
    "1 when the answer has the right rows and columns and every number is within 1 %; 0.1 for " +
    "other numbers in the same shape; else 0.",
  params: {
    rows: counts([2, 10], "rows", { min: 2, levels: [10, 25, 50, 100] }),
    cols: counts([2, 10], "columns", { min: 2, levels: [10, 25, 50, 100] }),
    pool_size: sizes([1, 3], "side of a window", { min: 1, levels: [3, 5, 7, 9] }),
  },
  generate(random, config) {
    const rows = random.int(config.min_rows, config.max_rows);
    const cols = random.int(config.min_cols, config.max_cols);
    const size = random.int(config.min_pool_size, config.max_pool_size);
    const matrix = digitMatrix(random, rows, cols);
    const type = random.chance(0.5) ? "average" : "max";
    const solution = pool(matrix, size, type === "max" ? maximum : average);
    return {
      question:
        `${type === "max" ? "Max" : "Average"} pooling: divide this matrix into windows of ` +
        `${size} × ${size} cells without overlap, beginning at the top left corner; windows at ` +
        "the right and lower edge may be smaller.\n" +
        `${digitText(matrix)}\nReplace each window by ` +
        (type === "max"
          ? "its largest number. "
          : "the average of the numbers in it, rounded to 2 decimals. ") +
        "Answer with the matrix of the results: one line for each row of windows, the numbers " +
        "of a row separated by spaces.",
      answer: type === "max"
        ? digitText(solution)
        : gridText(solution.map((row) => row.map((x) => reprFloat(roundedHundredths(x))))),
      metadata: { matrix, pool_type: type, pool_size: size, solution, rows, cols },
    };
  },
  score(answer, entry) {
    const expected = cellsOf(entry.answer ?? "", Infinity, Infinity);
    if (expected === null || expected.length === 0) return 0;
    const given = cellsOf(answer, expected.length, Math.max(...expected.map((row) => row.length)));
    if (given === null || given.length !== expected.length) return 0;
    if (given.some((row, i) => row.length !== expected[i]!.length)) return 0;
    if (!given.every((row) => row.every((cell) => NUMBER.test(cell)))) return 0;
    return given.every((row, i) => row.every((cell, j) => near(expected[i]![j]!, cell))) ? 1 : 0.1;
  },
});

function pool(
  matrix: readonly (readonly number[])[],
  size: number,
  reduce: (window: readonly number[]) => number,
): number[][] {
  const pooled: number[][] = [];
  for (let top = 0; top < matrix.length; top += size) {
    const results: number[] = [], bottom = Math.min(top + size, matrix.length);
    for (let left = 0; left < matrix[0]!.length; left += size) {
      const window: number[] = [], right = Math.min(left + size, matrix[0]!.length);
      for (let row = top; row < bottom; row++) {
        for (let column = left; column < right; column++) window.push(matrix[row]![column]!);
      }
      results.push(reduce(window));
    }
    pooled.push(results);
  }
  return pooled;
}

function maximum(window: readonly number[]): number {
  return window.reduce((largest, x) => Math.max(largest, x), 0);
}

function average(window: readonly number[]): number {
  return window.reduce((sum, x) => sum + x, 0) / window.length;
}

/** Rounds to two decimals like NumPy: the nearest integer to 100 x, the even one on a tie. */
function roundedHundredths(x: number): number {
  const scaled = x * 100, floor = Math.floor(scaled), rest = scaled - floor;
  return (floor + (rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? 1 : 0)) / 100;
}

/**
 * The texts that NumPy reads as numbers. Those that are not finite are never close to the right
 * one.
 */
const NUMBER = /^[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|nan|inf(?:inity)?)$/i;

function near(expected: string, given: string): boolean {
  const x = Number(given);
  return Number.isFinite(x) && Math.abs(Number(expected) - x) <= 1e-8 + 0.01 * Math.abs(x);
}

const NEWLINE = 10, RETURN = 13;

/** The words of each non-blank line; null as soon as there are too many. */
function cellsOf(text: string, maxRows: number, maxColumns: number): string[][] | null {
  const rows: string[][] = [];
  let row: string[] = [], from = -1;
  for (let at = 0; at <= text.length; at++) {
    const code = at < text.length ? text.charCodeAt(at) : NEWLINE;
    if (!isSpaceCode(code)) {
      if (from < 0) from = at;
      continue;
    }
    if (from >= 0) row.push(text.slice(from, at));
    from = -1;
    if (row.length > maxColumns) return null;
    if (row.length > 0 && (code === NEWLINE || code === RETURN)) {
      rows.push(row);
      row = [];
      if (rows.length > maxRows) return null;
    }
  }
  return rows;
}

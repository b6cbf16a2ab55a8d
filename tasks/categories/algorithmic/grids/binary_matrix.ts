/** The distance from every cell of a binary matrix to the nearest 0. */
import { counts, defineTask, float, isOverlong, type RandomStream } from "../../../define.ts";
import { type Literal, parseLiteral, PyTuple } from "../../../python/literals.ts";
import { str } from "../../../python/repr.ts";
import { gridText } from "../../../grids.ts";

export default defineTask({
  description: "Find each cell's distance to the nearest 0 of a binary matrix.",
  scoring: "1 when equal; 0.1 for the right numbers as a Python list of lists; else 0.",
  params: {
    p_zero: float(0.25, "share of zeros, more than 0", { max: 1, levels: [0.5, 0.25, 0.1, 0.05] }),
    n: counts([3, 10], "rows and columns", { min: 1, levels: [10, 25, 50, 100] }),
  },
  rules: { "p_zero: must be more than 0": ({ p_zero }) => p_zero > 0 },
  generate(random, config) {
    const n = random.int(config.min_n, config.max_n);
    const matrix = binaryMatrix(random, n, config.p_zero);
    const solution = distances(matrix);
    return {
      question:
        "For every cell of this matrix, find the distance to the nearest cell that holds 0. " +
        "Distance is counted in steps up, down, left or right (Manhattan distance), so that of a " +
        `0 is 0.\n${gridText(matrix)}\n` +
        "Answer with the distances in the form of the matrix: one line for each row, the numbers " +
        "of a row separated by single spaces.",
      answer: gridText(solution),
      metadata: { matrix, solution, n },
      difficulty: { n: [config.min_n, config.max_n], p_zero: config.p_zero },
    };
  },
  score(answer, entry) {
    const oracle = entry.answer ?? "";
    if (answer === oracle) return 1;
    if (isOverlong(answer, entry)) return 0;
    const rows = items(parseLiteral(answer));
    // Each row takes at least one character, so a list with more rows cannot be right.
    if (rows === undefined || rows.length > oracle.length) return 0;
    const lines: string[] = [];
    for (const row of rows) {
      const cells = items(row);
      if (cells === undefined || cells.length > oracle.length) return 0;
      lines.push(cells.map(str).join(" "));
    }
    return lines.join("\n") === oracle ? 0.1 : 0;
  },
});

/** One random cell is 0. Each other cell is 0 with probability `pZero`. */
function binaryMatrix(random: RandomStream, n: number, pZero: number): number[][] {
  const matrix: number[][] = [];
  for (let row = 0; row < n; row++) {
    const cells: number[] = [];
    for (let column = 0; column < n; column++) cells.push(random.chance(pZero) ? 0 : 1);
    matrix.push(cells);
  }
  matrix[random.below(n)]![random.below(n)] = 0;
  return matrix;
}

/**
 * Two passes: first distances along paths from above or the left, then also from below or the
 * right.
 */
function distances(matrix: readonly (readonly number[])[]): number[][] {
  const n = matrix.length, far = 2 * n;
  const result: number[][] = [];
  for (let row = 0; row < n; row++) {
    const cells = matrix[row]!, above = result[row - 1], line: number[] = [];
    let left = far;
    for (let column = 0; column < n; column++) {
      const up = above === undefined ? far : above[column]!;
      left = cells[column] === 0 ? 0 : Math.min(left, up) + 1;
      line.push(left);
    }
    result.push(line);
  }
  for (let row = n - 1; row >= 0; row--) {
    const line = result[row]!, below = result[row + 1];
    let right = far;
    for (let column = n - 1; column >= 0; column--) {
      const down = below === undefined ? far : below[column]!;
      right = Math.min(line[column]!, Math.min(right, down) + 1);
      line[column] = right;
    }
  }
  return result;
}

function items(value: Literal | undefined): readonly Literal[] | undefined {
  if (value instanceof PyTuple) return value.items;
  return Array.isArray(value) ? value : undefined;
}

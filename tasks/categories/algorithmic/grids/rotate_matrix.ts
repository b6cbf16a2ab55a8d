/** Rotate a square matrix of digits clockwise by a multiple of 90 degrees. */
import { counts, defineTask, exactScore } from "../../../define.ts";
import { digitMatrix, digitText } from "./matrix.ts";

export default defineTask({
  description: "Rotate a square matrix clockwise.",
  ...exactScore("the matrix"),
  params: {
    n: counts([2, 10], "rows and columns", { min: 2, levels: [10, 25, 50, 100] }),
    rotations: counts([0, 10], "quarter turns", {
      min: 0,
      spans: [1, 5, 10, 15, 20],
      as: "num_rotations",
    }),
  },
  generate(random, config) {
    const n = random.int(config.min_n, config.max_n);
    const matrix = digitMatrix(random, n, n);
    const turns = random.int(config.min_rotations, config.max_rotations);
    let solution = matrix;
    for (let turn = turns % 4; turn > 0; turn--) solution = rotate(solution);
    return {
      question: `Turn this square matrix clockwise by ${90 * turns} degrees:\n` +
        `${digitText(matrix)}\nAnswer with the turned matrix in the same form: one line for each ` +
        "row, the numbers of a row separated by single spaces.",
      answer: digitText(solution),
      metadata: { matrix, num_rotations: turns, solution, n },
    };
  },
});

/** A quarter turn clockwise: the first column, read upward, becomes the first row. */
function rotate(matrix: readonly (readonly number[])[]): number[][] {
  const n = matrix.length, turned: number[][] = [];
  for (let row = 0; row < n; row++) {
    const cells: number[] = new Array(n);
    for (let column = 0; column < n; column++) cells[column] = matrix[n - 1 - column]![row]!;
    turned.push(cells);
  }
  return turned;
}

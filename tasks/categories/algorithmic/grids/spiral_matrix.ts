/** Read a square matrix of digits along a clockwise spiral. */
import { counts, defineTask } from "../../../define.ts";
import { str } from "../../../python/repr.ts";
import { strip } from "../../../python/text.ts";
import { listItems } from "../list_answer.ts";
import { digitMatrix, digitText } from "./matrix.ts";

export default defineTask({
  description: "List the numbers of a matrix in spiral order.",
  scoring:
    "1 when equal, space around it aside; 0.1 for the right numbers with commas between them or " +
    "as a Python list; else 0.",
  params: { n: counts([2, 10], "rows and columns", { min: 2, levels: [10, 25, 50, 100] }) },
  generate(random, config) {
    const n = random.int(config.min_n, config.max_n);
    const matrix = digitMatrix(random, n, n);
    const solution = spiral(matrix);
    return {
      question: "Walk through this matrix along a spiral and list the numbers on the way:\n" +
        `${digitText(matrix)}\nBegin at the top left corner and go clockwise around the border: ` +
        "right along the first row, down the last column, left along the last row, up the first " +
        "column. Go around what is left inside in the same way until every number has been " +
        "listed. Answer with the numbers in this order, separated by single spaces (such as: 4 0 " +
        "7 7).",
      answer: solution.join(" "),
      metadata: { matrix, solution, n },
    };
  },
  score(answer, entry) {
    const oracle = entry.answer ?? "";
    if (strip(answer) === oracle) return 1;
    const items = listItems(answer, oracle);
    return items !== null && items.map(str).join(" ") === oracle ? 0.1 : 0;
  },
});

function spiral(matrix: readonly (readonly number[])[]): number[] {
  const order: number[] = [];
  let top = 0, left = 0, bottom = matrix.length - 1, right = matrix.length - 1;
  while (top <= bottom) {
    for (let column = left; column <= right; column++) order.push(matrix[top]![column]!);
    for (let row = top + 1; row <= bottom; row++) order.push(matrix[row]![right]!);
    for (let column = right - 1; bottom > top && column >= left; column--) {
      order.push(matrix[bottom]![column]!);
    }
    for (let row = bottom - 1; row > top; row--) order.push(matrix[row]![left]!);
    top++;
    left++;
    bottom--;
    right--;
  }
  return order;
}

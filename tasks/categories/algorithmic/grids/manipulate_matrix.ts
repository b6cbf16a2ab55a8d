/** Apply a list of transforms to a matrix of digits. */
import type { RandomStream } from "../../../../core/philox.ts";
import { defineTask, float, int, levels } from "../../../define.ts";
import { codePoints, strip, words } from "../../../python/text.ts";
import { isOverlong } from "../../../scoring_rules.ts";
import type { ScorableEntry } from "../../../types.ts";
import { digitMatrix, matrixText } from "./matrix.ts";
import {
  applyTransform,
  drawTransform,
  type Matrix,
  type Transform,
  type TransformName,
} from "./transforms.ts";

const KINDS: readonly TransformName[] = [
  "rotate",
  "hmirror",
  "vmirror",
  "dmirror",
  "cmirror",
  "map",
  "crop",
  "remove_every_nth_row",
  "remove_every_nth_col",
  "zero_divisible",
];

export default defineTask({
  description: "Apply a list of transforms to a matrix.",
  scoring: "1 when equal, white space between the numbers of a row aside; else the share of the " +
    "answer's length that the right matrix has in it when it occurs there; else 0.",
  params: {
    min_rows: int(2, "fewest rows", { min: 2 }),
    min_cols: int(2, "fewest columns", { min: 2 }),
    max_rows: int(10, "most rows"),
    max_cols: int(10, "most columns"),
    min_transforms: int(1, "fewest transforms", { min: 1 }),
    max_transforms: int(10, "most transforms"),
    w_rotate: float(1, "weight (softmax) of: rotation"),
    w_hmirror: float(1, "weight (softmax) of: reversal of the rows' order"),
    w_vmirror: float(1, "weight (softmax) of: reversal of every row"),
    w_dmirror: float(1, "weight (softmax) of: mirror along the main diagonal"),
    w_cmirror: float(1, "weight (softmax) of: mirror along the other diagonal"),
    w_map: float(1, "weight (softmax) of: replacement of a number"),
    w_crop: float(1, "weight (softmax) of: crop"),
    w_remove_every_nth_row: float(1, "weight (softmax) of: removal of rows"),
    w_remove_every_nth_col: float(1, "weight (softmax) of: removal of columns"),
    w_zero_divisible: float(1, "weight (softmax) of: zero for multiples"),
  },
  curriculum: {
    rows: levels([10, 25, 50, 100], "rows of the matrix"),
    cols: levels([10, 25, 50, 100], "columns of the matrix"),
    num_transforms: levels([1, 3, 5, 10, 15], "transforms", "transforms"),
  },
  validate(config) {
    return weightsOf(config).some((weight) => Math.exp(weight) > 0)
      ? []
      : ["w_rotate: exp(weight) must be more than 0 for at least one transform, found 0 for all"];
  },
  generate(random, config) {
    const rows = random.int(config.min_rows, config.max_rows);
    const columns = random.int(config.min_cols, config.max_cols);
    const count = random.int(config.min_transforms, config.max_transforms);
    const matrix = digitMatrix(random, rows, columns);
    const { operations, solution } = drawOperations(random, matrix, count, weightsOf(config));
    return {
      question: `Take this matrix:\n${matrixText(matrix)}\n\n` +
        "Apply these operations in order, each to the result of the one before:\n" +
        `${operations.map(({ instruction }) => instruction).join("\n")}\n\n` +
        "Answer with the resulting matrix in the same form: one line for each row, the numbers " +
        "of a row separated by single spaces.",
      answer: matrixText(solution),
      metadata: { matrix, solution, operations, rows, cols: columns, num_transforms: count },
    };
  },
  score,
});

/** The weights in the order of {@link KINDS}. */
function weightsOf(config: Readonly<Record<`w_${TransformName}`, number>>): number[] {
  return KINDS.map((kind) => config[`w_${kind}`]);
}

/**
 * Draws transforms with the softmax of the weights as probabilities. A transform that is impossible
 * for the current matrix is not counted. When only impossible ones have a weight, fewer than
 * `count` are returned.
 */
function drawOperations(
  random: RandomStream,
  matrix: Matrix,
  count: number,
  weights: readonly number[],
): { operations: Transform[]; solution: Matrix } {
  const largest = Math.max(...weights);
  const shares = weights.map((weight) => Math.exp(weight - largest));
  const operations: Transform[] = [];
  let solution = matrix;
  while (operations.length < count) {
    const rows = solution.length, columns = solution[0]!.length;
    const possible = shares.map((share, i) =>
      (KINDS[i] === "remove_every_nth_row" && rows < 2) ||
        (KINDS[i] === "remove_every_nth_col" && columns < 2)
        ? 0
        : share
    );
    if (!possible.some((share) => share > 0)) break;
    const operation = drawTransform(random, random.weighted(KINDS, possible), rows, columns);
    operations.push(operation);
    solution = applyTransform(solution, operation);
  }
  return { operations, solution };
}

function score(answer: string, entry: ScorableEntry): number {
  const oracle = strip(entry.answer ?? "");
  let given = strip(answer);
  if (given === oracle) return 1;
  if (!isOverlong(answer, entry)) given = strip(oneSpace(given));
  if (given === oracle) return 1;
  return oracle !== "" && given.includes(oracle) ? codePoints(oracle) / codePoints(given) : 0;
}

function oneSpace(text: string): string {
  return text.split("\n").map((row) => words(row).join(" ")).join("\n");
}

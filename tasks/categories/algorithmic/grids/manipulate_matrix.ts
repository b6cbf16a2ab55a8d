/** Apply a list of transforms to a matrix of digits. */
import { counts, defineTask, float, isOverlong, type RandomStream } from "../../../define.ts";
import { codePoints, strip, words } from "../../../python/text.ts";
import { gridText, transpose } from "../../../grids.ts";
import { digitMatrix } from "./matrix.ts";

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
    rows: counts([2, 10], "rows", { min: 2, levels: [10, 25, 50, 100] }),
    cols: counts([2, 10], "columns", { min: 2, levels: [10, 25, 50, 100] }),
    transforms: counts([1, 10], "transforms", {
      min: 1,
      levels: [1, 3, 5, 10, 15],
      as: "num_transforms",
    }),
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
  rules: {
    "w_rotate: exp(weight) must be more than 0 for at least one transform": (config) =>
      weightsOf(config).some((weight) => Math.exp(weight) > 0),
  },
  generate(random, config) {
    const rows = random.int(config.min_rows, config.max_rows);
    const columns = random.int(config.min_cols, config.max_cols);
    const count = random.int(config.min_transforms, config.max_transforms);
    const matrix = digitMatrix(random, rows, columns);
    const { operations, solution } = drawOperations(random, matrix, count, weightsOf(config));
    return {
      question: `Take this matrix:\n${gridText(matrix)}\n\n` +
        "Apply these operations in order, each to the result of the one before:\n" +
        `${operations.map(({ instruction }) => instruction).join("\n")}\n\n` +
        "Answer with the resulting matrix in the same form: one line for each row, the numbers " +
        "of a row separated by single spaces.",
      answer: gridText(solution),
      metadata: { matrix, solution, operations, rows, cols: columns, num_transforms: count },
    };
  },
  score(answer, entry) {
    const oracle = strip(entry.answer ?? "");
    let given = strip(answer);
    if (given === oracle) return 1;
    if (!isOverlong(answer, entry)) given = strip(oneSpace(given));
    if (given === oracle) return 1;
    return oracle !== "" && given.includes(oracle) ? codePoints(oracle) / codePoints(given) : 0;
  },
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

function oneSpace(text: string): string {
  return text.split("\n").map((row) => words(row).join(" ")).join("\n");
}

/**
 * The transforms of manipulate_matrix: drawn for a matrix of a given size, described in words, and
 * applied. Their names and fields are those of reasoning-gym. `instruction` is the line in the
 * question.
 */

type Matrix = readonly (readonly number[])[];

type Transform =
  & { instruction: string }
  & (
    | { transform: "rotate"; degrees: string }
    | { transform: "hmirror" | "vmirror" | "dmirror" | "cmirror" }
    | { transform: "map"; from: number; to: number }
    | { transform: "zero_divisible"; k: number }
    | {
      transform: "crop";
      row_start: number;
      row_end: number;
      col_start: number;
      col_end: number;
    }
    | { transform: "remove_every_nth_row" | "remove_every_nth_col"; n: number }
  );

type TransformName = Transform["transform"];

/** Draws a transform of the given kind. Removing rows or columns needs at least two of them. */
function drawTransform(
  random: RandomStream,
  kind: TransformName,
  rows: number,
  columns: number,
): Transform {
  switch (kind) {
    case "rotate": {
      const degrees = random.choice(["90", "180", "270", "360"]);
      const instruction = `- Rotate the matrix clockwise by ${degrees} degrees`;
      return { transform: kind, degrees, instruction };
    }
    case "hmirror":
      return { transform: kind, instruction: "- Reverse the order of the rows (top to bottom)" };
    case "vmirror":
      return { transform: kind, instruction: "- Reverse every row (left to right)" };
    case "dmirror":
      return {
        transform: kind,
        instruction:
          "- Mirror along the main diagonal (from top left), so that rows become columns",
      };
    case "cmirror":
      return {
        transform: kind,
        instruction:
          "- Mirror along the other diagonal (from top right), so that the last column, " +
          "read upward, becomes the first row",
      };
    case "map": {
      const from = random.below(10);
      const to = (from + 1 + random.below(9)) % 10;
      return { transform: kind, from, to, instruction: `- Replace every ${from} by ${to}` };
    }
    case "zero_divisible": {
      const k = random.int(1, 9);
      return { transform: kind, k, instruction: `- Set every number divisible by ${k} to 0` };
    }
    case "crop": {
      const row_start = random.int(1, rows), row_end = random.int(row_start, rows);
      const col_start = random.int(1, columns), col_end = random.int(col_start, columns);
      const instruction =
        `- Keep only rows ${row_start} to ${row_end} and columns ${col_start} to ` +
        `${col_end}, counted from 1, ends included`;
      return { transform: kind, row_start, row_end, col_start, col_end, instruction };
    }
    case "remove_every_nth_row":
    case "remove_every_nth_col": {
      const [count, noun] = kind.endsWith("row") ? [rows, "row"] : [columns, "column"];
      const n = random.int(2, count);
      const instruction =
        `- Remove every ${n}${ordinal(n)} ${noun}: number ${n}, ${2 * n} and so ` +
        "on, counted from 1";
      return { transform: kind, n, instruction };
    }
  }
}

function applyTransform(matrix: Matrix, transform: Transform): Matrix {
  switch (transform.transform) {
    case "rotate": {
      let turned = matrix;
      for (let left = Number(transform.degrees) % 360; left > 0; left -= 90) {
        turned = transpose(turned).map((row) => row.toReversed());
      }
      return turned;
    }
    case "hmirror":
      return matrix.toReversed();
    case "vmirror":
      return matrix.map((row) => row.toReversed());
    case "dmirror":
      return transpose(matrix);
    case "cmirror":
      return transpose(matrix).toReversed().map((row) => row.toReversed());
    case "map": {
      const { from, to } = transform;
      return matrix.map((row) => row.map((cell) => cell === from ? to : cell));
    }
    case "zero_divisible":
      return matrix.map((row) => row.map((cell) => cell % transform.k === 0 ? 0 : cell));
    case "crop": {
      const { row_start, row_end, col_start, col_end } = transform;
      return matrix.slice(row_start - 1, row_end).map((row) => row.slice(col_start - 1, col_end));
    }
    case "remove_every_nth_row":
      return matrix.filter((_, row) => (row + 1) % transform.n !== 0);
    case "remove_every_nth_col":
      return matrix.map((row) => row.filter((_, column) => (column + 1) % transform.n !== 0));
  }
}

function ordinal(n: number): string {
  if (n % 100 >= 11 && n % 100 <= 13) return "th";
  return ["th", "st", "nd", "rd"][n % 10] ?? "th";
}

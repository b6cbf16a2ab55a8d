/**
 * The transforms of manipulate_matrix: drawn for a matrix of a given size, described in words, and
 * applied. Their names and fields are those of reasoning-gym. `instruction` is the line in the
 * question.
 */
import type { RandomStream } from "../../../../core/philox.ts";
import { transpose } from "../../../transpose.ts";

export type Matrix = readonly (readonly number[])[];

export type Transform =
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

export type TransformName = Transform["transform"];

/** Draws a transform of the given kind. Removing rows or columns needs at least two of them. */
export function drawTransform(
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

export function applyTransform(matrix: Matrix, transform: Transform): Matrix {
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

/** Matrices of digits, as the matrix tasks draw and write them. */
import type { RandomStream } from "../../core/philox.ts";

/** Digits that one draw gives: 10^9 is the largest power of ten within its 32 bits. */
const DIGITS = 9;

/** `rows` × `columns` digits 0–9. */
export function digitMatrix(random: RandomStream, rows: number, columns: number): number[][] {
  const matrix: number[][] = [];
  let drawn = 0, left = 0;
  for (let row = 0; row < rows; row++) {
    const cells: number[] = new Array(columns);
    for (let column = 0; column < columns; column++) {
      if (left === 0) {
        drawn = random.below(10 ** DIGITS);
        left = DIGITS;
      }
      const rest = (drawn / 10) | 0;
      cells[column] = drawn - 10 * rest;
      drawn = rest;
      left--;
    }
    matrix.push(cells);
  }
  return matrix;
}

/** A line a row, a space between cells. */
export function matrixText(matrix: readonly (readonly (number | string)[])[]): string {
  let text = "";
  for (const row of matrix) {
    if (text !== "") text += "\n";
    for (let column = 0; column < row.length; column++) {
      text += column === 0 ? row[column] : " " + row[column];
    }
  }
  return text;
}

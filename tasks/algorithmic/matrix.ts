/** Matrices of digits, as the matrix tasks draw and write them. */
import type { RandomStream } from "../../core/philox.ts";

/** `rows` × `columns` digits 0–9. */
export function digitMatrix(random: RandomStream, rows: number, columns: number): number[][] {
  const matrix: number[][] = [];
  for (let row = 0; row < rows; row++) {
    const cells: number[] = [];
    for (let column = 0; column < columns; column++) cells.push(random.below(10));
    matrix.push(cells);
  }
  return matrix;
}

/** A line a row, a space between cells. */
export function matrixText(matrix: readonly (readonly (number | string)[])[]): string {
  return matrix.map((row) => row.join(" ")).join("\n");
}

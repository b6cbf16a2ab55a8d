/** Transposition of matrices. */

/** The columns of a matrix with at least one row. */
export function transpose(matrix: readonly (readonly number[])[]): number[][] {
  return matrix[0]!.map((_, column) => matrix.map((row) => row[column]!));
}

/** Grids of numbers and signs. */

/** The columns of a matrix with at least one row. */
export function transpose(matrix: readonly (readonly number[])[]): number[][] {
  return matrix[0]!.map((_, column) => matrix.map((row) => row[column]!));
}

/** The rows of a grid whose cells are in one list. */
export function rowsOf<T>(cells: ArrayLike<T>, columns: number): T[][] {
  const list = Array.from(cells);
  return Array.from(
    { length: list.length / columns },
    (_, row) => list.slice(row * columns, (row + 1) * columns),
  );
}

/** One line for each row, with a space between cells. */
export function gridText(rows: readonly (readonly (number | string)[])[]): string {
  return rows.map((row) => row.join(" ")).join("\n");
}

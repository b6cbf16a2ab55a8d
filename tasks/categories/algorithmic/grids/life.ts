/** Conway's Game of Life (B3/S23) on a torus of any size. */

/** Cells in row-major order; 1 is alive. */
export type Cells = Uint8Array<ArrayBuffer>;

export function lifeStep(cells: Cells, rows: number, columns: number): Cells {
  const next = new Uint8Array(cells.length);
  for (let row = 0; row < rows; row++) {
    const here = row * columns;
    const above = (row === 0 ? rows - 1 : row - 1) * columns;
    const below = (row === rows - 1 ? 0 : row + 1) * columns;
    // Counts of living cells in three rows: the column to the left, this one, the one to the right.
    let left = cells[above + columns - 1]! + cells[here + columns - 1]! +
      cells[below + columns - 1]!;
    let middle = cells[above]! + cells[here]! + cells[below]!;
    for (let column = 0; column < columns; column++) {
      const to = column === columns - 1 ? 0 : column + 1;
      const right = cells[above + to]! + cells[here + to]! + cells[below + to]!;
      const all = left + middle + right;
      if (all === 3 || (all === 4 && cells[here + column] === 1)) next[here + column] = 1;
      left = middle;
      middle = right;
    }
  }
  return next;
}

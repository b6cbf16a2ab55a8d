/** Rotations, mirrors and other rearrangements of grids. Every function returns a new grid. */
import type { Board } from "./boards.ts";

export type Grid = number[][];

/** A grid with `height` rows and `width` columns of computed cells. */
export function gridOf(
  height: number,
  width: number,
  cell: (row: number, column: number) => number,
): Grid {
  const grid: Grid = [];
  for (let r = 0; r < height; r++) {
    const row = new Array<number>(width);
    for (let c = 0; c < width; c++) row[c] = cell(r, c);
    grid.push(row);
  }
  return grid;
}

export function flipSideways(g: Board): Grid {
  return g.map((row) => row.toReversed());
}

export function flipUpsideDown(g: Board): Grid {
  return g.toReversed().map((row) => row.slice());
}

/** Mirrors at the diagonal from the bottom left to the top right. */
export function antitranspose(g: Board): Grid {
  const h = g.length, w = g[0]!.length;
  return gridOf(w, h, (r, c) => g[h - 1 - c]![w - 1 - r]!);
}

/** A quarter turn clockwise. */
export function rotate90(g: Board): Grid {
  const h = g.length;
  return gridOf(g[0]!.length, h, (r, c) => g[h - 1 - c]![r]!);
}

export function rotate180(g: Board): Grid {
  return g.toReversed().map((row) => row.toReversed());
}

/** A quarter turn counterclockwise. */
export function rotate270(g: Board): Grid {
  const w = g[0]!.length;
  return gridOf(w, g.length, (r, c) => g[c]![w - 1 - r]!);
}

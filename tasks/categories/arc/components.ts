/**
 * Connected areas of one colour, joined by sides; `rearc` uses them for difficulty and families.
 */
import type { Board } from "./boards.ts";

export interface Area {
  color: number;
  /** Row · width + column of each cell. */
  cells: number[];
}

/** All areas, including those of the background, in the order of their first cells. */
export function areas(board: Board): Area[] {
  const height = board.length, width = board[0]!.length;
  const colors = board.flat(), seen = new Uint8Array(colors.length);
  const found: Area[] = [];
  for (let first = 0; first < colors.length; first++) {
    if (seen[first] === 1) continue;
    const color = colors[first]!, cells = [first];
    seen[first] = 1;
    for (let head = 0; head < cells.length; head++) {
      const cell = cells[head]!, column = cell % width;
      for (let side = 0; side < 4; side++) {
        let next: number;
        if (side === 0) next = cell - width;
        else if (side === 1) next = cell + width;
        else if (side === 2) next = column === 0 ? -1 : cell - 1;
        else next = column === width - 1 ? -1 : cell + 1;
        if (next < 0 || next >= height * width) continue;
        if (seen[next] === 1 || colors[next] !== color) continue;
        seen[next] = 1;
        cells.push(next);
      }
    }
    found.push({ color, cells });
  }
  return found;
}

/**
 * The measure by which `rearc` chooses pairs. It is the mean of: the cells of both boards / 1800,
 * their number of colours / 10, and the mean number of areas per cell.
 */
export function pairMeasure(input: Board, output: Board): number {
  const cells = (board: Board) => board.length * board[0]!.length;
  const density = (board: Board) => areas(board).length / cells(board);
  const colors = new Set([...input.flat(), ...output.flat()]).size;
  const size = (cells(input) + cells(output)) / 1800;
  return (size + colors / 10 + (density(input) + density(output)) / 2) / 3;
}

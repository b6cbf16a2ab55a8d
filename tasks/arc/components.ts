/** Connected areas of one colour (by sides), as the difficulty of `rearc` and several of its families need them. */
import type { Board } from "./boards.ts";

export interface Area {
  color: number;
  /** Row · width + column of each cell. */
  cells: number[];
}

/** All areas, the background's too, in the order of their first cells. */
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
 * The measure by which `rearc` chooses pairs: the mean of the cells of both boards / 1800, their colours / 10, and
 * the areas per cell (mean of both boards).
 */
export function pairMeasure(input: Board, output: Board): number {
  const cells = (board: Board) => board.length * board[0]!.length;
  const density = (board: Board) => areas(board).length / cells(board);
  const colors = new Set([...input.flat(), ...output.flat()]).size;
  const size = (cells(input) + cells(output)) / 1800;
  return (size + colors / 10 + (density(input) + density(output)) / 2) / 3;
}

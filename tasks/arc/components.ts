/** Connected areas of one colour (by sides), as the difficulty of `rearc` and several of its families need them. */
import type { Board } from "./boards.ts";

export interface Area {
  color: number;
  /** Row · width + column of each cell. */
  cells: number[];
}

/** All areas, the background's too, in the order of their first cells. */
export function areas(board: Board): Area[] {
  const width = board[0]!.length, seen = new Uint8Array(board.length * width);
  const found: Area[] = [];
  for (let first = 0; first < seen.length; first++) {
    if (seen[first] === 1) continue;
    const color = board[Math.floor(first / width)]![first % width]!;
    const cells = [first];
    seen[first] = 1;
    for (let head = 0; head < cells.length; head++) {
      const cell = cells[head]!, row = Math.floor(cell / width), column = cell % width;
      const visit = (r: number, c: number) => {
        const next = r * width + c;
        if (board[r]?.[c] !== color || seen[next] === 1) return;
        seen[next] = 1;
        cells.push(next);
      };
      visit(row - 1, column);
      visit(row, column - 1);
      visit(row, column + 1);
      visit(row + 1, column);
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

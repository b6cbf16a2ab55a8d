/** The board of Rush Hour: read from 36 characters, with moves square by square. */

export const BOARD_SIZE = 6;
const SQUARES = BOARD_SIZE * BOARD_SIZE;

export interface Vehicle {
  squares: number[];
  /** Index distance to the next square along the vehicle: 1 in a row, 6 in a column. */
  step: number;
}

export interface Board {
  /** By the letter in the question. A is the red car. */
  vehicles: Map<string, Vehicle>;
  isTaken: Uint8Array;
}

/**
 * Reads a board from 36 squares, row by row: o or . is empty, x is a wall, letters are vehicles. In
 * the order of their letters, vehicles are renamed A, B, C … Returns null for any other value.
 */
export function readBoard(config: unknown): Board | null {
  if (typeof config !== "string" || config.length !== SQUARES) return null;
  const byLetter = new Map<string, number[]>(), isTaken = new Uint8Array(SQUARES);
  for (let square = 0; square < SQUARES; square++) {
    const mark = config[square]!;
    if (mark === "o" || mark === ".") continue;
    isTaken[square] = 1;
    if (mark === "x") continue;
    const squares = byLetter.get(mark);
    if (squares === undefined) byLetter.set(mark, [square]);
    else squares.push(square);
  }
  const vehicles = new Map<string, Vehicle>();
  for (const letter of [...byLetter.keys()].sort()) {
    const squares = byLetter.get(letter)!;
    if (squares.length < 2) return null;
    vehicles.set(String.fromCharCode(65 + vehicles.size), {
      squares,
      step: squares[1]! - squares[0]!,
    });
  }
  return { vehicles, isTaken };
}

/** Plays moves of a letter and a distance (negative: left or up). A blocked vehicle stops. */
export function applyMoves(board: Board, moves: Iterable<readonly [string, number]>): void {
  for (const [letter, distance] of moves) {
    const vehicle = board.vehicles.get(letter);
    if (vehicle === undefined) continue;
    for (let i = Math.abs(distance); i > 0; i--) if (!moveBy1(board, vehicle, distance > 0)) break;
  }
}

function moveBy1({ isTaken }: Board, { squares, step }: Vehicle, forwards: boolean): boolean {
  const front = forwards ? squares.at(-1)! : squares[0]!;
  const next = forwards ? front + step : front - step;
  if (next < 0 || next >= SQUARES || isTaken[next]) return false;
  const leavesRow = Math.floor(next / BOARD_SIZE) !== Math.floor(front / BOARD_SIZE);
  if (step === 1 && leavesRow) return false;
  isTaken[forwards ? squares[0]! : squares.at(-1)!] = 0;
  isTaken[next] = 1;
  for (let i = 0; i < squares.length; i++) squares[i]! += forwards ? step : -step;
  return true;
}

/** Whether the front of the red car is at the right edge. */
export function isSolved({ vehicles }: Board): boolean {
  const red = vehicles.get("A");
  return red !== undefined && red.step === 1 && red.squares.at(-1)! % BOARD_SIZE === BOARD_SIZE - 1;
}

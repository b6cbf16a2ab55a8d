/**
 * Rush Hour: get the red car out of the car park. Hard boards with their shortest solutions were
 * computed in advance. Every position along a solution is a puzzle whose minimum number of moves is
 * known. A line of the file consists of 36 squares row by row (o empty, x wall, letters vehicles, A
 * the red car), a space, and two characters for each move: the letter and the distance, 1–4 to the
 * right or down, a–d to the left or up.
 */
import { UsageError } from "../../../core/errors.ts";
import { readAsset } from "../../asset.ts";
import { counts, defineTask, type RandomStream } from "../../define.ts";
import { once } from "../../once.ts";
import { rowsOf } from "../../grids.ts";

const MAX_ANSWER_LENGTH = 50_000;

export default defineTask({
  description: "Move cars out of the way of the red one.",
  scoring:
    "All moves of the form A+2 or B-1 are played in order, square by square, a blocked square is " +
    "skipped, letters that are no vehicle are ignored: 1 when the red car ends at the exit, else " +
    "0.01.",
  params: {
    moves: counts([1, 50], "moves of a shortest solution", { min: 1, spans: [5, 25, 50, 100] }),
  },
  generate(random, { min_moves, max_moves }) {
    const { config, moves } = drawBoard(random, min_moves, max_moves);
    return {
      question:
        "Cars and lorries stand in a car park of 6 × 6 squares. Squares with the same letter are " +
        "one vehicle, . is empty and x a wall. A vehicle that stands along a row moves only left " +
        "and right, one that stands along a column only up and down, never through a wall or " +
        `another vehicle.\n\n${drawing(config)}\n\n` +
        "Bring the red car, A, to the exit at the right end of its row, in as few moves as " +
        "possible. A move is a letter, + for right or down or - for left or up, and the number " +
        "of squares. Answer with the moves in order, separated by spaces, for example: B+1 C-2 " +
        "A+3",
      answer: null,
      metadata: { board_config: config, min_moves: moves },
    };
  },
  score(answer, entry) {
    const board = readBoard(entry.metadata?.["board_config"]);
    if (board === null || answer.length > MAX_ANSWER_LENGTH) return 0.01;
    const moves: [string, number][] = [];
    for (const [, letter, sign, digits] of answer.matchAll(/([A-Z])([+-])([0-9]+)/g)) {
      const distance = Math.min(Number(digits), BOARD_SIZE);
      moves.push([letter!, sign === "-" ? -distance : distance]);
    }
    applyMoves(board, moves);
    return isSolved(board) ? 1 : 0.01;
  },
});

interface Puzzle {
  config: string;
  moves: string;
}

const allPuzzles = once(() =>
  readAsset("rush_hour.txt").trimEnd().split("\n").map((line): Puzzle => {
    const [config, moves] = line.split(" ") as [string, string];
    return { config, moves };
  })
);

/**
 * For each range of moves: the number of positions in the first i + 1 puzzles whose minimum is in
 * the range.
 */
const countPositions = once((min: number, max: number) => {
  let sum = 0;
  return allPuzzles().map(({ moves }) =>
    sum += Math.max(0, Math.min(moves.length / 2, max) - min + 1)
  );
});

/** Draws uniformly among all positions of all solutions that need min to max moves. */
function drawBoard(random: RandomStream, min: number, max: number) {
  const sums = countPositions(min, max), total = sums.at(-1)!;
  if (total === 0) {
    const hardest = Math.max(...allPuzzles().map(({ moves }) => moves.length / 2));
    throw new UsageError(
      `task rush_hour: min_moves: no board needs ${min} moves, the hardest needs ${hardest}`,
      { advice: "lower min_moves" },
    );
  }
  const at = random.below(total), index = firstAbove(sums, at);
  const { config, moves } = allPuzzles()[index]!, left = min + at - (sums[index - 1] ?? 0);
  return { config: played(config, moves.slice(0, moves.length - 2 * left)), moves: left };
}

/** The first index whose sum is greater than `at`. */
function firstAbove(sums: readonly number[], at: number): number {
  let low = 0, high = sums.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sums[middle]! > at) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * The board after moves of two characters each: a letter and 1–4 (right, down) or a–d (left, up).
 */
function played(config: string, moves: string): string {
  const board = readBoard(config)!;
  const list: [string, number][] = [];
  for (let i = 0; i < moves.length; i += 2) {
    const code = moves.charCodeAt(i + 1);
    list.push([moves[i]!, code > 96 ? 96 - code : code - 48]);
  }
  applyMoves(board, list);
  const cells: string[] = [...config].map((cell) => cell === "x" ? "x" : "o");
  for (const [letter, { squares }] of board.vehicles) {
    for (const square of squares) cells[square] = letter;
  }
  return cells.join("");
}

function drawing(config: string): string {
  return rowsOf(config.replaceAll("o", "."), BOARD_SIZE).map((row) => row.join("")).join("\n");
}

/** The board of Rush Hour: read from 36 characters, with moves square by square. */

const BOARD_SIZE = 6;
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
function applyMoves(board: Board, moves: Iterable<readonly [string, number]>): void {
  for (const [letter, distance] of moves) {
    const vehicle = board.vehicles.get(letter);
    if (vehicle === undefined) continue;
    for (let i = Math.abs(distance); i > 0; i--) if (!moveBy1(board, vehicle, distance > 0)) break;
  }
}

/** Moves a vehicle by one square. Returns whether the square was free. */
export function moveBy1(
  { isTaken }: Board,
  { squares, step }: Vehicle,
  forwards: boolean,
): boolean {
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

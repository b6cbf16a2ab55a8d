/**
 * Rush Hour: get the red car out of the car park. Hard boards with their shortest solutions were
 * computed in advance. Every position along a solution is a puzzle whose minimum number of moves is
 * known. A line of the file consists of 36 squares row by row (o empty, x wall, letters vehicles, A
 * the red car), a space, and two characters for each move: the letter and the distance, 1–4 to the
 * right or down, a–d to the left or up.
 */
import { UsageError } from "../../../core/errors.ts";
import type { RandomStream } from "../../../core/philox.ts";
import { readAsset } from "../../asset.ts";
import { defineTask, int, intervals } from "../../define.ts";
import type { ScorableEntry } from "../../types.ts";
import { applyMoves, BOARD_SIZE, isSolved, readBoard } from "./rush_hour_board.ts";

/** Longer texts are not read. */
const MAX_ANSWER_LENGTH = 50_000;

export default defineTask({
  description: "Move cars out of the way of the red one.",
  scoring:
    "All moves of the form A+2 or B-1 are played in order, square by square, a blocked square is " +
    "skipped, letters that are no vehicle are ignored: 1 when the red car ends at the exit, else " +
    "0.01.",
  params: {
    min_moves: int(1, "fewest moves of a shortest solution", { min: 1 }),
    max_moves: int(50, "most moves of a shortest solution"),
  },
  curriculum: {
    moves: intervals([5, 25, 50, 100], "moves of a solution"),
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
  score,
});

/** A board and its shortest solution. */
interface Puzzle {
  config: string;
  moves: string;
}

let puzzles: Puzzle[] | undefined;

function allPuzzles(): Puzzle[] {
  return puzzles ??= readAsset("rush_hour.txt").trimEnd().split("\n").map((line) => {
    const [config, moves] = line.split(" ") as [string, string];
    return { config, moves };
  });
}

/** By range: how many positions of the first i + 1 puzzles need so many moves. */
const positionCounts = new Map<string, number[]>();

function countPositions(min: number, max: number): number[] {
  const key = `${min},${max}`;
  let sums = positionCounts.get(key);
  if (sums === undefined) {
    let sum = 0;
    sums = allPuzzles().map(({ moves }) =>
      sum += Math.max(0, Math.min(moves.length / 2, max) - min + 1)
    );
    positionCounts.set(key, sums);
  }
  return sums;
}

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
  const text = config.replaceAll("o", ".");
  return Array.from(
    { length: BOARD_SIZE },
    (_, row) => text.slice(row * BOARD_SIZE, (row + 1) * BOARD_SIZE),
  )
    .join("\n");
}

function score(answer: string, entry: ScorableEntry): number {
  const board = readBoard(entry.metadata?.["board_config"]);
  if (board === null || answer.length > MAX_ANSWER_LENGTH) return 0.01;
  const moves: [string, number][] = [];
  for (const [, letter, sign, digits] of answer.matchAll(/([A-Z])([+-])([0-9]+)/g)) {
    const distance = Math.min(Number(digits), BOARD_SIZE);
    moves.push([letter!, sign === "-" ? -distance : distance]);
  }
  applyMoves(board, moves);
  return isSolved(board) ? 1 : 0.01;
}

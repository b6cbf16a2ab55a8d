/**
 * Capture white stones on a Go board with one move. Black stones enclose a white group in the shape
 * of a plus, an L or a T, except for one point. Other stones are scattered such that no other move
 * captures as much.
 */
import { RgxError } from "../../../core/errors.ts";
import { counts, defineTask, int, type RandomStream } from "../../define.ts";
import { codePoints, strip } from "../../python/text.ts";
import { once } from "../../once.ts";
import { rowsOf } from "../../grids.ts";

/** Row and column offsets from the first stone of a group. */
const GROUPS: readonly (readonly [number, number])[][] = [
  [[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]],
  [[0, 0], [1, 0], [0, 1]],
  [[0, 0], [1, 0], [2, 0], [2, 1]],
  [[0, 0], [0, -1], [0, 1], [1, 0]],
  [[0, 0], [0, -1], [0, 1], [1, 0], [2, 0]],
];
const TRIES = 2000;
/** Maximum number of places tried for each scattered stone. */
const STONE_TRIES = 10;
const EMPTY = 0, BLACK = 1, WHITE = 2;
const MARKS = [".", "X", "O"];
const LETTERS = "ABCDEFGHIJKLMNOPQRS";

export default defineTask({
  description: "Find the move that captures the most stones on a Go board.",
  scoring:
    "Trimmed, in capitals: 1 when equal to the move; its share of the length when the answer " +
    "contains it as a whole coordinate; 0.05 for another single coordinate; else 0.01.",
  params: {
    board_size: counts([9, 13], "rows and columns", { min: 5, max: 19, levels: [5, 10, 15, 19] }),
    max_stones: int(15, "most stones beside the enclosed group", {
      min: 5,
      levels: [5, 10, 13, 15],
    }),
  },
  generate(random, config) {
    const size = random.int(config.min_board_size, config.max_board_size);
    const { stones, move } = drawBoard(random, size, config.max_stones);
    const board = rowsOf(Array.from(stones, (stone) => MARKS[stone]!), size);
    const answer = LETTERS[move % size]! + (size - Math.floor(move / size));
    return {
      question: "It is Black's turn in this game of Go (X is Black, O is White, . is empty). A " +
        "stone is captured when its group, that is all stones of its colour connected with it " +
        "up, down, left or right, has no empty point next to it any more. Which move captures " +
        `the most white stones?\n\n${boardText(board)}\n\n` +
        "Answer with the point, the letter of the column (I is used) and the number of the row, " +
        "for example C4.",
      answer,
      metadata: { board, board_size: size },
      difficulty: { board_size: [config.min_board_size, config.max_board_size] },
    };
  },
  score(answer, entry) {
    const oracle = entry.answer ?? "", given = strip(answer).toUpperCase();
    if (given === oracle) return 1;
    if (containsWhole(given, oracle)) return codePoints(oracle) / codePoints(given);
    return /^[A-Z][0-9]+$/.test(given) ? 0.05 : 0.01;
  },
});

function boardText(board: readonly string[][]): string {
  const size = board.length;
  const lines = board.map((row, i) => `${String(size - i).padStart(2)} ${row.join(" ")}`);
  return [`   ${[...LETTERS.slice(0, size)].join(" ")}`, ...lines].join("\n");
}

function drawBoard(random: RandomStream, size: number, maxStones: number) {
  const neighbours = neighboursOf(size);
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const planted = plantGroup(random, size, neighbours);
    if (planted === null) continue;
    const { stones, move } = planted;
    for (let i = 0; i < maxStones; i++) scatter(random, stones, move, neighbours);
    if (isBest(stones, move, neighbours)) return { stones, move };
  }
  throw new RgxError(`task tsumego: found no capture on a board of ${size} rows and columns`);
}

const neighboursOf = once((size: number) =>
  Array.from({ length: size * size }, (_, point) => {
    const row = Math.floor(point / size), column = point % size;
    return [
      ...(row > 0 ? [point - size] : []),
      ...(row < size - 1 ? [point + size] : []),
      ...(column > 0 ? [point - 1] : []),
      ...(column < size - 1 ? [point + 1] : []),
    ];
  })
);

/** A white group with a single liberty; null when it does not fit on the board. */
function plantGroup(random: RandomStream, size: number, neighbours: readonly number[][]) {
  const shape = random.choice(GROUPS), turns = random.below(4);
  const row = random.below(size), column = random.below(size);
  const stones = new Uint8Array(size * size), group: number[] = [];
  for (const step of shape) {
    const [down, right] = turned(step, turns);
    const r = row + down, c = column + right;
    if (r < 0 || r >= size || c < 0 || c >= size) return null;
    group.push(r * size + c);
    stones[r * size + c] = WHITE;
  }
  const border = [...new Set(group.flatMap((point) => neighbours[point]!))]
    .filter((point) => stones[point] === EMPTY);
  const move = random.choice(border);
  for (const point of border) if (point !== move) stones[point] = BLACK;
  return stones.every((stone, p) => stone === EMPTY || hasLiberty(stones, p, neighbours))
    ? { stones, move }
    : null;
}

function turned([down, right]: readonly [number, number], turns: number): [number, number] {
  let [r, c] = [down, right];
  for (let i = 0; i < turns; i++) [r, c] = [c, -r];
  return [r, c];
}

/**
 * Puts a stone of random colour on a point where every group keeps a liberty, and the planted group
 * the same one.
 */
function scatter(
  random: RandomStream,
  stones: Uint8Array,
  move: number,
  neighbours: readonly number[][],
): void {
  for (let attempt = 0; attempt < STONE_TRIES; attempt++) {
    const point = random.below(stones.length);
    if (stones[point] !== EMPTY || point === move) continue;
    stones[point] = random.chance(0.5) ? BLACK : WHITE;
    const isLegal = [point, ...neighbours[point]!].every((p) =>
      stones[p] === EMPTY || hasLiberty(stones, p, neighbours)
    );
    if (isLegal) return;
    stones[point] = EMPTY;
  }
}

function hasLiberty(stones: Uint8Array, point: number, neighbours: readonly number[][]): boolean {
  return neighbours[point]!.some((next) => stones[next] === EMPTY) ||
    liberties(stones, point, neighbours).free > 0;
}

/**
 * The last empty point next to the group of a stone, the number of such points (2 for more), and
 * the group's size.
 */
function liberties(stones: Uint8Array, start: number, neighbours: readonly number[][]) {
  const colour = stones[start], group = [start], seen = new Set(group);
  let liberty = -1, free = 0;
  for (let i = 0; i < group.length; i++) {
    for (const next of neighbours[group[i]!]!) {
      if (stones[next] === EMPTY && next !== liberty && free < 2) {
        liberty = next;
        free++;
      } else if (stones[next] === colour && !seen.has(next)) {
        seen.add(next);
        group.push(next);
      }
    }
  }
  return { free, liberty, group };
}

/** Whether the move captures something, and more than any other move. */
function isBest(stones: Uint8Array, move: number, neighbours: readonly number[][]): boolean {
  const captures = new Map<number, number>(), seen = new Set<number>();
  for (let point = 0; point < stones.length; point++) {
    if (stones[point] !== WHITE || seen.has(point)) continue;
    const { free, liberty, group } = liberties(stones, point, neighbours);
    for (const stone of group) seen.add(stone);
    if (free === 1) captures.set(liberty, (captures.get(liberty) ?? 0) + group.length);
  }
  const captured = captures.get(move) ?? 0;
  captures.delete(move);
  return captured > 0 && captures.values().every((count) => count < captured);
}

/** Whether the whole coordinate occurs in the text: C1 is not contained in C11. */
function containsWhole(text: string, coordinate: string): boolean {
  if (coordinate === "") return false;
  for (let at = text.indexOf(coordinate); at >= 0; at = text.indexOf(coordinate, at + 1)) {
    if (!/\p{N}/u.test(text[at + coordinate.length] ?? " ")) return true;
  }
  return false;
}

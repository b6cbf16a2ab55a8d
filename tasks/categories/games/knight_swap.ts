/**
 * Swap the white and the black knights on some squares of a 3 × 4 board; the colours move
 * alternately. A breadth-first search over all positions gives the minimum number of moves, or
 * proves that there is no solution.
 */
import { RgxError } from "../../../core/errors.ts";
import { isRecord } from "../../../core/json_file.ts";
import { type ConfigOf, counts, defineTask, float, int, type RandomStream } from "../../define.ts";
import { parseJson } from "../../python/literals.ts";
import { strip } from "../../python/text.ts";

const COLUMNS = "ABCD", ROWS = 3, SQUARES = 12;

const params = {
  nodes: counts([6, 9], "squares of the board", {
    min: 6,
    max: SQUARES,
    levels: [4, 6, 8, 10, 12],
  }),
  pieces: counts([2, 2], "knights of a colour", {
    note: "; fewer where no square would be empty",
    min: 1,
    max: 6,
    levels: [2, 3, 4, 5, 6],
  }),
  steps: counts([4, 20], "moves of a shortest solution", { min: 1, spans: [1, 10, 20, 30] }),
  max_attempts: int(100, "boards drawn before a board of the other kind is taken", { min: 1 }),
  impossible_ratio: float(0.2, "share of boards without a solution", { min: 0, max: 1 }),
};

type Config = ConfigOf<typeof params>;

export default defineTask({
  description: "Swap white and black knights by turns, or see that it is impossible.",
  scoring:
    "Impossible: 1 for no in any case, else 0. Possible: the moves of a JSON list are played; " +
    "one of another form or an illegal one is worth 0; swapped: fewest moves / moves; legal but " +
    "not swapped 0.05.",
  defaultSize: 5,
  params,
  generate(random, config) {
    const puzzle = drawPuzzle(random, config);
    const { squares, start, turn, moves } = puzzle;
    const solution = moves?.map(([colour, from, to]) => [colour, nameOf(from), nameOf(to)]) ?? null;
    return {
      question: question(puzzle),
      answer: solution === null ? "No" : `[${solution.map((m) => `"${m.join(",")}"`).join(", ")}]`,
      metadata: {
        board: Object.fromEntries(
          squares.map((square) => [nameOf(square), neighbours(square, squares).map(nameOf)]),
        ),
        pieces: piecesOf(squares, start),
        start_turn: turn,
        solution,
        is_possible: solution !== null,
        num_steps: moves?.length ?? 0,
        board_states: moves && statesOf(squares, start, moves),
      },
    };
  },
  score(answer, entry) {
    const { is_possible, board, pieces, start_turn, num_steps } = entry.metadata ?? {};
    if (is_possible === false) return strip(answer).toLowerCase() === "no" ? 1 : 0;
    const moves = parseJson(strip(answer));
    if (!isRecord(board) || !isRecord(pieces) || !Array.isArray(moves)) return 0;
    const now = new Map(Object.entries(pieces));
    let turn: unknown = start_turn;
    for (const move of moves) {
      if (typeof move !== "string") return 0;
      const [colour, from, to, ...rest] = move.split(",", 4) as [string, string, string];
      if (to === undefined || rest.length > 0 || colour !== turn) return 0;
      const near = Object.hasOwn(board, from) ? board[from] : null;
      if (!Array.isArray(near) || !near.includes(to)) return 0;
      if (now.get(from) !== colour || (now.get(to) ?? null) !== null) return 0;
      now.set(from, null);
      now.set(to, colour);
      turn = colour === "w" ? "B" : "w";
    }
    const isSwapped = Object.entries(pieces).every(([square, piece]) =>
      now.get(square) === (piece === "w" ? "B" : piece === "B" ? "w" : null)
    );
    if (!isSwapped) return 0.05;
    return typeof num_steps === "number" ? Math.min(1, num_steps / moves.length) : 1;
  },
});

type Colour = "w" | "B";
type Move = readonly [colour: Colour, from: number, to: number];

/** The squares with a white and with a black knight, one bit each. */
interface Position {
  white: number;
  black: number;
}

interface Puzzle {
  /** Square numbers: 4 · row + column. Row 0 is row 1 of the board. */
  squares: number[];
  start: Position;
  turn: Colour;
  /** null when there is no solution. */
  moves: Move[] | null;
}

function nameOf(square: number): string {
  return COLUMNS[square & 3]! + ((square >> 2) + 1);
}

const KNIGHT_MOVES: readonly (readonly number[])[] = Array.from(
  { length: SQUARES },
  (_, a) =>
    Array.from({ length: SQUARES }, (_, b) => b).filter((b) =>
      Math.abs((a & 3) - (b & 3)) * Math.abs((a >> 2) - (b >> 2)) === 2
    ),
);

function neighbours(square: number, squares: readonly number[]): number[] {
  return KNIGHT_MOVES[square]!.filter((other) => squares.includes(other));
}

/**
 * A board whose solution is within the range, or a board without a solution; a draw decides. If no
 * such board is found, the other kind is made.
 */
function drawPuzzle(random: RandomStream, config: Config): Puzzle {
  const wantsImpossible = random.chance(config.impossible_ratio);
  let other: Puzzle | null = null;
  for (let attempt = 0; attempt < config.max_attempts; attempt++) {
    const squares = drawSquares(random, random.int(config.min_nodes, config.max_nodes));
    const pieces = Math.min(
      random.int(config.min_pieces, config.max_pieces),
      (squares.length - 1) >> 1,
    );
    const taken = random.sample(squares, 2 * pieces);
    const start = { white: bits(taken.slice(0, pieces)), black: bits(taken.slice(pieces)) };
    const turn = random.chance(0.5) ? "w" : "B";
    const moves = shortestSwap(squares, start, turn);
    const puzzle: Puzzle = { squares, start, turn, moves };
    if (moves === null) {
      if (wantsImpossible) return puzzle;
      other ??= puzzle;
    } else if (moves.length >= config.min_steps && moves.length <= config.max_steps) {
      if (!wantsImpossible) return puzzle;
      other ??= puzzle;
    }
  }
  if (other !== null) return other;
  throw new RgxError(
    `task knight_swap: none of ${config.max_attempts} boards is impossible or has a shortest ` +
      `solution of ${config.min_steps} to ${config.max_steps} moves`,
    { advice: "widen the range of steps or raise max_attempts" },
  );
}

/** Connected squares: each is a knight's move from an earlier one. */
function drawSquares(random: RandomStream, count: number): number[] {
  const squares = [random.below(SQUARES)];
  const edge = new Set(KNIGHT_MOVES[squares[0]!]);
  while (squares.length < count) {
    const next = random.choice([...edge]);
    squares.push(next);
    edge.delete(next);
    for (const other of KNIGHT_MOVES[next]!) if (!squares.includes(other)) edge.add(other);
  }
  return squares;
}

function bits(squares: readonly number[]): number {
  return squares.reduce((word, square) => word | 1 << square, 0);
}

function shortestSwap(squares: readonly number[], start: Position, turn: Colour): Move[] | null {
  const board = bits(squares);
  const near = KNIGHT_MOVES.map((list) => bits(list) & board);
  const keyOf = (white: number, black: number, side: number) => (white * 4096 + black) * 2 + side;
  const first = keyOf(start.white, start.black, turn === "w" ? 0 : 1);
  const goal = start.black * 4096 + start.white;
  const order = [first], before = new Map([[first, -1]]);
  for (let at = 0; at < order.length; at++) {
    const key = order[at]!, side = key & 1, white = key >> 13, black = key >> 1 & 4095;
    if (key >> 1 === goal) return movesTo(key, before);
    const mover = side === 0 ? white : black, empty = board & ~(white | black);
    for (let knights = mover; knights !== 0; knights &= knights - 1) {
      const from = 31 - Math.clz32(knights & -knights);
      for (let targets = near[from]! & empty; targets !== 0; targets &= targets - 1) {
        const moved = mover ^ 1 << from ^ (targets & -targets);
        const next = side === 0 ? keyOf(moved, black, 1) : keyOf(white, moved, 0);
        if (before.has(next)) continue;
        before.set(next, key);
        order.push(next);
      }
    }
  }
  return null;
}

function movesTo(last: number, before: ReadonlyMap<number, number>): Move[] {
  const moves: Move[] = [];
  for (let key = last, previous = before.get(key)!; previous >= 0;) {
    const side = previous & 1, shift = side === 0 ? 13 : 1;
    const now = key >> shift & 4095, then = previous >> shift & 4095;
    const at = (word: number) => 31 - Math.clz32(word);
    moves.push([side === 0 ? "w" : "B", at(then & ~now), at(now & ~then)]);
    key = previous;
    previous = before.get(key)!;
  }
  return moves.reverse();
}

function piecesOf(squares: readonly number[], { white, black }: Position) {
  return Object.fromEntries(
    squares.map((square) => [
      nameOf(square),
      white >> square & 1 ? "w" : black >> square & 1 ? "B" : null,
    ]),
  );
}

function statesOf(squares: readonly number[], start: Position, moves: readonly Move[]) {
  let { white, black } = start;
  const states = [piecesOf(squares, start)];
  for (const [colour, from, to] of moves) {
    if (colour === "w") white ^= 1 << from | 1 << to;
    else black ^= 1 << from | 1 << to;
    states.push(piecesOf(squares, { white, black }));
  }
  return states;
}

function question({ squares, start, turn }: Puzzle): string {
  const pieces = piecesOf(squares, start), lines: string[] = [];
  for (let row = ROWS - 1; row >= 0; row--) {
    const cells = Array.from(COLUMNS, (_, column) => {
      const name = nameOf(4 * row + column);
      return name in pieces ? pieces[name] ?? "." : " ";
    });
    lines.push(`${row + 1} | ${cells.join(" | ")} |`);
  }
  return "This board has white knights (w), black knights (B) and empty squares (.); squares " +
    `left blank do not exist. Columns are A to D, rows 1 to ${ROWS}.\n\n` +
    `    A   B   C   D\n${lines.join("\n")}\n\n` +
    `White and black move by turns, ${turn === "w" ? "white" : "black"} first. A knight moves ` +
    "two squares along a row or column and one across, to an empty square; it may jump over " +
    "anything. A side may not pass. The white knights are to stand on exactly the squares that " +
    "the black knights hold now, and the black ones on those of the white knights.\n" +
    "If that cannot be done, answer No. Otherwise answer with the moves, as few as possible, as " +
    'a JSON list of texts "colour,from,to" with colour w or B, for example ["w,A1,B3", "B,C1,A2"]';
}

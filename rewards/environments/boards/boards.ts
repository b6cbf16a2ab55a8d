/** The rules of the games that {@link BOARD_NAMES} lists, for the metadata of their tasks. */
import { gridText } from "../../../tasks/grids.ts";
import {
  differInOneLetter,
  isLadderWord,
} from "../../../tasks/categories/algorithmic/words/word_ladder.ts";
import { digitsText } from "../../../tasks/categories/games/cell_solver.ts";
import * as rushHour from "../../../tasks/categories/games/rush_hour.ts";
import * as sokoban from "../../../tasks/categories/games/sokoban.ts";
import { initialBoard } from "../../../tasks/categories/games/tower_of_hanoi.ts";
import { type Board, Illegal } from "./board.ts";

/** The parts of a move that fits. @throws Illegal where it does not */
function parts<Parts extends string[]>(move: string, form: RegExp, how: string): Parts {
  const found = form.exec(move.trim());
  if (found === null) {
    throw new Illegal(`a move is ${how}, found ${JSON.stringify(move.slice(0, 60))}`);
  }
  return found.slice(1) as Parts;
}

type Three = [string, string, string];

/** @throws Illegal with what is wrong */
function must(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Illegal(what);
}

// Pieces that move.

const DISK = "such as: Move disk 1 from Peg 2 to Peg 3";
const towerOfHanoi: Board<{ pegs: number[][]; disks: number; target: number }> = {
  how: DISK,
  start({ num_disks: disks, num_pegs: pegs, start_peg: start, target_peg: target }) {
    return {
      pegs: initialBoard(Number(disks), Number(pegs), Number(start)),
      disks: Number(disks),
      target: Number(target),
    };
  },
  play({ pegs }, move) {
    const form = /^move disk (\d+) from peg (\d+) to peg (\d+)\.?$/i;
    const [disk, a, b] = parts(move, form, DISK).map(Number) as [number, number, number];
    const from = pegs[a - 1], to = pegs[b - 1];
    must(from !== undefined && to !== undefined, `there are Peg 1 to Peg ${pegs.length}`);
    must(from.at(-1) === disk, `disk ${disk} is not on top of Peg ${a}`);
    must(to.length === 0 || to.at(-1)! >= disk, `disk ${disk} cannot lie on disk ${to.at(-1)}`);
    to.push(from.pop()!);
    return `Move disk ${disk} from Peg ${a} to Peg ${b}`;
  },
  show: ({ pegs }) =>
    pegs.map((peg, i) => `Peg ${i + 1}: ${peg.length === 0 ? "empty" : peg.join(" ")}`).join("\n") +
    "\n(each from the bottom to the top)",
  isOver: ({ pegs, disks, target }) => pegs[target - 1]!.length === disks,
  answer: (moves) => moves.join("\n"),
};

const WALK = "one of the letters U (up), D (down), L (left) and R (right)";
const sokobanBoard: Board<sokoban.Board> = {
  how: WALK,
  start: ({ gamestr }) => sokoban.readBoard(gamestr)!,
  play(board, move) {
    const letter = parts(move, /^([UDLR])\.?$/i, WALK)[0]!.toUpperCase();
    must(sokoban.walk(board, letter), "a wall, or a box that cannot be pushed, is in the way");
    return letter;
  },
  show(board) {
    const { width, isWall } = board;
    const cells = Array.from(isWall, (wall, at) => sokoban.markAt(board, at, wall === 1));
    // Without the border that the board was given.
    const rows = Array.from(
      { length: cells.length / width },
      (_, row) => cells.slice(row * width + 1, (row + 1) * width - 1),
    );
    return gridText(rows.slice(1, -1));
  },
  isOver: sokoban.isSolved,
  answer: (moves) => moves.join(""),
};

const SHIFT = "a letter, + or -, and a number of squares, such as B+1";
const rushHourBoard: Board<rushHour.Board> = {
  how: SHIFT,
  start: ({ board_config }) => rushHour.readBoard(board_config)!,
  play(board, move) {
    const form = /^([A-Z])([+-])([1-5])\.?$/i;
    const [letter, sign, digits] = parts<Three>(move, form, SHIFT);
    const vehicle = board.vehicles.get(letter.toUpperCase());
    must(vehicle !== undefined, `there is no vehicle ${letter}`);
    for (let i = 0; i < Number(digits); i++) {
      const isFree = rushHour.moveBy1(board, vehicle, sign === "+");
      must(isFree, `${letter} has only ${i} free squares there`);
    }
    return `${letter.toUpperCase()}${sign}${digits}`;
  },
  show({ vehicles, isTaken }) {
    const cells: string[] = Array.from(isTaken, (taken) => taken ? "x" : ".");
    for (const [letter, { squares }] of vehicles) for (const at of squares) cells[at] = letter;
    return Array.from({ length: 6 }, (_, row) => cells.slice(6 * row, 6 * row + 6).join(""))
      .join("\n");
  },
  isOver: rushHour.isSolved,
  answer: (moves) => moves.join(" "),
};

interface Maze {
  grid: string[][];
  goal: string;
  wall: string;
  at: [row: number, column: number];
}
const maze: Board<Maze> = {
  how: WALK,
  start({ grid, start, goal, wall, path }) {
    const rows = (grid as string[]).map((row) => [...row]);
    const row = rows.findIndex((cells) => cells.includes(String(start)));
    const column = rows[row]!.indexOf(String(start));
    rows[row]![column] = String(path);
    return { grid: rows, goal: String(goal), wall: String(wall), at: [row, column] };
  },
  play(position, move) {
    const letter = parts(move, /^([UDLR])\.?$/i, WALK)[0]!.toUpperCase();
    const [down, right] = { U: [-1, 0], D: [1, 0], L: [0, -1], R: [0, 1] }[letter]!;
    const row = position.at[0] + down!, column = position.at[1] + right!;
    const cell = position.grid[row]?.[column] ?? position.wall;
    must(cell !== position.wall, "a wall is there");
    position.at = [row, column];
    return letter;
  },
  show: ({ grid, at: [row, column] }) =>
    `You stand in row ${row + 1}, column ${column + 1} of\n` +
    grid.map((cells) => cells.join("")).join("\n"),
  isOver: ({ grid, goal, at: [row, column] }) => grid[row]![column] === goal,
  // The task asks for the number of steps of the shortest way.
  answer: (moves) => String(moves.length),
};

type Piece = "w" | "B" | null;
interface Knights {
  board: Record<string, string[]>;
  before: Record<string, Piece>;
  pieces: Record<string, Piece>;
  turn: Piece;
  isGivenUp: boolean;
}
const JUMP = "the colour, from and to, such as w,A1,B3, or No if it cannot be done";
const knightSwap: Board<Knights> = {
  how: JUMP,
  start({ board, pieces, start_turn: turn }) {
    const before = pieces as Knights["pieces"];
    return {
      board: board as Knights["board"],
      before,
      pieces: { ...before },
      turn: turn as Piece,
      isGivenUp: false,
    };
  },
  play(position, move) {
    if (/^no\.?$/i.test(move.trim())) {
      position.isGivenUp = true;
      return "No";
    }
    const form = /^\W*([wB])\s*,\s*([A-D][1-3])\s*,\s*([A-D][1-3])\W*$/;
    const [colour, from, to] = parts(move, form, JUMP) as [Piece & string, string, string];
    const { board, pieces, turn } = position;
    must(colour === turn, `it is the turn of ${turn}`);
    must(pieces[from] === colour, `there is no ${colour} on ${from}`);
    must(board[from]!.includes(to), `${to} is no knight's move from ${from}, or not there`);
    must(pieces[to] === null, `${to} is not empty`);
    pieces[from] = null;
    pieces[to] = colour;
    position.turn = colour === "w" ? "B" : "w";
    return `${colour},${from},${to}`;
  },
  show({ pieces, turn }) {
    const lines = ["3", "2", "1"].map((row) =>
      `${row} | ${
        [..."ABCD"].map((column) => {
          const piece = pieces[column + row];
          return piece === undefined ? " " : piece ?? ".";
        }).join(" | ")
      } |`
    );
    return `    A   B   C   D\n${lines.join("\n")}\n${turn === "w" ? "White" : "Black"} moves.`;
  },
  isOver: ({ before, pieces, isGivenUp }) =>
    isGivenUp ||
    Object.entries(before).every(([square, piece]) =>
      pieces[square] === (piece === "w" ? "B" : piece === "B" ? "w" : null)
    ),
  answer: (moves) => moves.at(-1) === "No" ? "No" : JSON.stringify(moves),
};

// Cells that are filled.

interface Cells<Cell> {
  given: readonly (readonly Cell[])[];
  now: Cell[][];
}

const copy = <Cell>(puzzle: unknown): Cells<Cell> => {
  const given = puzzle as Cell[][];
  return { given, now: given.map((row) => [...row]) };
};

/** The cell of a move, with its indices. @throws Illegal for one that was given */
function cellOf<Cell>({ given, now }: Cells<Cell>, row: string, column: string, empty: Cell) {
  const i = Number(row) - 1, k = Number(column) - 1, count = now.length;
  must(now[i]?.[k] !== undefined, `rows and columns are 1 to ${count}`);
  must(given[i]![k] === empty, `the cell in row ${row}, column ${column} was given`);
  return [i, k] as const;
}

const FILL = "row, column and digit, such as 2 3 4 (_ in place of the digit empties the cell)";
const sudoku: Board<Cells<number>> = {
  how: FILL,
  start: ({ puzzle }) => copy<number>(puzzle),
  play(cells, move) {
    const form = /^(\d)[\s,]+(\d)[\s,]+([\d_])\.?$/;
    const [row, column, mark] = parts<Three>(move, form, FILL);
    const [i, k] = cellOf(cells, row, column, 0), { now } = cells, size = now.length;
    const digit = mark === "_" ? 0 : Number(mark), side = Math.sqrt(size);
    must(mark === "_" || digit >= 1 && digit <= size, `digits are 1 to ${size}`);
    for (let r = 0; r < size; r++) {
      for (let c = 0; c < size; c++) {
        if (digit === 0 || now[r]![c] !== digit || r === i && c === k) continue;
        const inBlock = Math.floor(r / side) === Math.floor(i / side) &&
          Math.floor(c / side) === Math.floor(k / side);
        must(r !== i, `row ${row} has a ${digit} already`);
        must(c !== k, `column ${column} has a ${digit} already`);
        must(!inBlock, `the block has a ${digit} already`);
      }
    }
    now[i]![k] = digit;
    return `${row} ${column} ${mark}`;
  },
  show: ({ now }) => digitsText(now),
  isOver: ({ now }) => now.every((row) => !row.includes(0)),
  answer: (_, { now }) => digitsText(now),
};

const QUEEN = "row and column of a queen, such as 2 3 (_ 2 3 takes yours away)";
const nQueens: Board<Cells<string>> = {
  how: QUEEN,
  start: ({ puzzle }) => copy<string>(puzzle),
  play(cells, move) {
    const form = /^(_?)\s*(\d+)[\s,]+(\d+)\.?$/;
    const [away, row, column] = parts<Three>(move, form, QUEEN);
    const [i, k] = cellOf(cells, row, column, "_"), { now } = cells;
    const isThere = now[i]![k] === "Q";
    must(isThere === (away === "_"), isThere ? "a queen is there" : "no queen is there");
    for (const [r, line] of now.entries()) {
      for (const [c, mark] of line.entries()) {
        if (away === "_" || mark !== "Q") continue;
        const attacks = r === i || c === k || Math.abs(r - i) === Math.abs(c - k);
        must(!attacks, `the queen in row ${r + 1}, column ${c + 1} attacks it`);
      }
    }
    now[i]![k] = away === "_" ? "_" : "Q";
    return `${away}${row} ${column}`;
  },
  show: ({ now }) => gridText(now),
  isOver: ({ now }) => now.flat().filter((mark) => mark === "Q").length === now.length,
  answer: (_, { now }) => gridText(now),
};

// Words and numbers.

interface Ladder {
  words: string[];
  end: string;
}
const WORD = "the next word";
const wordLadder: Board<Ladder> = {
  how: WORD,
  start: ({ start_word: start, end_word: end }) => ({ words: [String(start)], end: String(end) }),
  play({ words }, move) {
    const word = parts(move, /^([A-Za-z]+)\.?$/, WORD)[0]!.toUpperCase(), last = words.at(-1)!;
    must(differInOneLetter(last, word), `${word} does not differ from ${last} in one letter`);
    must(isLadderWord(word), `${word} is not in the list of words`);
    words.push(word);
    return word;
  },
  show: ({ words, end }) => `${words.join(",")}, … ${end}`,
  isOver: ({ words, end }) => words.at(-1) === end,
  answer: (_, { words }) => words.join(","),
};

interface Numbers {
  left: { value: number; text: string }[];
  target: number;
}
const PAIR = "two of the numbers with + - * or / between them, such as 27 - 20; the result takes " +
  "their place";
const countdown: Board<Numbers> = {
  how: PAIR,
  start: ({ numbers, target }) => ({
    left: (numbers as number[]).map((value) => ({ value, text: String(value) })),
    target: Number(target),
  }),
  play({ left }, move) {
    const [a, sign, b] = parts<Three>(move, /^(-?\d+)\s*([-+*\/])\s*(-?\d+)\.?$/, PAIR);
    const take = (value: string) => {
      const at = left.findIndex((one) => one.value === Number(value));
      must(at >= 0, `${value} is not among the numbers that are left`);
      return left.splice(at, 1)[0]!;
    };
    const first = take(a), second = take(b), x = first.value, y = second.value;
    const value = sign === "+" ? x + y : sign === "-" ? x - y : sign === "*" ? x * y : x / y;
    must(Number.isSafeInteger(value), `${a} ${sign} ${b} is no whole number`);
    left.push({ value, text: `(${first.text} ${sign} ${second.text})` });
    return `${a} ${sign} ${b}`;
  },
  show: ({ left, target }) =>
    `The numbers are now ${left.map(({ value }) => value).join(", ")}; make ${target}.`,
  isOver: ({ left }) => left.length === 1,
  answer: (_, { left }) => left.map(({ text }) => text).join(", "),
};

export const BOARDS: Readonly<Record<string, Board<unknown>>> = {
  tower_of_hanoi: towerOfHanoi,
  sokoban: sokobanBoard,
  rush_hour: rushHourBoard,
  maze,
  mini_sudoku: sudoku,
  sudoku,
  knight_swap: knightSwap,
  n_queens: nQueens,
  word_ladder: wordLadder,
  countdown,
} as Readonly<Record<string, Board<unknown>>>;

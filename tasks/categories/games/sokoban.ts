/**
 * Push all boxes onto goals. A board is made backwards from its solved state: the player walks and
 * pulls boxes off their goals, so the reverse is a solution. The scorer reads the board from its
 * text and plays the answer on it.
 */
import { RgxError } from "../../../core/errors.ts";
import { counts, defineTask, int, type RandomStream } from "../../define.ts";
import { strip } from "../../python/text.ts";

const SIZES = [6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19];
const MAX_SIDE = 20;
const MAX_ANSWER_LENGTH = 100_000;

export default defineTask({
  description: "Push boxes onto goals.",
  scoring:
    "The letters U D L R are played (white space, commas, quotes and one full stop at the end " +
    "are skipped): 1 when no box is off a goal at the end; any other character, or a box left, 0.",
  params: {
    w: counts([6, 10], "columns, with the walls", {
      min: 3,
      max: MAX_SIDE,
      levels: SIZES,
      as: "width",
    }),
    h: counts([6, 10], "rows, with the walls", {
      min: 3,
      max: MAX_SIDE,
      levels: SIZES,
      as: "height",
    }),
    min_boxes: int(4, "boxes on the smallest board; fewer where they do not fit", { min: 1 }),
    max_boxes: int(10, "boxes on the largest board"),
    max_depth: int(80, "the solution has fewer moves", { min: 2 }),
  },
  rules: {
    "min_w: min_w or min_h must be at least 5, so that a box can be pushed between the walls": (
      c,
    ) => Math.max(c.min_w, c.min_h) >= 5,
  },
  generate(random, config) {
    const width = random.int(config.min_w, config.max_w);
    const height = random.int(config.min_h, config.max_h);
    const smallest = config.min_w * config.min_h, largest = config.max_w * config.max_h;
    const share = largest === smallest ? 0 : (width * height - smallest) / (largest - smallest);
    const boxes = Math.floor(config.min_boxes + (config.max_boxes - config.min_boxes) * share);
    const room = drawRoom(random, width, height, boxes, config.max_depth - 1);
    const gamestr = roomText(room);
    return {
      question:
        "Solve this Sokoban. The player walks up, down, left or right and pushes a box that is " +
        "in the way one square ahead, if the square behind it has neither a wall nor a box. Push " +
        "every box onto a goal.\n* player, % player on a goal, @ box, $ box on a goal, X goal, + " +
        `wall, - empty floor\n\n${strip(gamestr)}\n\n` +
        "Answer with the moves as one word of the letters U (up), D (down), L (left) and R " +
        "(right), for example UURDL.",
      answer: room.solution,
      metadata: { gamestr, width, height },
    };
  },
  score(answer, entry) {
    const board = readBoard(entry.metadata?.["gamestr"]);
    if (board === null || answer.length > MAX_ANSWER_LENGTH) return 0;
    const moves = strip(answer).replace(/\.$/, "");
    if (/[^UDLR\s,'"]/.test(moves)) return 0;
    for (const move of moves) walk(board, move);
    return isSolved(board) ? 1 : 0;
  },
});

/** Walks one step, and pushes the box that is there. Returns whether the way was free. */
export function walk(board: Board, move: string): boolean {
  const { width, isWall, isBox } = board;
  const step = { U: -width, D: width, L: -1, R: 1 }[move];
  if (step === undefined) return false;
  const ahead = board.player + step, behind = ahead + step;
  if (isWall[ahead]) return false;
  if (isBox[ahead]) {
    if (isWall[behind] || isBox[behind]) return false;
    isBox[ahead] = 0;
    isBox[behind] = 1;
  }
  board.player = ahead;
  return true;
}

/** Whether no box is off a goal. */
export function isSolved({ isBox, isGoal }: Board): boolean {
  return isBox.every((box, at) => !box || isGoal[at] === 1);
}

/** The mark of a square, as the question names them. */
export function markAt(
  { isGoal, isBox, player }: Pick<Board, "isGoal" | "isBox" | "player">,
  at: number,
  isWall: boolean,
): string {
  if (at === player) return isGoal[at] ? "%" : "*";
  if (isBox[at]) return isGoal[at] ? "$" : "@";
  if (isWall) return "+";
  return isGoal[at] ? "X" : "-";
}

function roomText(room: Room): string {
  const { width, height, isFloor } = room;
  let text = "";
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      const at = row * width + column;
      text += markAt(room, at, !isFloor[at]) + " ";
    }
    text += " \n";
  }
  return text + "\n";
}

export interface Board {
  /** With an additional border of walls, so that no step leaves the board. */
  width: number;
  isWall: Uint8Array;
  isGoal: Uint8Array;
  isBox: Uint8Array;
  player: number;
}

/** Returns null for a text that is no board with a player. */
export function readBoard(value: unknown): Board | null {
  if (typeof value !== "string") return null;
  const rows = value.split("\n").map((line) => line.replaceAll(" ", "")).filter((row) =>
    row !== ""
  );
  const width = Math.max(0, ...rows.map((row) => row.length)) + 2;
  const count = width * (rows.length + 2);
  const board = {
    width,
    isWall: new Uint8Array(count).fill(1),
    isGoal: new Uint8Array(count),
    isBox: new Uint8Array(count),
    player: -1,
  };
  rows.forEach((row, r) => {
    for (let c = 0; c < row.length; c++) {
      const at = (r + 1) * width + c + 1, mark = row[c]!;
      board.isWall[at] = mark === "+" ? 1 : 0;
      board.isGoal[at] = "X$%".includes(mark) ? 1 : 0;
      board.isBox[at] = "@$".includes(mark) ? 1 : 0;
      if (mark === "*" || mark === "%") board.player = at;
    }
  });
  return board.player < 0 ? null : board;
}

/**
 * Makes Sokoban rooms backwards: boxes start on their goals, and the player pulls them away. The
 * reverse of a pull is a push. So the pulls in reverse order, with shortest walks between them,
 * solve the room. Solutions are generally not the shortest.
 */

/** The arrays have one value for each square, row by row. The border is wall. */
interface Room {
  width: number;
  height: number;
  isFloor: Uint8Array;
  isGoal: Uint8Array;
  isBox: Uint8Array;
  player: number;
  /** Moves from this state to one with every box on a goal: letters U D L R. */
  solution: string;
}

const TRIES = 300, PATIENCE = 30;
/** The wanted number of moves is drawn between this share of the maximum and the maximum. */
const MIN_MOVES_SHARE = 0.07;
/** Minimum and maximum share of walls inside the border. */
const MIN_WALLS = 0.05, MAX_WALLS = 0.3;
/**
 * Probabilities: to pull the last moved box again, and otherwise to pull a box that is still on a
 * goal.
 */
const SAME_BOX = 0.6, BOX_ON_GOAL = 0.7;
const LETTERS = "UDLR", OPPOSITE = "DURL";

/** A room with at least one box off its goal and a solution of at most `maxMoves` moves. */
function drawRoom(
  random: RandomStream,
  width: number,
  height: number,
  boxes: number,
  maxMoves: number,
): Room {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const isFloor = drawFloor(random, width, height, attempt);
    const floor = squaresOf(isFloor);
    if (floor.length < 3) continue;
    const fitting = Math.min(boxes, Math.max(1, Math.floor(floor.length / 3)));
    const goals = random.sample(floor, fitting);
    const wanted = Math.ceil(maxMoves * random.uniform(MIN_MOVES_SHARE, 1));
    const room = pullApart(random, isFloor, goals, width, wanted, maxMoves);
    // In some rooms boxes soon block each other. Such rooms are drawn again for the first attempts.
    const enough = attempt < PATIENCE ? wanted / 2 : 1;
    if (room !== null && room.solution.length >= enough) return { width, height, ...room };
  }
  throw new RgxError(`task sokoban: found no solvable board of ${width} × ${height} squares`);
}

function squaresOf(marks: Uint8Array): number[] {
  const squares: number[] = [];
  marks.forEach((mark, square) => mark && squares.push(square));
  return squares;
}

/**
 * Draws walls and keeps only the largest connected part of the floor. Later attempts have fewer
 * walls.
 */
function drawFloor(
  random: RandomStream,
  width: number,
  height: number,
  attempt: number,
): Uint8Array {
  const open = new Uint8Array(width * height);
  const walls = random.uniform(MIN_WALLS, MAX_WALLS) * (1 - attempt / TRIES);
  for (let row = 1; row < height - 1; row++) {
    for (let column = 1; column < width - 1; column++) {
      if (!random.chance(walls)) open[row * width + column] = 1;
    }
  }
  let largest: number[] = [];
  const seen = new Uint8Array(open.length);
  for (let start = 0; start < open.length; start++) {
    if (!open[start] || seen[start]) continue;
    const part = [start];
    seen[start] = 1;
    for (let i = 0; i < part.length; i++) {
      for (const step of [-width, width, -1, 1]) {
        const next = part[i]! + step;
        if (!open[next] || seen[next]) continue;
        seen[next] = 1;
        part.push(next);
      }
    }
    if (part.length > largest.length) largest = part;
  }
  const isFloor = new Uint8Array(open.length);
  for (const square of largest) isFloor[square] = 1;
  return isFloor;
}

interface Pull {
  box: number;
  /** Index into `steps`: the direction in which the box and the player move. */
  direction: number;
}

function pullApart(
  random: RandomStream,
  isFloor: Uint8Array,
  goals: readonly number[],
  width: number,
  wanted: number,
  maxMoves: number,
): Omit<Room, "width" | "height"> | null {
  const steps = [-width, width, -1, 1];
  const isGoal = new Uint8Array(isFloor.length), isBox = new Uint8Array(isFloor.length);
  for (const goal of goals) isGoal[goal] = isBox[goal] = 1;
  const boxes = goals.slice();
  /** The square of the player; -1 before the first pull, which may begin anywhere. */
  let player = -1, last: Pull | null = null, moves = 0, backwards = "";
  const walk = new Walk(isFloor, isBox, steps);
  while (moves < wanted) {
    if (player >= 0) walk.from(player);
    const pulls: Pull[] = [];
    for (const box of boxes) {
      for (let direction = 0; direction < 4; direction++) {
        const near = box + steps[direction]!, far = near + steps[direction]!;
        if (!isFloor[near] || isBox[near] || !isFloor[far] || isBox[far]) continue;
        if (player >= 0 && !walk.reaches(near)) continue;
        // Moving the box straight back would waste moves.
        if (last !== null && box === last.box && (direction ^ 1) === last.direction) continue;
        pulls.push({ box, direction });
      }
    }
    if (pulls.length === 0) break;
    const preferred = random.chance(SAME_BOX)
      ? pulls.filter((pull) => pull.box === last?.box)
      : random.chance(BOX_ON_GOAL)
      ? pulls.filter((pull) => isGoal[pull.box])
      : [];
    const pull = random.choice(preferred.length > 0 ? preferred : pulls);
    const near = pull.box + steps[pull.direction]!;
    const direction: string = player < 0 ? "" : walk.wayTo(near);
    if (moves + direction.length + 1 > maxMoves) break;
    backwards += direction + LETTERS[pull.direction]!;
    moves += direction.length + 1;
    isBox[pull.box] = 0;
    isBox[near] = 1;
    boxes[boxes.indexOf(pull.box)] = near;
    player = near + steps[pull.direction]!;
    last = { box: near, direction: pull.direction };
  }
  if (boxes.every((box) => isGoal[box])) return null;
  let solution = "";
  for (let i = backwards.length - 1; i >= 0; i--) {
    solution += OPPOSITE[LETTERS.indexOf(backwards[i]!)]!;
  }
  return { isFloor, isGoal, isBox, player, solution };
}

/** Shortest walks around walls and boxes, by breadth-first search. */
class Walk {
  readonly #cameBy: Int8Array;
  readonly #queue: number[] = [];

  constructor(
    private readonly isFloor: Uint8Array,
    private readonly isBox: Uint8Array,
    private readonly steps: readonly number[],
  ) {
    this.#cameBy = new Int8Array(isFloor.length);
  }

  from(start: number): void {
    const cameBy = this.#cameBy.fill(-1), queue = this.#queue;
    queue.length = 0;
    queue.push(start);
    cameBy[start] = 4;
    for (let i = 0; i < queue.length; i++) {
      for (let direction = 0; direction < 4; direction++) {
        const next = queue[i]! + this.steps[direction]!;
        if (!this.isFloor[next] || this.isBox[next] || cameBy[next] !== -1) continue;
        cameBy[next] = direction;
        queue.push(next);
      }
    }
  }

  reaches(square: number): boolean {
    return this.#cameBy[square] !== -1;
  }

  wayTo(square: number): string {
    let direction = "";
    for (let at = square; this.#cameBy[at] !== 4; at -= this.steps[this.#cameBy[at]!]!) {
      direction = LETTERS[this.#cameBy[at]!]! + direction;
    }
    return direction;
  }
}

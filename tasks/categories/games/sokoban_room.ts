/**
 * Makes Sokoban rooms backwards: boxes start on their goals, and the player pulls them away. The
 * reverse of a pull is a push. So the pulls in reverse order, with shortest walks between them,
 * solve the room. Solutions are generally not the shortest.
 */
import { RgxError } from "../../../core/errors.ts";
import type { RandomStream } from "../../../core/philox.ts";

/** The arrays have one value for each square, row by row. The border is wall. */
export interface Room {
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
export function drawRoom(
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

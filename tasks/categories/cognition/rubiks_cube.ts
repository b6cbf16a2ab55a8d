/**
 * Solve a scrambled Rubik's cube. The example solution reverses the scramble, without moves that
 * cancel.
 */
import { bool, counts, defineTask, int, isOverlong, type RandomStream } from "../../define.ts";
import { words } from "../../python/text.ts";

/** The colour letters of faces U, L, F, R, B, D of the solved cube, and their ANSI backgrounds. */
const COLORS = ["Y", "R", "G", "O", "B", "W"] as const;
const ANSI = [43, 41, 42, 45, 44, 47] as const;
const MOVES = ["L", "R", "D", "U", "B", "F"] as const;
const UNSOLVED = 0.01;

export default defineTask({
  description: "Solve a scrambled Rubik's cube.",
  scoring: "1 when the moves solve the cube, else 0.01.",
  params: {
    cube_size: int(3, "layers of the cube", { min: 2, max: 6, levels: [3, 4, 5, 6, 7] }),
    scramble_steps: counts([3, 10], "moves of the scramble", {
      min: 1,
      max: 10_000,
      spans: [3, 10, 25, 50, 100],
    }),
    remove_ansi: bool(true, "letters only; else they stand on coloured ground (ANSI codes)"),
  },
  generate(random, config) {
    const { cube_size: size } = config;
    const steps = random.int(config.min_scramble_steps, config.max_scramble_steps);
    const { cube, scramble } = drawScramble(random, size, steps);
    const deep = size > 3
      ? " Rw turns the two outer layers on the right, 3Rw the three outer ones, 2R only the " +
        "second layer from the right; likewise for the other faces."
      : "";
    return {
      question:
        `This is a ${size}x${size}x${size} Rubik's cube, unfolded: in the middle row, from left ` +
        "to right, the left, front, right and back face; above the front face the upper one, " +
        "below it the lower one. A letter is the color of a sticker.\n\n" +
        `${net(cube, config.remove_ansi)}\n\n` +
        "Which moves solve it, so that every face has one color? Use Singmaster notation: L, R, " +
        "U, D, F and B turn the left, right, upper, lower, front and back face a quarter " +
        `clockwise as seen from outside, with ' counterclockwise.${deep} Answer with the moves ` +
        "in order, separated by single spaces; write U U, not U2.",
      answer: null,
      metadata: {
        cube_size: size,
        scramble_steps: steps,
        scramble_moves: scramble.join(" "),
        example_correct_answer: undone(scramble).join(" "),
      },
    };
  },
  score(answer, entry) {
    const size = entry.metadata?.["cube_size"], scramble = entry.metadata?.["scramble_moves"];
    const known = Number.isInteger(size) && (size as number) >= 2 && (size as number) <= 10;
    if (!known || typeof scramble !== "string" || scramble.length > 100_000) return UNSOLVED;
    if (isOverlong(answer, entry)) return UNSOLVED;
    const cube = new Cube(size as number);
    return cube.apply(scramble) && cube.apply(answer) && cube.isSolved() ? 1 : UNSOLVED;
  },
});

/** Draws moves that do not leave the cube solved. */
function drawScramble(random: RandomStream, size: number, steps: number) {
  for (;;) {
    const scramble = Array.from({ length: steps }, () => drawMove(random, size));
    const cube = new Cube(size);
    cube.apply(scramble.join(" "));
    if (!cube.isSolved()) return { cube, scramble };
  }
}

function drawMove(random: RandomStream, size: number): string {
  const turn = random.choice(MOVES), reversed = random.chance(0.5) ? "'" : "";
  if (size <= 3) return turn + reversed;
  const wide = random.chance(0.5), layer = random.int(1, size >> 1);
  const number = layer === (wide ? 2 : 1) ? "" : String(layer);
  return number + turn + (wide ? "w" : "") + reversed;
}

function inverse(move: string): string {
  return move.endsWith("'") ? move.slice(0, -1) : `${move}'`;
}

/** The inverse of a scramble. Adjacent moves that cancel each other are removed. */
function undone(scramble: readonly string[]): string[] {
  const moves: string[] = [];
  for (const move of scramble.toReversed().map(inverse)) {
    if (moves.at(-1) === inverse(move)) moves.pop();
    else moves.push(move);
  }
  return moves;
}

function net({ size, stickers }: Cube, plain: boolean): string {
  const row = (face: number, line: number) => {
    let text = "";
    for (let i = 0; i < size; i++) {
      const color = stickers[(face * size + line) * size + i]!;
      text += plain ? ` ${COLORS[color]} ` : `\x1b[30;${ANSI[color]}m ${COLORS[color]} \x1b[0m`;
    }
    return text;
  };
  const blank = " ".repeat(3 * size);
  const rows = Array.from({ length: size }, (_, line) => line);
  return [
    ...rows.map((line) => blank + row(0, line)),
    ...rows.map((line) => [1, 2, 3, 4].map((face) => row(face, line)).join("")),
    ...rows.map((line) => blank + row(5, line)),
  ].join("\n");
}

/**
 * A Rubik's cube of any size, stored as stickers on a grid of points, and moves in Singmaster
 * notation: `R`, `R'`, `R2`, `R3`. `Rw` turns the two outer layers and `3Rw` the three outer ones.
 * `2R` turns only the second layer. `M`, `E`, `S` turn the middle layer of an odd cube, and `x`,
 * `y`, `z` the whole cube.
 */

/** The faces in the order of the stickers: up, left, front, right, back, down. */
const FACES = ["U", "L", "F", "R", "B", "D"] as const;

/**
 * The axis and direction of a clockwise turn of each face. x points to the right, y up, z to the
 * front.
 */
const TURNS: Readonly<Record<string, { axis: 0 | 1 | 2; positive: boolean; layers: Layers }>> = {
  R: { axis: 0, positive: false, layers: "high" },
  L: { axis: 0, positive: true, layers: "low" },
  M: { axis: 0, positive: true, layers: "middle" },
  X: { axis: 0, positive: false, layers: "all" },
  U: { axis: 1, positive: false, layers: "high" },
  D: { axis: 1, positive: true, layers: "low" },
  E: { axis: 1, positive: true, layers: "middle" },
  Y: { axis: 1, positive: false, layers: "all" },
  F: { axis: 2, positive: false, layers: "high" },
  B: { axis: 2, positive: true, layers: "low" },
  S: { axis: 2, positive: false, layers: "middle" },
  Z: { axis: 2, positive: false, layers: "all" },
};
type Layers = "high" | "low" | "middle" | "all";

const MOVE = /^(?:([0-9]{0,9})([LRDUBF])(w?)|([xyzXYZMES]))('?)([0-9]{0,9})$/;

const COUNT = /^[0-9]+[^A-Za-z0-9]*$/;

/** A quarter turn: sticker `to[i]` takes the colour of sticker `from[i]`. */
interface Quarter {
  to: Uint16Array;
  from: Uint16Array;
}

/** Computed once for each (size, axis, direction, layers), since these are few. */
const quarters = new Map<string, Quarter>();

/**
 * Stickers are numbered face by face (`FACES`), and each face row by row as in the unfolded net.
 */
class Cube {
  readonly stickers: Uint8Array;
  readonly #moved: Uint8Array;
  readonly #known = new Map<string, { quarter: Quarter; times: number }>();

  constructor(readonly size: number) {
    const area = size * size;
    this.stickers = Uint8Array.from({ length: 6 * area }, (_, i) => Math.floor(i / area));
    this.#moved = new Uint8Array(6 * area);
  }

  /**
   * Applies moves that are separated by white space. Returns false for an invalid move, after the
   * moves before it were applied. Numbers that count the moves (`1.`) are skipped.
   */
  apply(moves: string): boolean {
    for (const token of words(moves)) {
      if (!COUNT.test(token) && !this.#turn(token)) return false;
    }
    return true;
  }

  /** Whether each face has a single colour, in any orientation of the cube. */
  isSolved(): boolean {
    const area = this.size * this.size;
    return this.stickers.every((color, i) => color === this.stickers[i - i % area]);
  }

  #turn(token: string): boolean {
    let move = this.#known.get(token);
    if (move === undefined) {
      const read = this.#read(token);
      if (read === null) return false;
      this.#known.set(token, move = read);
    }
    const { to, from } = move.quarter, { stickers } = this, moved = this.#moved;
    for (let time = 0; time < move.times; time++) {
      for (let i = 0; i < from.length; i++) moved[i] = stickers[from[i]!]!;
      for (let i = 0; i < to.length; i++) stickers[to[i]!] = moved[i]!;
    }
    return true;
  }

  #read(token: string): { quarter: Quarter; times: number } | null {
    const match = MOVE.exec(token);
    if (match === null) return null;
    const [, number, face, wide, slice, reversed, times] = match;
    const turn = TURNS[(face ?? slice!).toUpperCase()]!, { size } = this;
    const layer = number ? Number(number) : wide ? 2 : 1;
    if (layer < 1 || layer > size) return null;
    let first = wide ? 0 : layer - 1, last = layer - 1;
    if (turn.layers === "middle") {
      if (size % 2 === 0) return null;
      first = last = (size - 1) / 2;
    } else if (turn.layers === "all") [first, last] = [0, size - 1];
    else if (turn.layers === "high") [first, last] = [size - 1 - last, size - 1 - first];
    const positive = turn.positive !== (reversed === "'");
    const key = [size, turn.axis, positive, first, last].join();
    let quarter = quarters.get(key);
    if (quarter === undefined) {
      quarters.set(key, quarter = quarterTurn(size, turn.axis, positive, first, last));
    }
    return { quarter, times: times ? Number(times) % 4 : 1 };
  }
}

/**
 * Turns layers `first` to `last` along an axis by 90° about it (positive: counterclockwise, seen
 * from the positive end of the axis). The stickers are on the surface of a cube with side 2·size
 * around 0, at odd coordinates.
 */
function quarterTurn(
  size: number,
  axis: 0 | 1 | 2,
  positive: boolean,
  first: number,
  last: number,
): Quarter {
  const points = stickerPoints(size);
  const numbers = new Map(points.map((point, i) => [point.join(), i]));
  const a = (axis + 1) % 3, b = (axis + 2) % 3;
  const to: number[] = [], from: number[] = [];
  points.forEach((point, sticker) => {
    // The stickers of an outer face belong to the outermost layer.
    const layer = Math.min(size - 1, Math.max(0, (point[axis]! + size - 1) / 2 | 0));
    if (layer < first || layer > last) return;
    const turned = point.slice();
    turned[a] = positive ? -point[b]! : point[b]!;
    turned[b] = positive ? point[a]! : -point[a]!;
    const target = numbers.get(turned.join())!;
    if (target === sticker) return;
    to.push(target);
    from.push(sticker);
  });
  return { to: Uint16Array.from(to), from: Uint16Array.from(from) };
}

/** The points of the stickers, in the order of the stickers. */
function stickerPoints(size: number): number[][] {
  const points: number[][] = [];
  for (const face of FACES) {
    for (let row = 0; row < size; row++) {
      for (let column = 0; column < size; column++) {
        // Counted from the left and the top of the face as in the net.
        const right = 2 * column - size + 1, down = 2 * row - size + 1;
        points.push(
          {
            U: [right, size, down],
            L: [-size, -down, right],
            F: [right, -down, size],
            R: [size, -down, -right],
            B: [-right, -down, -size],
            D: [right, -size, -down],
          }[face],
        );
      }
    }
  }
  return points;
}

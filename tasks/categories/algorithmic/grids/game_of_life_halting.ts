/**
 * Whether all cells of a Game of Life die within a number of steps. The board contains either
 * oscillators or patterns that die, too far apart to interact. Even so, the answer is computed by
 * simulation.
 */
import { defineTask, int, type RandomStream } from "../../../define.ts";
import { strip } from "../../../python/text.ts";
import { type Cells, lifeStep } from "./life.ts";
import { gridText, rowsOf } from "../../../grids.ts";

const MAX_TRIES = 200;
const MIN_GRID_SIZE: Readonly<Record<number, number>> = { 1: 7, 2: 13, 3: 25 };

export default defineTask({
  description: "Tell whether a Game of Life dies out in time.",
  scoring: "1 when equal to True or False, case and space around it aside; else 0.",
  params: {
    grid_size_x: int(12, "rows: at least 7, 13 or 25 for difficulty 1, 2 or 3", {
      levels: [10, 25, 50, 100],
    }),
    grid_size_y: int(12, "columns: at least 7, 13 or 25 for difficulty 1, 2 or 3", {
      levels: [10, 25, 50, 100],
    }),
    difficulty: int(1, "kind of oscillators: period 2, 3 and 4, or 15", {
      min: 1,
      max: 3,
      levels: [1, 2, 3],
    }),
    num_oscillators: int(5, "most patterns on the board", { min: 1, levels: [3, 7, 10, 20] }),
    max_simulation_steps: int(20, "steps within which all cells must die", {
      min: 0,
      levels: [20, 50, 100, 200],
    }),
  },
  validate({ grid_size_x, grid_size_y, difficulty }) {
    const smallest = MIN_GRID_SIZE[difficulty]!;
    return Object.entries({ grid_size_x, grid_size_y }).flatMap(([field, size]) =>
      size >= smallest
        ? []
        : [`${field}: must be at least ${smallest} for difficulty = ${difficulty}, found ${size}`]
    );
  },
  generate(random, config) {
    const { grid_size_x: rows, grid_size_y: columns, difficulty, max_simulation_steps } = config;
    const oscillate = random.chance(0.5);
    const patterns = oscillate ? OSCILLATORS[difficulty]! : DYING_PATTERNS;
    const { cells, placed } = place(random, patterns, rows, columns, config.num_oscillators);
    const halts = diesWithin(
      cells,
      rows,
      columns,
      max_simulation_steps,
      COMMON_PERIOD[difficulty]!,
    );
    return {
      question: "This is a board of Conway's Game of Life, where 1 is a living cell:\n" +
        `${
          gridText(rowsOf(cells, columns))
        }\nEach cell has eight neighbours, and the board wraps around: its ` +
        "first row is next to its last row, and its first column next to its last column. In " +
        "every step a living cell with two or three living neighbours stays alive, a dead cell " +
        "with exactly three comes alive, and all others are dead. The game halts when no cell is " +
        `alive. Does it halt after at most ${max_simulation_steps} steps?\n` +
        "Answer with True or False.",
      answer: halts ? "True" : "False",
      metadata: {
        grid_size_x: rows,
        grid_size_y: columns,
        placed_patterns: placed,
        simulation_steps: max_simulation_steps,
        should_oscillate: oscillate,
      },
    };
  },
  score(answer, entry) {
    return strip(answer).toLowerCase() === strip(entry.answer ?? "").toLowerCase() ? 1 : 0;
  },
});

interface Placed {
  name: string;
  position: [row: number, column: number];
}

/** `bottom` and `right` are exclusive. */
interface Box {
  top: number;
  left: number;
  bottom: number;
  right: number;
}

/** Places up to `count` patterns away from the border; fewer when no free place is found. */
function place(
  random: RandomStream,
  patterns: readonly LifePattern[],
  rows: number,
  columns: number,
  count: number,
): { cells: Cells; placed: Placed[] } {
  const cells: Cells = new Uint8Array(rows * columns);
  const placed: Placed[] = [];
  const boxes: Box[] = [];
  let tries = 0;
  while (placed.length < count && tries++ < MAX_TRIES) {
    const pattern = random.choice(patterns);
    const lastRow = rows - pattern.rows - 1, lastColumn = columns - pattern.columns - 1;
    if (lastRow < 1 || lastColumn < 1) continue;
    const top = random.int(1, lastRow), left = random.int(1, lastColumn);
    const bottom = top + pattern.rows, right = left + pattern.columns;
    if (meets(boxes, top, left, bottom, right)) continue;
    for (const [row, column] of pattern.cells) cells[(top + row) * columns + left + column] = 1;
    boxes.push({ top, left, bottom, right });
    placed.push({ name: pattern.name, position: [top, left] });
    tries = 0;
  }
  return { cells, placed };
}

/** Whether the boxes, each with a margin of one cell, overlap with any of `boxes`. */
function meets(
  boxes: readonly Box[],
  top: number,
  left: number,
  bottom: number,
  right: number,
): boolean {
  for (let i = 0; i < boxes.length; i++) {
    const box = boxes[i]!;
    if (
      top <= box.bottom + 1 && bottom + 1 >= box.top && left <= box.right + 1 &&
      right + 1 >= box.left
    ) return true;
  }
  return false;
}

/** Simulates until no cell lives, the steps are used up, or the first board occurs again. */
function diesWithin(
  first: Cells,
  rows: number,
  columns: number,
  steps: number,
  period: number,
): boolean {
  let cells = first;
  for (let step = 0;; step++) {
    if (cells.indexOf(1) < 0) return true;
    if (step === steps || (step === period && cells.every((cell, i) => cell === first[i]))) {
      return false;
    }
    cells = lifeStep(cells, rows, columns);
  }
}

/**
 * Patterns of the Game of Life with known fate: oscillators by difficulty, and patterns that die
 * within three steps. The box of a pattern holds all its phases. Patterns do not interact as long
 * as one free row or column surrounds each box.
 */

interface LifePattern {
  name: string;
  rows: number;
  columns: number;
  /** Row and column of every living cell. */
  cells: readonly (readonly [number, number])[];
}

/** Oscillators by difficulty: period 2; periods 3 and 4; period 15. */
export const OSCILLATORS: Readonly<Record<number, readonly LifePattern[]>> = {
  1: [
    pattern("blinker", "... / ooo / ..."),
    pattern("toad", ".... / .ooo / ooo. / ...."),
    pattern("beacon", "oo.. / oo.. / ..oo / ..oo"),
    pattern("clock", "..o. / o.o. / .o.o / .o.."),
    pattern("bipole", "oo... / o.o.. / ..... / ..o.o / ...oo"),
    pattern("tripole", "oo.... / o.o... / ...... / ..o.o. / .....o / ....oo"),
  ],
  2: [
    pattern("caterer", "...o..... / .o...oooo / .o...o... / .o....... / ....o.... / ..oo....."),
    pattern("mold", "...oo. / ..o..o / o..o.o / ....o. / o.oo.. / .o...."),
    pattern("jam", "....oo. / ...o..o / .o..o.o / .o...o. / .o..... / ....o.. / ..oo..."),
    pattern(
      "mazing",
      "........ / ...oo... / .o.o.... / o.....o. / .o...oo. / ........ / ...o.o.. / ....o...",
    ),
    pattern(
      "pinwheel",
      "......oo.... / ......oo.... / ............ / ....oooo.... / oo.o....o... / oo.o..o.o... / " +
        "...o...oo.oo / ...o.o..o.oo / ....oooo.... / ............ / ....oo...... / ....oo......",
    ),
  ],
  3: [
    pattern(
      "pentadecathlon",
      "................ / ................ / ................ / .....o....o..... / " +
        "...oo.oooo.oo... / .....o....o..... / ................ / ................ / " +
        "................",
    ),
  ],
};

/** The least common multiple of the periods, after which every oscillating board repeats. */
export const COMMON_PERIOD: Readonly<Record<number, number>> = { 1: 2, 2: 12, 3: 15 };

/** Three to six cells in a diagonal, and three cells in a V, each in all orientations. */
export const DYING_PATTERNS: readonly LifePattern[] = [3, 4, 5, 6].flatMap((length) => [
  dying(length, length, Array.from({ length }, (_, i) => [i, i])),
  dying(length, length, Array.from({ length }, (_, i) => [i, length - 1 - i])),
]).concat(
  dying(2, 3, [[0, 0], [1, 1], [0, 2]]),
  dying(2, 3, [[1, 0], [0, 1], [1, 2]]),
  dying(3, 2, [[0, 0], [1, 1], [2, 0]]),
  dying(3, 2, [[0, 1], [1, 0], [2, 1]]),
);

function dying(rows: number, columns: number, cells: [number, number][]): LifePattern {
  return { name: "non-oscillator", rows, columns, cells };
}

function pattern(name: string, picture: string): LifePattern {
  const lines = picture.split(" / ");
  const cells = lines.flatMap((line, row) =>
    [...line].flatMap((cell, column): [number, number][] => cell === "o" ? [[row, column]] : [])
  );
  return { name, rows: lines.length, columns: lines[0]!.length, cells };
}

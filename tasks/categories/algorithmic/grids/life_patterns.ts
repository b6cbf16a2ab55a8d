/**
 * Patterns of the Game of Life with known fate: oscillators by difficulty, and patterns that die
 * within three steps. The box of a pattern holds all its phases. Patterns do not interact as long
 * as one free row or column surrounds each box.
 */

export interface LifePattern {
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

/** Counting rectangles that are drawn with characters. */
import { defineTask, int } from "../define.ts";
import { parseInteger } from "../python_numbers.ts";
import type { RandomStream } from "../../core/philox.ts";
import type { ScorableEntry } from "../types.ts";

const SMALLEST_SIDE = 3;
const MARKS = [" ", "#", "█"] as const;
/** Places tried for a rectangle before the drawing is taken for full. */
const MOST_TRIES = 200;

export default defineTask({
  name: "rectangle_count",
  category: "cognition",
  description: "Count the rectangles in a drawing made of characters.",
  scoring: "1 for the number, 0.8 · (1 − d/5) when it is off by d < 5, else 0.",
  params: {
    max_rectangles: int(10, "most rectangles", { min: 1, max: 10_000 }),
    width: int(80, "columns of the drawing", { min: 10, max: 10_000 }),
    height: int(80, "rows of the drawing", { min: 10, max: 10_000 }),
  },
  curriculum: [
    {
      name: "max_rectangles",
      field: "max_rectangles",
      levels: [5, 10, 15, 20, 25],
      description: "most rectangles",
    },
  ],
  generate(random, config) {
    const { grid, count } = draw(random, config);
    const puzzle = drawing(grid, config.width);
    return {
      question:
        "How many rectangles are in the drawing below? Each is an outline, one character thick, " +
        "with sides of at least 3 characters. A character that belongs to one outline is #, one " +
        "that belongs to two outlines is █; no character belongs to more than two.\n" +
        `${puzzle}\nAnswer with the number only.`,
      answer: String(count),
      metadata: { puzzle, solution: count, num_rectangles: count },
      difficulty: { max_rectangles: config.max_rectangles },
    };
  },
  score,
});

/** Number of outlines on each cell, row by row. */
function draw(
  random: RandomStream,
  { width, height, max_rectangles }: { width: number; height: number; max_rectangles: number },
) {
  const wanted = random.int(1, max_rectangles);
  const grid = new Uint8Array(width * height);
  let count = 0;
  for (let tries = 0; count < wanted && tries < MOST_TRIES; tries++) {
    const left = random.int(0, width - SMALLEST_SIDE), top = random.int(0, height - SMALLEST_SIDE);
    const cells = outline(
      left,
      top,
      random.int(left + SMALLEST_SIDE - 1, width - 1),
      random.int(top + SMALLEST_SIDE - 1, height - 1),
      width,
    );
    if (cells.some((cell) => grid[cell] === 2)) continue;
    for (const cell of cells) grid[cell]!++;
    count++;
    tries = 0;
  }
  return { grid, count };
}

/** The cells of an outline, each once. */
function outline(left: number, top: number, right: number, bottom: number, width: number) {
  const cells: number[] = [];
  for (let x = left; x <= right; x++) cells.push(top * width + x, bottom * width + x);
  for (let y = top + 1; y < bottom; y++) cells.push(y * width + left, y * width + right);
  return cells;
}

/** Lines of `width` characters, each with a line end. */
function drawing(grid: Uint8Array, width: number): string {
  const blank = " ".repeat(width) + "\n";
  let text = "";
  for (let start = 0; start < grid.length; start += width) {
    const row = grid.subarray(start, start + width);
    if (row.every((value) => value === 0)) text += blank;
    else {
      for (const value of row) text += MARKS[value]!;
      text += "\n";
    }
  }
  return text;
}

function score(answer: string, entry: ScorableEntry): number {
  const given = parseInteger(answer), oracle = parseInteger(entry.answer ?? "");
  if (given === null || oracle === null) return 0;
  const off = given < oracle ? oracle - given : given - oracle;
  if (off === 0n) return 1;
  return off < 5n ? 0.8 * (1 - Number(off) / 5) : 0;
}

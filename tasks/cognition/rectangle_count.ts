/** Counting rectangles that are drawn with characters. */
import { defineTask, int } from "../define.ts";
import { parseInteger } from "../python_numbers.ts";
import { blankDrawing, drawingText } from "./drawing.ts";
import type { RandomStream } from "../../core/philox.ts";
import type { ScorableEntry } from "../types.ts";

const SMALLEST_SIDE = 3;
const BLANK = " ", ONCE = "#".charCodeAt(0), TWICE = "█".charCodeAt(0);
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
    const { puzzle, count } = draw(random, config);
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

/** A drawing with as many of the wanted rectangles as find a place. */
function draw(
  random: RandomStream,
  { width, height, max_rectangles }: { width: number; height: number; max_rectangles: number },
) {
  const wanted = random.int(1, max_rectangles);
  const drawing = blankDrawing(width, height, BLANK);
  let count = 0;
  for (let tries = 0; count < wanted && tries < MOST_TRIES; tries++) {
    const left = random.int(0, width - SMALLEST_SIDE), top = random.int(0, height - SMALLEST_SIDE);
    const right = random.int(left + SMALLEST_SIDE - 1, width - 1);
    const bottom = random.int(top + SMALLEST_SIDE - 1, height - 1);
    const cells = outline(left, top, right, bottom, width + 1);
    if (cells.some((cell) => drawing[cell] === TWICE)) continue;
    for (const cell of cells) drawing[cell] = drawing[cell] === ONCE ? TWICE : ONCE;
    count++;
    tries = 0;
  }
  return { puzzle: drawingText(drawing), count };
}

/** The cells of an outline, each once; `stride` is the distance from one row to the next. */
function outline(left: number, top: number, right: number, bottom: number, stride: number) {
  const cells: number[] = [];
  for (let x = left; x <= right; x++) cells.push(top * stride + x, bottom * stride + x);
  for (let y = top + 1; y < bottom; y++) cells.push(y * stride + left, y * stride + right);
  return cells;
}

function score(answer: string, entry: ScorableEntry): number {
  const given = parseInteger(answer), oracle = parseInteger(entry.answer ?? "");
  if (given === null || oracle === null) return 0;
  const off = given < oracle ? oracle - given : given - oracle;
  if (off === 0n) return 1;
  return off < 5n ? 0.8 * (1 - Number(off) / 5) : 0;
}

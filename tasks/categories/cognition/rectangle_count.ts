/**
 * Count rectangles that are drawn with characters. Outlines may cross, but they never overlap along
 * a side or touch with a corner. So every line can be followed, and the drawing has only one
 * interpretation.
 */
import { defineTask, int, type RandomStream } from "../../define.ts";
import { parseInteger } from "../../python/integers.ts";
import { blankDrawing, drawingText } from "./drawing.ts";

const MIN_SIDE = 3;
const BLANK = " ", ONCE = "#".charCodeAt(0), TWICE = "█".charCodeAt(0);
/** Maximum number of attempts to place rectangles, after which the drawing counts as full. */
const MAX_TRIES = 200;

export default defineTask({
  description: "Count the rectangles in a drawing made of characters.",
  scoring: "1 for the number, 0.8 · (1 − d/5) when it is off by d < 5, else 0.",
  params: {
    max_rectangles: int(10, "most rectangles", {
      min: 1,
      max: 10_000,
      levels: [5, 10, 15, 20, 25],
    }),
    width: int(80, "columns of the drawing", { min: 10, max: 10_000 }),
    height: int(80, "rows of the drawing", { min: 10, max: 10_000 }),
  },
  generate(random, config) {
    const { puzzle, count } = draw(random, config);
    return {
      question:
        "How many rectangles are in the drawing below? Each is an outline, one character thick, " +
        "with sides of at least 3 characters. A character that belongs to one outline is #, one " +
        "where two outlines cross is █. Outlines meet in such crossings only: they do not run " +
        "along each other, and no corner lies on another outline.\n" +
        `${puzzle}\nAnswer with the number only.`,
      answer: String(count),
      metadata: { puzzle, solution: count, num_rectangles: count },
    };
  },
  score(answer, entry) {
    const given = parseInteger(answer), oracle = parseInteger(entry.answer ?? "");
    if (given === null || oracle === null) return 0;
    const off = given < oracle ? oracle - given : given - oracle;
    if (off === 0n) return 1;
    return off < 5n ? 0.8 * (1 - Number(off) / 5) : 0;
  },
});

/** A drawing with as many of the wanted rectangles as can be placed. */
function draw(
  random: RandomStream,
  { width, height, max_rectangles }: { width: number; height: number; max_rectangles: number },
) {
  const wanted = random.int(1, max_rectangles), stride = width + 1;
  const drawing = blankDrawing(width, height, BLANK);
  let count = 0;
  for (let tries = 0; count < wanted && tries < MAX_TRIES; tries++) {
    // The more attempts fail, the smaller the rectangles become.
    const w = random.int(MIN_SIDE, largestSide(width, tries));
    const h = random.int(MIN_SIDE, largestSide(height, tries));
    const corner = random.int(0, height - h) * stride + random.int(0, width - w);
    const sides = [
      { start: corner, length: w, step: 1, across: stride },
      { start: corner + (h - 1) * stride, length: w, step: 1, across: stride },
      { start: corner, length: h, step: stride, across: 1 },
      { start: corner + w - 1, length: h, step: stride, across: 1 },
    ];
    if (!sides.every((side) => fits(drawing, side))) continue;
    sides.forEach(({ start, length, step }, i) => {
      // The corners belong to the first two sides.
      const first = i < 2 ? 0 : 1;
      for (let at = first; at < length - first; at++) {
        const cell = start + at * step;
        drawing[cell] = drawing[cell] === ONCE ? TWICE : ONCE;
      }
    });
    count++;
    tries = 0;
  }
  return { puzzle: drawingText(drawing), count };
}

function largestSide(size: number, tries: number): number {
  return Math.max(MIN_SIDE, Math.floor(size * (1 - 2 * tries / MAX_TRIES)));
}

interface Side {
  start: number;
  length: number;
  /** Index distance to the next cell along the side, and to the neighbour across it. */
  step: number;
  across: number;
}

/** Whether the side meets existing outlines only in straight crossings. */
function fits(drawing: Uint16Array, { start, length, step, across }: Side): boolean {
  const isDrawn = (cell: number) => drawing[cell] === ONCE || drawing[cell] === TWICE;
  for (let at = 0; at < length; at++) {
    const cell = start + at * step;
    const crossed = isDrawn(cell - across), other = isDrawn(cell + across);
    if (!isDrawn(cell)) {
      if (crossed || other) return false;
      if ((at === 0 && isDrawn(cell - step)) || (at === length - 1 && isDrawn(cell + step))) {
        return false;
      }
    } else {
      const inside = at > 1 && at < length - 2;
      if (!inside || !crossed || !other || isDrawn(cell - step) || isDrawn(cell + step)) {
        return false;
      }
    }
  }
  return true;
}

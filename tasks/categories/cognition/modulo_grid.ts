/** A grid that marks where an arithmetic function of the coordinates has a given remainder. */
import { type ConfigOf, defineTask, exactScore, int, type RandomStream } from "../../define.ts";
import { blankDrawing, drawingText } from "./drawing.ts";

const OPERATIONS = ["sum", "diff", "prod", "pow"] as const;
type Operation = typeof OPERATIONS[number];

const HIT = "✅", MISS = "❌", HOLE = "❔", HIT_CODE = HIT.charCodeAt(0);
/** Maximum divisor and remainder. Up to it, products of two remainders are exact. */
const MAX_OPERAND = 10_000_000;
/**
 * Maximum number of draws of a rule. After that, remainder 1 of a sum is used, which always has a
 * hit.
 */
const MAX_TRIES = 1000;

const params = {
  size_x: int(20, "columns", { min: 6, max: 1000, levels: [20, 40, 60, 80] }),
  size_y: int(20, "rows", { min: 6, max: 1000, levels: [20, 40, 60, 80] }),
  max_holes: int(1, "most hidden cells", { min: 1, max: 1_000_000, levels: [1, 5, 10, 15] }),
  max_divisor: int(20, "largest divisor; with 1 no remainder is above 0", {
    min: 2,
    max: MAX_OPERAND,
    levels: [3, 5, 7, 15, 17, 49],
  }),
  max_target: int(20, "largest remainder", {
    min: 1,
    max: MAX_OPERAND,
    levels: [1, 0, 3, 7, 9, 21],
  }),
};

type Config = ConfigOf<typeof params>;

export default defineTask({
  description: "Find the arithmetic rule behind a grid of marks and fill in the hidden cells.",
  ...exactScore("the grid"),
  params,
  generate(random, config) {
    const { size_x, size_y } = config;
    const holes = Array.from(
      { length: config.max_holes },
      () => random.below(size_x) + random.below(size_y) * (size_x + 1),
    );
    const { operation, divisor, target, grid } = drawRule(random, config, holes);
    const answer = drawingText(grid).trimEnd();
    for (const hole of holes) grid[hole] = HOLE.charCodeAt(0);
    return {
      question: `Each cell of the grid below shows ${HIT} where f(x, y) leaves a certain ` +
        `remainder when divided by a certain number, else ${MISS}. Here x is the column and y ` +
        "the row of the cell, both counted from 0 at the top left, and f is one of x + y, |x - " +
        `y|, x * y and x to the power of y (with 0 to the power of 0 = 1). Cells with ${HOLE} ` +
        `are hidden.\n\n${drawingText(grid)}\n` +
        "Find f, the divisor and the remainder, and answer with the complete grid: the same " +
        `lines without spaces, every ${HOLE} replaced by ${HIT} or ${MISS}.`,
      answer,
      metadata: { divisor, target, operation },
      difficulty: {
        size_x,
        size_y,
        holes: config.max_holes,
        divisor: config.max_divisor,
        target: config.max_target,
      },
    };
  },
});

/** Draws a rule with at least one hit, if possible outside of the hidden cells. */
function drawRule(random: RandomStream, limits: Config, hidden: readonly number[]) {
  const { size_x, size_y } = limits;
  let fallback;
  for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
    const operation = random.choice(OPERATIONS);
    const divisor = random.int(1, limits.max_divisor);
    const target = random.int(1, limits.max_target);
    if (target >= divisor) continue;
    const { grid, hits } = mark(operation, divisor, target, size_x, size_y);
    const seen = hits - new Set(hidden.filter((cell) => grid[cell] === HIT_CODE)).size;
    if (seen > 0) return { operation, divisor, target, grid };
    if (hits > 0) fallback ??= { operation, divisor, target, grid };
  }
  return fallback ??
    { operation: "sum", divisor: 2, target: 1, grid: mark("sum", 2, 1, size_x, size_y).grid };
}

/** Draws the grid, and counts the cells that have the remainder. */
function mark(operation: Operation, divisor: number, target: number, w: number, h: number) {
  const grid = blankDrawing(w, h, MISS);
  let hits = 0;
  for (let x = 0; x < w; x++) {
    let power = 1 % divisor;
    for (let y = 0; y < h; y++) {
      let value;
      switch (operation) {
        case "sum":
          value = x + y;
          break;
        case "diff":
          value = Math.abs(x - y);
          break;
        case "prod":
          value = x * y;
          break;
        default:
          value = power;
          power = power * x % divisor;
      }
      if (value % divisor !== target) continue;
      grid[y * (w + 1) + x] = HIT_CODE;
      hits++;
    }
  }
  return { grid, hits };
}

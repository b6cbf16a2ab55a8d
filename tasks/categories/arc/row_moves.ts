/** The rules of `arc_1d` that move, grow or copy cells and blocks. */
import {
  blank,
  type Block,
  colorOtherThan,
  colors,
  eitherWay,
  mirrored,
  painted,
  placeBlocks,
  type Row,
  type RowRule,
  written,
} from "./rows.ts";
import type { RandomStream } from "../../../core/philox.ts";

/** Probability of rejecting a draw that shows less of a rule than others. */
const MOSTLY = 0.7;

export const MOVE_RULES: Record<string, RowRule> = {};

for (const steps of [1, 2, 3, 4]) {
  for (const kind of ["solid", "colorful"] as const) {
    both(`move_${steps}pix_${kind}_right`, move(steps, kind), `move_${steps}pix_${kind}_left`);
    const wrapped = moveWrapped(steps, kind);
    const name = `move_${steps}pix_${kind}_wrapped`;
    both(`${name}_right`, wrapped, `${name}_left`);
  }
}
// As in the original, "right" packs at the left end, and "left" is its mirror image.
both("gravity_right", gravity(1, 9, (cells) => cells), "gravity_left");
both(
  "gravity_counting_right",
  gravity(1, 9, (cells) => cells.map(() => 1)),
  "gravity_counting_left",
);
both(
  "gravity_weighted_colors_right",
  gravity(1, 2, (cells) => cells.toSorted((a, b) => b - a)),
  "gravity_weighted_colors_left",
);
both("gravity_antigravity_right", antigravity, "gravity_antigravity_left");
both("gravity_one_step_right", oneStep, "gravity_one_step_left");
MOVE_RULES["block_touch_dot"] = eitherWay(touchDot(Infinity, 1));
for (const steps of [1, 2, 3, 4]) {
  MOVE_RULES[`block_touch_dot_${steps}pix`] = eitherWay(touchDot(steps, 2));
}
MOVE_RULES["block_scale_to_dot"] = eitherWay(scaleToDot);
MOVE_RULES["move_block_by_own_size"] = moveByLength;
MOVE_RULES["copy_block_to_dots"] = copyToDots(false);
MOVE_RULES["copy_block_to_dots_colors"] = copyToDots(true);
MOVE_RULES["reflect_block_with_border_pixel"] = eitherWay(reflectWithBorder);
MOVE_RULES["reflect_block_random"] = reflectRandom;
MOVE_RULES["reflect_block_around_dot"] = eitherWay(reflectAroundDot);

/** Registers a rule and its mirror image. */
function both(name: string, rule: RowRule, mirrorName: string): void {
  MOVE_RULES[name] = rule;
  MOVE_RULES[mirrorName] = mirrored(rule);
}

/** The cells of a block: one colour, or several with at least two different neighbours. */
function blockCells(random: RandomStream, kind: "solid" | "colorful", length: number): Row | null {
  if (kind === "solid") return new Array<number>(length).fill(random.int(1, 9));
  const cells = colors(random, length);
  return new Set(cells).size > 1 ? cells : null;
}

function move(steps: number, kind: "solid" | "colorful"): RowRule {
  return (random, size) => {
    const length = random.int(1, size - steps);
    const cells = blockCells(random, kind, length);
    if (cells === null) return null;
    const start = random.int(0, size - length - steps), row = blank(size);
    return { input: written(row, start, cells), output: written(row, start + steps, cells) };
  };
}

function moveWrapped(steps: number, kind: "solid" | "colorful"): RowRule {
  return (random, size) => {
    const cells = blockCells(random, kind, random.int(1, size));
    if (cells === null) return null;
    const start = random.below(size), input = blank(size), output = blank(size);
    cells.forEach((color, i) => {
      input[(start + i) % size] = color;
      output[(start + i + steps) % size] = color;
    });
    return { input, output };
  };
}

/** About half of the cells are free; the others have colours `low` to `high`. */
function scattered(random: RandomStream, size: number, low: number, high: number): Row {
  return Array.from({ length: size }, () => random.chance(0.5) ? random.int(low, high) : 0);
}

function gravity(low: number, high: number, pack: (cells: Row) => Row): RowRule {
  return (random, size) => {
    const input = scattered(random, size, low, high);
    return { input, output: written(blank(size), 0, pack(input.filter((color) => color > 0))) };
  };
}

function antigravity(random: RandomStream, size: number) {
  const input = scattered(random, size, 1, 2);
  const ones = input.filter((color) => color === 1).length;
  const twos = input.filter((color) => color === 2).length;
  return { input, output: painted(painted(blank(size), 0, twos, 2), size - ones, ones, 1) };
}

function oneStep(random: RandomStream, size: number) {
  const input = scattered(random, size, 1, 9), output = input.slice();
  // A cell that cannot move distinguishes the rule from a shift of the whole row.
  if (input[0] === 0 && random.chance(MOSTLY)) return null;
  for (let i = 1; i < size; i++) {
    if (output[i] === 0 || output[i - 1] !== 0) continue;
    output[i - 1] = output[i]!;
    output[i] = 0;
  }
  return { input, output };
}

/** A block and a dot to its right that do not touch. */
function blockAndDot(random: RandomStream, size: number): { block: Block; dot: number } | null {
  const found = placeBlocks(random, size, [random.int(1, size - 2), 1], 1);
  return found && { block: found[0]!, dot: found[1]!.start };
}

function touchDot(maximum: number, dotColor: number): RowRule {
  return (random, size) => {
    const found = blockAndDot(random, size);
    if (found === null) return null;
    const { block: { start, length }, dot } = found;
    const color = colorOtherThan(random, dotColor), row = written(blank(size), dot, [dotColor]);
    const gap = dot - start - length, steps = Math.min(maximum, gap);
    // Pairs whose block reaches the dot do not show how far a block moves.
    if (gap <= maximum && maximum < Infinity && random.chance(MOSTLY)) return null;
    return {
      input: painted(row, start, length, color),
      output: painted(row, start + steps, length, color),
    };
  };
}

function scaleToDot(random: RandomStream, size: number) {
  const found = blockAndDot(random, size);
  if (found === null) return null;
  const { block: { start, length }, dot } = found;
  const color = colorOtherThan(random, 1), row = blank(size);
  return {
    input: written(painted(row, start, length, color), dot, [1]),
    output: painted(row, start, dot - start + 1, color),
  };
}

function moveByLength(random: RandomStream, size: number) {
  const length = random.int(1, size >> 1), start = random.int(0, size - 2 * length);
  const color = random.int(1, 9), row = blank(size);
  return {
    input: painted(row, start, length, color),
    output: painted(row, start + length, length, color),
  };
}

function copyToDots(colored: boolean): RowRule {
  return (random, size) => {
    const length = random.choice([3, 5]), half = length >> 1;
    const maximum = Math.max(1, Math.floor((size - length) / (length + 1)));
    const copies = random.int(1, maximum);
    const places = placeBlocks(random, size, new Array<number>(copies).fill(length), 1, length + 1);
    if (places === null) return null;
    const color = random.int(1, 9);
    let input = painted(blank(size), 0, length, color), output = input;
    for (const { start } of places) {
      const dot = colored ? colorOtherThan(random, color) : color;
      input = written(input, start + half, [dot]);
      output = painted(output, start, length, dot);
    }
    return { input, output };
  };
}

function reflectWithBorder(random: RandomStream, size: number) {
  const length = random.int(2, size), start = random.int(0, size - length);
  const color = random.int(1, 9), end = colorOtherThan(random, color);
  const cells = [...new Array<number>(length - 1).fill(color), end], row = blank(size);
  return { input: written(row, start, cells), output: written(row, start, cells.toReversed()) };
}

function reflectRandom(random: RandomStream, size: number) {
  const cells = colors(random, random.int(2, size)), row = blank(size);
  if (cells.every((color, i) => color === cells.at(-1 - i))) return null;
  const start = random.int(0, size - cells.length);
  return { input: written(row, start, cells), output: written(row, start, cells.toReversed()) };
}

function reflectAroundDot(random: RandomStream, size: number) {
  const length = random.int(1, (size - 1) >> 1);
  const distance = random.int(1, ((size - 1) >> 1) - length + 1);
  const reach = distance + length - 1, dot = random.int(reach, size - 1 - reach);
  const color = colorOtherThan(random, 2), row = written(blank(size), dot, [2]);
  return {
    input: painted(row, dot - reach, length, color),
    output: painted(row, dot + distance, length, color),
  };
}

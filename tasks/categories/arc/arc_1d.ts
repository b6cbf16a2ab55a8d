/**
 * One-dimensional puzzles in the style of ARC: 70 rules that turn a row of colours into another
 * one. 0 is the background, and a block is a run of cells.
 */
import { counts, defineTask, exactScore, int, type RandomStream } from "../../define.ts";

/** Maximum number of draws of a pair. Every rule needs far fewer, even for the shortest rows. */
const MAX_TRIES = 10_000;

export default defineTask({
  description: "Find the rule behind pairs of rows of numbers.",
  ...exactScore("the row"),
  params: {
    size: counts([10, 30], "cells of a row", { min: 8, max: 10_000, levels: [10, 25, 50, 100] }),
    num_train: int(3, "pairs that show the rule", { min: 1, max: 1000 }),
  },
  generate(random, config) {
    const name = random.choice(RULE_NAMES);
    const size = random.int(config.min_size, config.max_size);
    const pairs = Array.from(
      { length: config.num_train + 1 },
      () => drawPair(random, ROW_RULES[name]!, size),
    );
    const test = pairs.pop()!;
    const shown = pairs.map(({ input, output }, i) =>
      `Example ${i + 1}\nInput:  ${rowText(input)}\nOutput: ${rowText(output)}\n\n`
    );
    return {
      question:
        "One rule turns each input row below into its output row; 0 is the background.\n\n" +
        `${shown.join("")}Find the rule and apply it to this input:\n${rowText(test.input)}\n\n` +
        "Answer with the output row only: digits separated by single spaces.",
      answer: rowText(test.output),
      metadata: { task_name: name, size, train_examples: pairs, test_example: test },
    };
  },
});

/** @throws Error for a rule that never gives a pair for rows of this size */
function drawPair(random: RandomStream, rule: RowRule, size: number): RowPair {
  for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
    const pair = rule(random, size);
    if (pair !== null && pair.input.some((color, i) => color !== pair.output[i])) return pair;
  }
  throw new Error(`arc_1d: no pair of ${size} cells in ${MAX_TRIES} draws`);
}

function rowText(row: Row): string {
  return row.join(" ");
}

type Row = number[];
interface RowPair {
  input: Row;
  output: Row;
}
/** Draws a pair that shows the rule; null when the draw does not show it. */
type RowRule = (random: RandomStream, size: number) => RowPair | null;

interface Block {
  start: number;
  length: number;
}

function blank(size: number): Row {
  return new Array<number>(size).fill(0);
}

/** A copy of the row with a block of one colour. Cells beyond the ends are ignored. */
function painted(row: Row, start: number, length: number, color: number): Row {
  return row.slice().fill(color, Math.max(0, start), Math.max(0, start + length));
}

function written(row: Row, start: number, cells: readonly number[]): Row {
  const result = row.slice();
  cells.forEach((color, i) => result[start + i] = color);
  return result;
}

/** A colour other than the given ones. */
function colorOtherThan(random: RandomStream, ...others: number[]): number {
  for (;;) {
    const color = random.int(1, 9);
    if (!others.includes(color)) return color;
  }
}

function colors(random: RandomStream, count: number): Row {
  return Array.from({ length: count }, () => random.int(1, 9));
}

/**
 * Random places for blocks of these lengths, from left to right and at least `gap` cells apart, in
 * the cells from `first` to the end. Null when they do not fit.
 */
function placeBlocks(
  random: RandomStream,
  size: number,
  lengths: readonly number[],
  gap: number,
  first = 0,
): Block[] | null {
  const taken = lengths.reduce((sum, length) => sum + length, gap * (lengths.length - 1));
  const free = size - first - taken;
  if (free < 0) return null;
  const offsets = lengths.map(() => random.int(0, free)).sort((a, b) => a - b);
  let start = first;
  return lengths.map((length, i) => {
    const block = { start: start + offsets[i]!, length };
    start += length + gap;
    return block;
  });
}

/** The rule for reversed rows. */
function mirrored(rule: RowRule): RowRule {
  return (random, size) => {
    const pair = rule(random, size);
    return pair && { input: pair.input.toReversed(), output: pair.output.toReversed() };
  };
}

/** The rule or its mirror image, each with probability one half. */
function eitherWay(rule: RowRule): RowRule {
  const other = mirrored(rule);
  return (random, size) => random.chance(0.5) ? rule(random, size) : other(random, size);
}

// The rules by name. Functions below draw a pair for each.

/** Probability of rejecting a draw that shows less of a rule than others. */
const MOSTLY = 0.7;
const STEPS = [1, 2, 3, 4];

export const ROW_RULES: Readonly<Record<string, RowRule>> = {
  ...Object.assign(
    {},
    ...STEPS.flatMap((steps) =>
      (["solid", "colorful"] as const).flatMap((kind) => [
        bothWays(`move_${steps}pix_${kind}`, move(steps, kind)),
        bothWays(`move_${steps}pix_${kind}_wrapped`, moveWrapped(steps, kind)),
      ])
    ),
  ),
  // As in the original, "right" packs at the left end, and "left" is its mirror image.
  ...bothWays("gravity", gravity(1, 9, (cells) => cells)),
  ...bothWays("gravity_counting", gravity(1, 9, (cells) => cells.map(() => 1))),
  ...bothWays("gravity_weighted_colors", gravity(1, 2, (cells) => cells.toSorted((a, b) => b - a))),
  ...bothWays("gravity_antigravity", antigravity),
  ...bothWays("gravity_one_step", oneStep),
  block_touch_dot: eitherWay(touchDot(Infinity, 1)),
  ...Object.fromEntries(
    STEPS.map((steps) => [`block_touch_dot_${steps}pix`, eitherWay(touchDot(steps, 2))]),
  ),
  block_scale_to_dot: eitherWay(scaleToDot),
  move_block_by_own_size: moveByLength,
  copy_block_to_dots: copyToDots(false),
  copy_block_to_dots_colors: copyToDots(true),
  reflect_block_with_border_pixel: eitherWay(reflectWithBorder),
  reflect_block_random: reflectRandom,
  reflect_block_around_dot: eitherWay(reflectAroundDot),
  block_and_noise_remove: noiseOutside,
  block_and_noise_remove_inside: noiseInside,
  two_points_and_fill: twoPoints,
  two_points_and_fill_inv: (random, size) => {
    const { input, output } = twoPoints(random, size);
    return { input: output, output: input };
  },
  repeat_pattern_full: repeatPattern,
  paint_biggest_block: paintBiggest,
  recolor_blocks_by_size: recolorBySize,
  change_to_five: (random, size) => {
    const input = Array.from({ length: size }, () => random.chance(0.5) ? random.int(1, 9) : 0);
    return { input, output: input.map((color) => color > 0 ? 5 : 0) };
  },
  recolor_blocks_from_palette: recolorFromPalette,
  color_left_half_blocks: leftHalves,
  sort_blocks_by_size: sortBlocks(false),
  sort_complete_sequence: sortBlocks(true),
  duplicate_block_from_seeds: duplicateFromSeeds,
  fill_from_pixel: eitherWay(fillFromPixel),
  fill_until_collision: eitherWay(fillUntilCollision),
  mark_size_two_blocks: markTwos,
};
const RULE_NAMES = Object.keys(ROW_RULES).sort();

/** A rule and its mirror image, by their names. */
function bothWays(name: string, rule: RowRule): Record<string, RowRule> {
  return { [`${name}_right`]: rule, [`${name}_left`]: mirrored(rule) };
}

// Cells and blocks that move, grow or are copied.

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

// Cells that are filled, cleared, recoloured, sorted or repeated.

function noiseOutside(random: RandomStream, size: number) {
  const noise = random.int(1, 3), at = random.int(0, noise);
  const lengths = new Array<number>(noise).fill(1);
  lengths.splice(at, 0, random.int(2, Math.max(2, size >> 1)));
  const places = placeBlocks(random, size, lengths, 1);
  if (places === null) return null;
  const color = random.int(1, 9), row = blank(size);
  const block = places[at]!;
  return {
    input: places.reduce((r, { start, length }) => painted(r, start, length, color), row),
    output: painted(row, block.start, block.length, color),
  };
}

function noiseInside(random: RandomStream, size: number) {
  const length = random.int(4, Math.max(4, size)), start = random.int(0, size - length);
  const color = random.int(1, 9);
  const output = painted(blank(size), start, length, color);
  const wrong = random.int(1, Math.min(3, (length - 2) >> 1));
  const inside = Array.from({ length: length - 2 }, (_, i) => start + 1 + i);
  const input = random.sample(inside, wrong).reduce(
    (row, cell) => written(row, cell, [colorOtherThan(random, color)]),
    output,
  );
  return { input, output };
}

function twoPoints(random: RandomStream, size: number) {
  const length = random.int(3, size), start = random.int(0, size - length);
  const color = random.int(1, 9), row = blank(size);
  return {
    input: written(written(row, start, [color]), start + length - 1, [color]),
    output: painted(row, start, length, color),
  };
}

function repeatPattern(random: RandomStream, size: number) {
  const pattern = colors(random, random.int(2, Math.min(5, (size - 1) >> 1)));
  if (new Set(pattern).size === 1) return null;
  const output = Array.from({ length: size }, (_, i) => pattern[i % pattern.length]!);
  return { input: output.map((color, i) => i < 2 * pattern.length ? color : 0), output };
}

/** Lengths of blocks from `minimum` to `maximum`; as many as fit with gaps of one cell. */
function drawLengths(
  random: RandomStream,
  size: number,
  minimum: number,
  maximum: number,
): number[] {
  const lengths: number[] = [];
  let free = size - random.int(0, size >> 2);
  while (lengths.length < 9) {
    const length = random.int(minimum, maximum);
    if (length > free) break;
    lengths.push(length);
    free -= length + 1;
  }
  return lengths;
}

function paintBiggest(random: RandomStream, size: number) {
  const lengths = drawLengths(random, size, 1, Math.max(3, size >> 1));
  const longest = Math.max(...lengths);
  const places = placeBlocks(random, size, lengths, 1);
  if (places === null || lengths.length < 2) return null;
  if (lengths.filter((length) => length === longest).length > 1) return null;
  const color = colorOtherThan(random, 1);
  let input = blank(size), output = input;
  for (const { start, length } of places) {
    input = painted(input, start, length, color);
    output = painted(output, start, length, length === longest ? 1 : color);
  }
  return { input, output };
}

function recolorBySize(random: RandomStream, size: number) {
  const a = random.int(1, size - 2), b = random.int(1, size - 2);
  const places = placeBlocks(random, size, [a, b], 1);
  if (places === null || a === b) return null;
  const row = blank(size), [first, second] = places as [typeof places[0], typeof places[0]];
  const both = (x: number, y: number) =>
    painted(painted(row, first.start, a, x), second.start, b, y);
  return { input: both(3, 3), output: a > b ? both(1, 2) : both(2, 1) };
}

function recolorFromPalette(random: RandomStream, size: number) {
  const count = random.int(2, size < 12 ? 2 : 4);
  const palette = Array.from({ length: count }, () => colorOtherThan(random, 5));
  const lengths = palette.map(() => random.int(1, Math.max(2, Math.floor(size / (count + 1)))));
  const places = placeBlocks(random, size, lengths, 1, count + 1);
  if (places === null) return null;
  let input = written(blank(size), 0, palette), output = input;
  places.forEach(({ start, length }, i) => {
    input = painted(input, start, length, 5);
    output = painted(output, start, length, palette[i]!);
  });
  return { input, output };
}

function leftHalves(random: RandomStream, size: number) {
  const lengths = drawLengths(random, size, 2, Math.min(8, size >> 1));
  const places = placeBlocks(random, size, lengths, 1);
  if (places === null || lengths.length === 0) return null;
  let input = blank(size), output = input;
  for (const { start, length } of places) {
    input = painted(input, start, length, 2);
    output = painted(painted(output, start, length, 2), start, length >> 1, 8);
  }
  return { input, output };
}

function sortBlocks(complete: boolean): RowRule {
  return (random, size) => {
    let lengths: number[];
    if (complete) {
      // Lengths 1 … m and the gaps between them take (m² + 3m)/2 − 1 cells.
      const maximum = Math.floor((Math.sqrt(17 + 8 * size) - 3) / 2);
      lengths = Array.from({ length: random.int(2, maximum) }, (_, i) => i + 1);
    } else lengths = [...new Set(drawLengths(random, size, 1, Math.max(3, size >> 2)))];
    if (lengths.length < 2) return null;
    random.shuffle(lengths);
    const places = placeBlocks(random, size, lengths, 1);
    if (places === null || lengths.every((n, i) => i === 0 || n > lengths[i - 1]!)) return null;
    const blocks = places.map((block) => ({ ...block, color: random.int(1, 9) }));
    const input = blocks.reduce((r, b) => painted(r, b.start, b.length, b.color), blank(size));
    let output = blank(size), at = 0;
    for (const { length, color } of blocks.toSorted((a, b) => a.length - b.length)) {
      output = painted(output, at, length, color);
      at += length + 1;
    }
    return { input, output };
  };
}

function duplicateFromSeeds(random: RandomStream, size: number) {
  const length = random.int(1, Math.max(1, size >> 2));
  const start = random.int(0, size - length);
  const sides = random.choice(["left", "right", "both"]);
  let input = painted(blank(size), start, length, 1), output = input;
  if (sides !== "right" && start >= 2) {
    const color = colorOtherThan(random, 1);
    input = written(input, start - 2, [color]);
    for (let end = start - 2; end >= 0; end -= length + 1) {
      output = painted(output, end - length + 1, length, color);
    }
  }
  const seed = start + length + 1;
  if (sides !== "left" && seed < size) {
    const color = colorOtherThan(random, 1);
    input = written(input, seed, [color]);
    for (let at = seed; at < size; at += length + 1) output = painted(output, at, length, color);
  }
  return input.every((color, i) => color === output[i]) ? null : { input, output };
}

function fillFromPixel(random: RandomStream, size: number) {
  // A block of one cell could not be distinguished from the pixel.
  const length = random.int(2, size - 3), start = random.int(0, size - length - 2);
  const color = random.int(1, 9), pixel = start + length;
  const input: Row = painted(blank(size), start, length, color);
  const other = colorOtherThan(random, color);
  return {
    input: written(input, pixel, [other]),
    output: painted(input, pixel, size - pixel, other),
  };
}

function fillUntilCollision(random: RandomStream, size: number) {
  const count = random.int(1, Math.max(2, size >> 3)), input = blank(size);
  for (const cell of random.sample(Array.from({ length: size - 2 }, (_, i) => i), count)) {
    input[cell] = colorOtherThan(random, 5);
  }
  input[size - 1] = 5;
  const output = input.slice();
  for (let i = 1; i < size; i++) if (output[i] === 0) output[i] = output[i - 1]!;
  return { input, output };
}

function markTwos(random: RandomStream, size: number) {
  const lengths = drawLengths(random, size - 4, 1, 4);
  // Leaves room for marks on both sides of every block.
  const places = placeBlocks(random, size - 1, lengths, 3, 1);
  if (places === null || !lengths.includes(2)) return null;
  const color = colorOtherThan(random, 3);
  let input = blank(size), output = input;
  for (const { start, length } of places) {
    input = painted(input, start, length, color);
    output = painted(output, start, length, color);
    if (length === 2) output = written(written(output, start - 1, [3]), start + 2, [3]);
  }
  return { input, output };
}

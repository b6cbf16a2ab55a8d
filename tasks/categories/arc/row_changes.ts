/** The rules of `arc_1d` that fill, clear, recolour, sort or repeat cells. */
import {
  blank,
  colorOtherThan,
  colors,
  eitherWay,
  painted,
  placeBlocks,
  type Row,
  type RowRule,
  written,
} from "./rows.ts";
import type { RandomStream } from "../../../core/philox.ts";

export const CHANGE_RULES: Readonly<Record<string, RowRule>> = {
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

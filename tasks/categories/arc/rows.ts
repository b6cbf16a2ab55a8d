/**
 * One-dimensional grids for `arc_1d`: rows of colours, where 0 is the background. A block is a run
 * of cells.
 */
import type { RandomStream } from "../../../core/philox.ts";

export type Row = number[];
export interface RowPair {
  input: Row;
  output: Row;
}
/** Draws a pair that shows the rule; null when the draw does not show it. */
export type RowRule = (random: RandomStream, size: number) => RowPair | null;

export interface Block {
  start: number;
  length: number;
}

export function blank(size: number): Row {
  return new Array<number>(size).fill(0);
}

/** A copy of the row with a block of one colour. Cells beyond the ends are ignored. */
export function painted(row: Row, start: number, length: number, color: number): Row {
  return row.slice().fill(color, Math.max(0, start), Math.max(0, start + length));
}

/** A copy of the row with `cells` written from `start` on. */
export function written(row: Row, start: number, cells: readonly number[]): Row {
  const result = row.slice();
  cells.forEach((color, i) => result[start + i] = color);
  return result;
}

/** A colour other than the given ones. */
export function colorOtherThan(random: RandomStream, ...others: number[]): number {
  for (;;) {
    const color = random.int(1, 9);
    if (!others.includes(color)) return color;
  }
}

export function colors(random: RandomStream, count: number): Row {
  return Array.from({ length: count }, () => random.int(1, 9));
}

/**
 * Random places for blocks of these lengths, from left to right and at least `gap` cells apart, in
 * the cells from `first` to the end. Null when they do not fit.
 */
export function placeBlocks(
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
export function mirrored(rule: RowRule): RowRule {
  return (random, size) => {
    const pair = rule(random, size);
    return pair && { input: pair.input.toReversed(), output: pair.output.toReversed() };
  };
}

/** The rule or its mirror image, each with probability one half. */
export function eitherWay(rule: RowRule): RowRule {
  const other = mirrored(rule);
  return (random, size) => random.chance(0.5) ? rule(random, size) : other(random, size);
}

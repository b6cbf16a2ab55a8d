// Quantises weights to int8 and nf4 (types.ts) when they are loaded, with the same bits as
// quantize.ts. The lanes of vectors are 16 rows of W, so that the largest magnitude of a block, its
// codes and its words are computed without exchange between lanes.
// Where quantize.ts divides in float64 and rounds, there is no division here. The results are the
// same, because a quotient of two float32 is a tie or at least 2^−25 away from one.

import { widen_halves_panel } from "./halves.as";
import { transpose_to_panels } from "./transpose.as";
import { BF16, INT8, panel_bytes, record_bytes } from "./types.as";

const LANES = 16;
const BLOCK = 64;
/** Bytes of a block of 16 rows of floats. */
const BLOCK_BYTES: usize = BLOCK * 64;
/** Number of nf4 blocks that share step and offset; blocks of int8 are done in such groups, too. */
const GROUP: i32 = 16;
const SUMS_COUNT: usize = 15;

/**
 * Offsets in the scratch: floats of a group, scales of its blocks, thresholds of a block, mask of
 * rows.
 */
const SCALES: usize = (GROUP as usize) * BLOCK_BYTES;
const THRESHOLDS: usize = SCALES + (GROUP as usize) * 64;
const MASK: usize = THRESHOLDS + SUMS_COUNT * 64;
export const QUANTIZE_BYTES: usize = MASK + 64;

/**
 * 1; a small number that makes ties round up; 1.5·2^52, which puts an integer into the lower word.
 */
const CONSTANTS = memory.data<f64>([1, 9.094947017729282e-13, 6755399441055744], 64);
/**
 * Sums of neighbouring levels of nf4. The code of x is the number of those with sum · scale < 2x.
 */
const SUMS = memory.data<f32>(
  [-215, -155, -117, -86, -59, -35, -12, 10, 30, 51, 74, 99, 127, 163, 219],
  64,
);

/**
 * Stores the bits of the largest magnitudes of the rows of a block [64][16] at `to`; returns
 * whether one of them is at least `limit`.
 */
export function largest_magnitudes(x: usize, to: usize, limit: i32): bool {
  const magnitude = i32x4.splat(0x7fffffff), limits = i32x4.splat(limit);
  let found = false;
  for (let rows: usize = 0; rows < 64; rows += 32) {
    let a = i32x4.splat(0), b = i32x4.splat(0);
    for (let at = x + rows, end = at + BLOCK_BYTES; at < end; at += 64) {
      a = i32x4.max_s(a, v128.and(v128.load(at), magnitude));
      b = i32x4.max_s(b, v128.and(v128.load(at, 16), magnitude));
    }
    v128.store(to + rows, b, 16);
    v128.store(to + rows, a);
    if (v128.any_true(i32x4.ge_s(i32x4.max_s(a, b), limits))) found = true;
  }
  return found;
}

/** The lanes 2 and 3 of four floats as float64. */
// @ts-ignore: decorator of AssemblyScript
@inline
function promote_high(x: v128): v128 {
  return f64x2.promote_low_f32x4(v128.shuffle<f32>(x, x, 2, 3, 2, 3));
}

/** 1/s, and 0 for 0. */
// @ts-ignore: decorator of AssemblyScript
@inline
function inverse(s: v128): v128 {
  return v128.and(f64x2.div(v128.load64_splat(CONSTANTS), s), f64x2.ne(s, f64x2.splat(0)));
}

/** x/s of two lanes, rounded to nearest, ties up. The integer is in the lower word of a lane. */
// @ts-ignore: decorator of AssemblyScript
@inline
function rounded(x: v128, inverse: v128): v128 {
  const above = f64x2.add(f64x2.mul(x, inverse), v128.load64_splat(CONSTANTS, 8));
  return f64x2.add(above, v128.load64_splat(CONSTANTS, 16));
}

/** The byte of an int8 code at its place in the word. */
// @ts-ignore: decorator of AssemblyScript
@inline
function byte(x: v128, low: v128, high: v128, shift: i32): v128 {
  const a = rounded(f64x2.promote_low_f32x4(x), low), b = rounded(promote_high(x), high);
  const q = v128.shuffle<i32>(a, b, 0, 2, 4, 6);
  const code = i32x4.max_s(i32x4.min_s(q, i32x4.splat(127)), i32x4.splat(-127));
  return i32x4.shl(v128.and(code, i32x4.splat(255)), shift);
}

/** Stores a record of int8 from a block [64][16] and its scales. */
function put_int8(x: usize, scales: usize, record: usize): void {
  for (let rows: usize = 0; rows < 64; rows += 16) {
    const s = v128.load(scales + rows);
    v128.store(record + rows, s, BLOCK * 16);
    const low = inverse(f64x2.promote_low_f32x4(s)), high = inverse(promote_high(s));
    let from = x + rows, to = record + rows;
    for (const end = to + BLOCK * 16; to < end; from += 256, to += 64) {
      v128.store(
        to,
        v128.or(
          v128.or(byte(v128.load(from), low, high, 0), byte(v128.load(from, 64), low, high, 8)),
          v128.or(
            byte(v128.load(from, 128), low, high, 16), byte(v128.load(from, 192), low, high, 24),
          ),
        ),
      );
    }
  }
}

/**
 * Stores the thresholds for 2x: sums of levels times the scales. A product is rounded. Where that
 * made it larger than the exact product, the next smaller float is taken instead: 2x is larger than
 * this float exactly where it is larger than the exact product. For a scale of 0 the thresholds
 * give the code of 0.
 */
function put_thresholds(scales: usize, to: usize): void {
  for (let rows: usize = 0; rows < 64; rows += 16) {
    const s = v128.load(scales + rows);
    const upper = v128.and(s, i32x4.splat(0xffffff00)), rest = f32x4.sub(s, upper);
    const none = f32x4.eq(s, f32x4.splat(0));
    for (let t: usize = 0; t < SUMS_COUNT; t++) {
      const sum = v128.load32_splat(SUMS + 4 * t);
      const high = f32x4.mul(sum, upper), low = f32x4.mul(sum, rest);
      const product = f32x4.add(high, low);
      const above = f32x4.lt(f32x4.sub(low, f32x4.sub(product, high)), f32x4.splat(0));
      const below = t < 7 ? i32x4.sub(product, above) : i32x4.add(product, above);
      const end = f32x4.splat(t < 7 ? -Infinity : Infinity);
      v128.store(to + 64 * t + rows, v128.bitselect(end, below, none));
    }
  }
}

/** Stores four codes of eight rows as the lower (with `upper` the upper) halves of words. */
export function put_levels(x: usize, thresholds: usize, to: usize, upper: i32): void {
  let a0 = v128.load(x), b0 = v128.load(x, 16), a1 = v128.load(x, 64), b1 = v128.load(x, 80);
  let a2 = v128.load(x, 128), b2 = v128.load(x, 144), a3 = v128.load(x, 192);
  let b3 = v128.load(x, 208);
  a0 = f32x4.add(a0, a0); b0 = f32x4.add(b0, b0); a1 = f32x4.add(a1, a1); b1 = f32x4.add(b1, b1);
  a2 = f32x4.add(a2, a2); b2 = f32x4.add(b2, b2); a3 = f32x4.add(a3, a3); b3 = f32x4.add(b3, b3);
  let n0 = i32x4.splat(0), n1 = n0, n2 = n0, n3 = n0, m0 = n0, m1 = n0, m2 = n0, m3 = n0;
  for (const end = thresholds + SUMS_COUNT * 64; thresholds < end; thresholds += 64) {
    const p = v128.load(thresholds), q = v128.load(thresholds, 16);
    n0 = i32x4.sub(n0, f32x4.gt(a0, p)); m0 = i32x4.sub(m0, f32x4.gt(b0, q));
    n1 = i32x4.sub(n1, f32x4.gt(a1, p)); m1 = i32x4.sub(m1, f32x4.gt(b1, q));
    n2 = i32x4.sub(n2, f32x4.gt(a2, p)); m2 = i32x4.sub(m2, f32x4.gt(b2, q));
    n3 = i32x4.sub(n3, f32x4.gt(a3, p)); m3 = i32x4.sub(m3, f32x4.gt(b3, q));
  }
  let n = v128.or(v128.or(n0, i32x4.shl(n1, 4)), v128.or(i32x4.shl(n2, 8), i32x4.shl(n3, 12)));
  let m = v128.or(v128.or(m0, i32x4.shl(m1, 4)), v128.or(i32x4.shl(m2, 8), i32x4.shl(m3, 12)));
  if (upper) {
    n = v128.or(v128.load(to), i32x4.shl(n, 16));
    m = v128.or(v128.load(to, 16), i32x4.shl(m, 16));
  }
  v128.store(to, m, 16);
  v128.store(to, n);
}

/** Stores a record of nf4 from a block [64][16] and its scales; `work` is the scratch. */
function put_nf4(x: usize, scales: usize, record: usize, work: usize): void {
  const thresholds = work + THRESHOLDS, mask = work + MASK;
  put_thresholds(scales, thresholds);
  for (let word: usize = 0; word < 8; word++, x += 512, record += 64) {
    for (let rows: usize = 0; rows < 64; rows += 32) {
      put_levels(x + rows, thresholds + rows, record + rows, 0);
      put_levels(x + 256 + rows, thresholds + rows, record + rows, 1);
    }
    for (let rows: usize = 0; rows < 64; rows += 16) {
      v128.store(record + rows, v128.and(v128.load(record + rows), v128.load(mask + rows)));
    }
  }
}

/**
 * Stores step, offset and codes of the scales of `blocks` blocks; replaces the scales by their
 * values.
 */
function code_scales(scales: usize, rows: i32, blocks: i32, record: usize, group: usize): void {
  let smallest: f32 = Infinity, largest: f32 = 0;
  for (let b = 0; b < blocks; b++) {
    for (let r = 0; r < rows; r++) {
      const s = load<f32>(scales + ((b * LANES + r) as usize) * 4);
      if (s < smallest) smallest = s;
      if (s > largest) largest = s;
    }
  }
  // The step gets 16 significant bits, so that its product with a code is exact.
  const bits = reinterpret<u32>((((largest as f64) - (smallest as f64)) / 255.0) as f32);
  const step = (bits + 0xff) & 0xffffff00, slope = reinterpret<f32>(step) as f64;
  store<u32>(group, step);
  store<f32>(group, smallest, 4);
  store<u64>(group, 0, 8);
  for (let b = 0; b < blocks; b++, record += 528, scales += 64) {
    v128.store(record, i32x4.splat(0), 512);
    for (let r = 0; r < rows; r++) {
      const at = scales + (r as usize) * 4;
      let code: i32 = 0;
      if (step != 0) {
        const value = ((load<f32>(at) as f64) - (smallest as f64)) / slope;
        const whole = Math.floor(value);
        code = (whole as i32) + (value - whole >= 0.5 ? 1 : 0);
      }
      store<u8>(record + ((r & 3) as usize) * 4 + ((r >> 2) as usize), code, 512);
      store<f32>(at, (slope * (code as f64) + (smallest as f64)) as f32);
    }
  }
}

/**
 * Panels of a weight from `rows` rows of k values, in f32 (`source` = −1) or in halves (their
 * type). Unit: a panel. Where a magnitude is at least `limit` (bits of an f32), the word at
 * `unusual` becomes 1, and the panel is not made. Scratch: QUANTIZE_BYTES.
 */
export function quantize_panels(
  type: i32, source: i32, x: usize, rows: i32, k: i32, to: usize, limit: i32, unusual: usize,
  begin: i32, end: i32, scratch: usize,
): void {
  const size: usize = source < 0 ? 4 : 2, stride = (k as usize) * size;
  const record = record_bytes(type), step = panel_bytes(type, k), scales = scratch + SCALES;
  const blocks = k / BLOCK;
  for (let p = begin; p < end; p++) {
    const count = min(LANES, rows - p * LANES);
    for (let r: i32 = 0; r < LANES; r++) {
      store<i32>(scratch + MASK + (r as usize) * 4, r < count ? -1 : 0);
    }
    const panel = to + (p as usize) * step;
    let group = panel + (blocks as usize) * record;
    for (let first = 0; first < blocks; first += GROUP, group += 16) {
      const width = min(GROUP, blocks - first), columns = width * BLOCK;
      const from = x + ((p * LANES) as usize) * stride + ((first * BLOCK) as usize) * size;
      if (source < 0) transpose_to_panels(from, stride, count, columns, scratch, 0, 1, 0);
      else widen_halves_panel(from, stride, count, columns, scratch, source == BF16 ? 1 : 0);
      let found = false;
      for (let b: usize = 0; b < (width as usize); b++) {
        if (largest_magnitudes(scratch + b * BLOCK_BYTES, scales + b * 64, limit)) found = true;
      }
      if (found) {
        store<i32>(unusual, 1);
        break;
      }
      for (let at = scales, last = at + (width as usize) * 64; at < last; at += 16) {
        v128.store(at, f32x4.div(v128.load(at), f32x4.splat(127)));
      }
      const records = panel + (first as usize) * record;
      if (type != INT8) code_scales(scales, count, width, records, group);
      for (let b: usize = 0; b < (width as usize); b++) {
        const block = scratch + b * BLOCK_BYTES;
        if (type == INT8) put_int8(block, scales + b * 64, records + b * record);
        else put_nf4(block, scales + b * 64, records + b * record, scratch);
      }
    }
  }
}

// Expands scales of stored weights to floats, for the types whose scales are not read together with
// the codes (generate.ts). For every block, or part of a block with a scale, these are 16 floats s
// (one for each row), and for 4-bit codes 16 floats m behind them (w = s·q + m). Because 8-bit
// codes are used as q·2^24, their s is multiplied by 2^−24. The scales are finite.

/**
 * Mask of an f16's bits in a float32, which is then 2^112 times too small; 2^112; 2^88; 2^−24; 255.
 */
const CONSTANTS = memory.data<u32>([0x8fffe000, 0x77800000, 0x6b800000, 0x33800000, 0xff], 64);

/** The upper halves of four words, times `factor`·2^−112. */
// @ts-ignore: decorator of AssemblyScript
@inline
function upper(words: v128, factor: v128): v128 {
  return f32x4.mul(v128.and(i32x4.shr_s(words, 3), v128.load32_splat(CONSTANTS)), factor);
}

// @ts-ignore: decorator of AssemblyScript
@inline
function lower(words: v128, factor: v128): v128 {
  return upper(i32x4.shl(words, 16), factor);
}

/** Byte `i` of four words, unsigned, as a float. */
// @ts-ignore: decorator of AssemblyScript
@inline
function code(words: v128, i: i32): v128 {
  const mask = v128.load32_splat(CONSTANTS, 16);
  return f32x4.convert_i32x4_s(v128.and(i32x4.shr_u(words, 8 * i), mask));
}

/** Byte `i` of four words, signed, as a float. */
// @ts-ignore: decorator of AssemblyScript
@inline
function signed_code(words: v128, i: i32): v128 {
  return f32x4.convert_i32x4_s(i32x4.shr_s(i32x4.shl(words, 24 - 8 * i), 24));
}

/** The halves of 16 rows, two in each word, times `factor`·2^−112, as 16 floats at `to`. */
// @ts-ignore: decorator of AssemblyScript
@inline
function halves16(from: usize, factor: v128, to: usize): void {
  const a = v128.load(from), b = v128.load(from, 16);
  const a0 = lower(a, factor), b0 = lower(b, factor);
  const a1 = upper(a, factor), b1 = upper(b, factor);
  v128.store(to, b0, 16);
  v128.store(to, a0);
  v128.store(to, b1, 48);
  v128.store(to, a1, 32);
}

export function scales_halves(from: usize, step: usize, to: usize, blocks: i32): void {
  const factor = v128.load32_splat(CONSTANTS, 8);
  for (; blocks > 0; blocks--, from += step, to += 64) halves16(from, factor, to);
}

/**
 * One super-block: 8 parts with s = d·a, m = −e·b. Words of (a, b, a, b), and (d, e) behind them.
 */
export function scales_q4_k(from: usize, to: usize): void {
  const factor = v128.load32_splat(CONSTANTS, 4);
  for (let rows: usize = 0; rows < 64; rows += 16) {
    const halves = v128.load(from + rows, 256);
    const d = lower(halves, factor), e = f32x4.neg(upper(halves, factor));
    let at = to + rows;
    for (let word: usize = 0; word < 256; word += 64, at += 256) {
      const codes = v128.load(from + rows + word);
      v128.store(at, f32x4.mul(d, code(codes, 0)));
      v128.store(at, f32x4.mul(e, code(codes, 1)), 64);
      v128.store(at, f32x4.mul(d, code(codes, 2)), 128);
      v128.store(at, f32x4.mul(e, code(codes, 3)), 192);
    }
  }
}

/**
 * Adds one super-block to the totals [m][16] of a panel: Σ s·sum + m·y over its 8 parts. `scales`
 * are its expanded scales, `sums` the sums of codes times x [8][m][16], and y the sums of x, in
 * rows `step` bytes apart.
 */
export function add_q4_k(
  scales: usize, sums: usize, y: usize, step: usize, m: i32, totals: usize,
): void {
  const width = (m as usize) * 64;
  for (let row: usize = 0; row < width; row += 64, y += step) {
    for (let rows: usize = 0; rows < 64; rows += 32) {
      let a = v128.load(totals + row + rows), b = v128.load(totals + row + rows, 16);
      let part = sums + row + rows, at = y;
      for (let s = scales + rows, end = s + 1024; s < end; s += 128, part += width, at += 4) {
        const value = v128.load32_splat(at);
        a = f32x4.relaxed_madd(v128.load(s), v128.load(part), a);
        b = f32x4.relaxed_madd(v128.load(s, 16), v128.load(part, 16), b);
        a = f32x4.relaxed_madd(v128.load(s, 64), value, a);
        b = f32x4.relaxed_madd(v128.load(s, 80), value, b);
      }
      v128.store(totals + row + rows, b, 16);
      v128.store(totals + row + rows, a);
    }
  }
}

/**
 * One super-block: 16 parts with s = d·a·2^−24. Words of four a, and d behind them. `to` must have
 * room for 17 parts.
 */
export function scales_q6_k(from: usize, to: usize): void {
  const halves = to + 1024;
  halves16(from + 256, v128.load32_splat(CONSTANTS, 8), halves);
  for (let rows: usize = 0; rows < 64; rows += 16) {
    const d = v128.load(halves + rows);
    let at = to + rows;
    for (let word: usize = 0; word < 256; word += 64, at += 256) {
      const codes = v128.load(from + rows + word);
      v128.store(at, f32x4.mul(d, signed_code(codes, 0)));
      v128.store(at, f32x4.mul(d, signed_code(codes, 1)), 64);
      v128.store(at, f32x4.mul(d, signed_code(codes, 2)), 128);
      v128.store(at, f32x4.mul(d, signed_code(codes, 3)), 192);
    }
  }
}

/**
 * `group` is the address of step and offset of block 0's group; there are 16 bytes for 16 blocks.
 */
export function scales_nf4(
  from: usize, step: usize, group: usize, first: i32, to: usize, blocks: i32,
): void {
  const factor = v128.load32_splat(CONSTANTS, 12);
  for (let block = first; block < first + blocks; block++, from += step, to += 64) {
    const at = group + ((block >> 4) as usize) * 16;
    const slope = v128.load32_splat(at), offset = v128.load32_splat(at, 4);
    const codes = v128.load(from);
    v128.store(to, f32x4.mul(factor, f32x4.relaxed_madd(slope, code(codes, 0), offset)));
    v128.store(to, f32x4.mul(factor, f32x4.relaxed_madd(slope, code(codes, 1), offset)), 16);
    v128.store(to, f32x4.mul(factor, f32x4.relaxed_madd(slope, code(codes, 2), offset)), 32);
    v128.store(to, f32x4.mul(factor, f32x4.relaxed_madd(slope, code(codes, 3), offset)), 48);
  }
}

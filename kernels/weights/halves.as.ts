// Widens weights in halves (binary16, or the upper half of a float32) to floats, in rows or in
// panels. The weights are row-major and finite.

const LANES = 16;

/**
 * Mask of the upper half of a word; mask of an f16's sign, exponent and mantissa at their place in
 * an f32; 2^112, which corrects the exponent of that f32.
 */
const CONSTANTS = memory.data<u32>([0xffff0000, 0x8fffe000, 0x77800000], 64);

/** The upper halves of four words as four f32. */
// @ts-ignore: decorator of AssemblyScript
@inline
function upper(words: v128, bf16: i32): v128 {
  if (bf16) return v128.and(words, v128.load32_splat(CONSTANTS));
  const bits = v128.and(i32x4.shr_s(words, 3), v128.load32_splat(CONSTANTS, 4));
  // A multiplication of a denormal number is slow, a multiply-add is not.
  return f32x4.relaxed_madd(bits, v128.load32_splat(CONSTANTS, 8), f32x4.splat(0));
}

// @ts-ignore: decorator of AssemblyScript
@inline
function lower(words: v128, bf16: i32): v128 {
  return bf16 ? i32x4.shl(words, 16) : upper(i32x4.shl(words, 16), 0);
}

/** Widens `count` halves in order; count is even. */
export function widen_halves(from: usize, to: usize, count: i32, bf16: i32): void {
  let i = 0;
  for (; i + 8 <= count; i += 8, from += 16, to += 32) {
    const words = v128.load(from);
    const even = lower(words, bf16), odd = upper(words, bf16);
    v128.store(to, v128.shuffle<f32>(even, odd, 0, 4, 1, 5));
    v128.store(to, v128.shuffle<f32>(even, odd, 2, 6, 3, 7), 16);
  }
  for (; i < count; i += 2, from += 4, to += 8) {
    const words = v128.load32_splat(from);
    const pair = v128.shuffle<f32>(lower(words, bf16), upper(words, bf16), 0, 4, 0, 4);
    v128.store64_lane(to, pair, 0);
  }
}

/**
 * Eight columns of four rows, `stride` bytes apart, as rows of four floats at `to`, 64 bytes apart.
 */
// @ts-ignore: decorator of AssemblyScript
@inline
function widen_4x8(from: usize, stride: usize, to: usize, bf16: i32): void {
  const a = v128.load(from), b = v128.load(from + stride);
  const c = v128.load(from + 2 * stride), d = v128.load(from + 3 * stride);
  const ab0 = v128.shuffle<f32>(a, b, 0, 4, 1, 5), ab1 = v128.shuffle<f32>(a, b, 2, 6, 3, 7);
  const cd0 = v128.shuffle<f32>(c, d, 0, 4, 1, 5), cd1 = v128.shuffle<f32>(c, d, 2, 6, 3, 7);
  const w0 = v128.shuffle<f32>(ab0, cd0, 0, 1, 4, 5), w1 = v128.shuffle<f32>(ab0, cd0, 2, 3, 6, 7);
  const w2 = v128.shuffle<f32>(ab1, cd1, 0, 1, 4, 5), w3 = v128.shuffle<f32>(ab1, cd1, 2, 3, 6, 7);
  v128.store(to, lower(w0, bf16));
  v128.store(to, upper(w0, bf16), 64);
  v128.store(to, lower(w1, bf16), 128);
  v128.store(to, upper(w1, bf16), 192);
  v128.store(to, lower(w2, bf16), 256);
  v128.store(to, upper(w2, bf16), 320);
  v128.store(to, lower(w3, bf16), 384);
  v128.store(to, upper(w3, bf16), 448);
}

// There is one function for each type, because a branch in the loop would cost half as much time
// again.

/** Widens `k` (a multiple of 8) columns of 4 rows. */
export function widen_bf16_rows(from: usize, stride: usize, k: i32, to: usize): void {
  for (; k > 0; k -= 8, from += 16, to += 512) widen_4x8(from, stride, to, 1);
}

export function widen_f16_rows(from: usize, stride: usize, k: i32, to: usize): void {
  for (; k > 0; k -= 8, from += 16, to += 512) widen_4x8(from, stride, to, 0);
}

/**
 * Widens `k` (even) columns of `rows` rows, `stride` bytes apart, to [k][16] floats at `to`;
 * missing rows are zeros.
 */
export function widen_halves_panel(
  from: usize, stride: usize, rows: i32, k: i32, to: usize, bf16: i32,
): void {
  rows = min(rows, LANES);
  if (rows < LANES) memory.fill(to, 0, (k as usize) * 64);
  const whole = rows & ~3, eights = k & ~7;
  for (let r = 0; r < whole; r += 4) {
    const source = from + (r as usize) * stride, target = to + (r as usize) * 4;
    if (bf16) widen_bf16_rows(source, stride, eights, target);
    else widen_f16_rows(source, stride, eights, target);
  }
  for (let r = 0; r < rows; r++) {
    let kk = r < whole ? eights : 0;
    const source = from + (r as usize) * stride, target = to + (r as usize) * 4;
    for (; kk < k; kk += 2) {
      const words = v128.load32_splat(source + (kk as usize) * 2);
      const at = target + (kk as usize) * 64;
      v128.store32_lane(at, lower(words, bf16), 0);
      v128.store32_lane(at, upper(words, bf16), 0, 64);
    }
  }
}

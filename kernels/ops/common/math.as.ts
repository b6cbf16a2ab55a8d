// Elementary functions on vectors of four floats, shared by the kernels.
// Constants are kept in memory. V8 loads and broadcasts one in a single instruction, but assembles
// the constant of a `splat` from two 64-bit halves wherever it is used (2.5 times as slow,
// docs/log/attention.md).

/**
 * The constants of exp_f32x4. ln 2 is split into two parts: the first has few bits, so that its
 * product with a small integer is exact.
 */
const EXP = memory.data<f32>([
  -87.0,
  88.0,
  1.44269504088896341, // 1/ln 2
  12582912.0, // 1.5·2²³: adding it rounds to an integer, left in the low bits of the mantissa
  -0.693359375, // −ln 2, first part
  2.12194440e-4, // −ln 2, second part
  0.0013843653723597527, // minimax polynomial of eʳ, |r| ≤ ln 2/2, relative error 2e-9
  0.008374162949621677,
  0.04166800156235695,
  0.16666431725025177,
  0.4999999403953552,
  1.0,
], 64);

/**
 * eˣ with a relative error of at most 2e-7 (1e-7 measured). It is 0 for x below −87, e⁸⁸ for x
 * above 88, and NaN for NaN. With x = n·ln 2 + r, eʳ is a polynomial, and n is added to its
 * exponent.
 */
// @ts-ignore: decorator of AssemblyScript
@inline
export function exp_f32x4(x: v128): v128 {
  const lowest = v128.load32_splat(EXP), round = v128.load32_splat(EXP, 12);
  const one = v128.load32_splat(EXP, 44);
  const outside = f32x4.lt(x, lowest);
  // On x64 the relaxed forms return the second operand when one is NaN.
  x = f32x4.relaxed_min(v128.load32_splat(EXP, 4), f32x4.relaxed_max(lowest, x));
  const shifted = f32x4.relaxed_madd(x, v128.load32_splat(EXP, 8), round);
  const n = f32x4.sub(shifted, round);
  let r = f32x4.relaxed_madd(n, v128.load32_splat(EXP, 16), x);
  r = f32x4.relaxed_madd(n, v128.load32_splat(EXP, 20), r);
  let p = v128.load32_splat(EXP, 24);
  p = f32x4.relaxed_madd(p, r, v128.load32_splat(EXP, 28));
  p = f32x4.relaxed_madd(p, r, v128.load32_splat(EXP, 32));
  p = f32x4.relaxed_madd(p, r, v128.load32_splat(EXP, 36));
  p = f32x4.relaxed_madd(p, r, v128.load32_splat(EXP, 40));
  p = f32x4.relaxed_madd(p, r, one);
  p = f32x4.relaxed_madd(p, r, one);
  return v128.andnot(i32x4.add(p, i32x4.shl(shifted, 23)), outside);
}

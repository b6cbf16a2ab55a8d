// Elementary functions on four lanes, shared by the kernels. No special values: arguments are finite.

const LOG2E: f32 = 1.44269504088896341;
/** ln 2 in two parts; the first has few bits, so that its product with a small integer is exact. */
const LN2_HIGH: f32 = 0.693359375;
const LN2_LOW: f32 = -2.12194440e-4;
/** Adding 1.5·2²³ rounds to the nearest integer and leaves it in the low bits of the mantissa. */
const ROUND: f32 = 12582912.0;

/**
 * eˣ, relative error ≤ 2e-7 (1e-7 measured); 0 below −87, the value at 88 above 88.
 * x = n·ln 2 + r, then a polynomial for eʳ (minimax, relative error 2e-9), then n into the exponent.
 */
// @ts-ignore: decorator of AssemblyScript
@inline
export function exp_f32x4(x: v128): v128 {
  const inside = f32x4.ge(x, f32x4.splat(-87.0));
  x = f32x4.min(f32x4.max(x, f32x4.splat(-87.0)), f32x4.splat(88.0));
  const shifted = f32x4.relaxed_madd(x, f32x4.splat(LOG2E), f32x4.splat(ROUND));
  const n = f32x4.sub(shifted, f32x4.splat(ROUND));
  let r = f32x4.relaxed_nmadd(n, f32x4.splat(LN2_HIGH), x);
  r = f32x4.relaxed_nmadd(n, f32x4.splat(LN2_LOW), r);
  let p = f32x4.splat(0.0013843653723597527);
  p = f32x4.relaxed_madd(p, r, f32x4.splat(0.008374162949621677));
  p = f32x4.relaxed_madd(p, r, f32x4.splat(0.04166800156235695));
  p = f32x4.relaxed_madd(p, r, f32x4.splat(0.16666431725025177));
  p = f32x4.relaxed_madd(p, r, f32x4.splat(0.4999999403953552));
  p = f32x4.relaxed_madd(p, r, f32x4.splat(1.0));
  p = f32x4.relaxed_madd(p, r, f32x4.splat(1.0));
  const scaled = i32x4.add(p, i32x4.shl(shifted, 23));
  return v128.and(scaled, inside);
}

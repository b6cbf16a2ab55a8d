// Elementary functions of 16 lanes.
#pragma once
#include "vector.h"

/**
 * eˣ with a relative error of at most 2e-7 (1e-7 measured); 0 below −87, e⁸⁸ above 88, NaN for NaN.
 * With x = n·ln 2 + r, eʳ is a polynomial (minimax for |r| ≤ ln 2/2), and n is added to its
 * exponent. 1.5·2²³ rounds to an integer, which is left in the low bits. ln 2 is split into two
 * parts: the first has few bits, so that its product with a small integer is exact.
 */
INLINE f32x16 exp16(f32x16 x) {
  const f32x16 lowest = -87.0f, highest = 88.0f, round = 0x1.8p23f;
  const f32x16 c = max16(lowest, x), inside = min16(highest, c);
  const f32x16 shifted = fma16(inside, (f32x16)1.44269504088896341f, round);
  const f32x16 n = shifted - round;
  f32x16 r = fma16(n, (f32x16)-0.693359375f, inside);
  r = fma16(n, (f32x16)2.12194440e-4f, r);
  f32x16 p = 0.0013843653723597527f;
  p = fma16(p, r, (f32x16)0.008374162949621677f);
  p = fma16(p, r, (f32x16)0.04166800156235695f);
  p = fma16(p, r, (f32x16)0.16666431725025177f);
  p = fma16(p, r, (f32x16)0.4999999403953552f);
  p = fma16(p, r, (f32x16)1.0f);
  p = fma16(p, r, (f32x16)1.0f);
  const u32x16 result = (u32x16)p + ((u32x16)shifted << 23);
  return as_floats(x < lowest ? (u32x16)0 : result);
}

/** eˣ of one number. */
INLINE float exp1(float x) {
  return exp16((f32x16)x)[0];
}

/** σ(a) = 1/(1 + e^−a). */
INLINE f32x16 sigmoid(f32x16 a) {
  return 1.0f / (1.0f + exp16(-a));
}

/** tanh x: near 0 an odd polynomial (Cephes), so that small numbers keep their digits. */
INLINE f32x16 tanh16(f32x16 x) {
  const f32x16 one = 1.0f, size = max16(x, -x), z = x * x;
  f32x16 p = -5.70498872745e-3f;
  p = fma16(p, z, (f32x16)2.06390887954e-2f);
  p = fma16(p, z, (f32x16)-5.37397155531e-2f);
  p = fma16(p, z, (f32x16)1.33314422036e-1f);
  p = fma16(p, z, (f32x16)-3.33332819422e-1f);
  const f32x16 e = exp16(size * -2.0f), far = (one - e) / (one + e), near = fma16(p * z, x, x);
  return size < (f32x16)0.625f ? near : (x < (f32x16)0.0f ? -far : far);
}

/** cap·tanh(x/cap), between −cap and cap. */
INLINE f32x16 soft_cap16(f32x16 x, float cap) {
  return tanh16(x * (1 / cap)) * cap;
}

/** Its derivative, from its value. */
INLINE f32x16 soft_cap_slope(f32x16 y, float cap) {
  const f32x16 t = y * (1 / cap);
  return 1.0f - t * t;
}

// GELU in its tanh form and its gradient (kernels/ops/gelu/spec.ts), also as the gate of swiglu
// (kernels/ops/swiglu/spec.ts). Work unit: BLOCK elements.
// u is the argument of tanh. With e = e^−2u and s = ½·(1 + tanh u) = 1/(1 + e): y = x·s and
// dy/dx = s + e·s²·x·2·du/dx. (s·(1 − s) in place of e·s² would lose digits.)
#include "elements.h"
#include "exp.h"

/** 2·√(2/π), and its products with 0.044715 and 0.134145. */
#define TWO_K 1.5957691216057308f
#define CUBIC 0.07135481627159625f
#define SLOPE 0.21406444881478875f

/** For |x| above this, y is 0 or x and the slope is 0 or 1, to all digits. */
#define FAR 12.0f

INLINE f32x16 clamp(f32x16 x) {
  return max16((f32x16)-FAR, min16((f32x16)FAR, x));
}

/** e = e^−2u of a clamped x. */
INLINE f32x16 exp_minus_2u(f32x16 x) {
  return exp16(-(x * (TWO_K + x * x * CUBIC)));
}

INLINE f32x16 gelu16(f32x16 x) {
  return x * (1.0f / (1.0f + exp_minus_2u(clamp(x))));
}

KERNEL(gelu, x, out, n) {
  const char *const x = AT(x);
  char *const out = AT(out);
  EACH_OF_UNITS(args->n, STORE(out, gelu16(LOAD(x)));)
}

/** Gradients of 16 elements. Stores the output of the forward where it is wanted. */
INLINE f32x16 gradient(f32x16 dout, f32x16 x, f32x16 *activated) {
  const f32x16 c = clamp(x), e = exp_minus_2u(c), s = 1.0f / (1.0f + e);
  *activated = x * s;
  return dout * (s + e * (s * s) * (c * (TWO_K + c * c * SLOPE)));
}

/** `activated` is 0 where it is not needed. */
KERNEL(gelu_backward, dout, x, dx, activated, n) {
  const char *const dout = AT(dout), *const x = AT(x);
  char *const dx = AT(dx), *const activated = args->activated == 0 ? NULL : AT(activated);
  EACH_OF_UNITS(args->n, {
    f32x16 y;
    const f32x16 slope = gradient(LOAD(dout), LOAD(x), &y);
    if (activated != NULL) STORE(activated, y);
    STORE(dx, slope);
  })
}

KERNEL(geglu, gate, up, out, n) {
  const char *const gate = AT(gate), *const up = AT(up);
  char *const out = AT(out);
  EACH_OF_UNITS(args->n, STORE(out, gelu16(LOAD(gate)) * LOAD(up));)
}

/** `activated` is 0 where it is not needed. */
KERNEL(geglu_backward, dout, gate, up, dgate, dup, activated, n) {
  const char *const dout = AT(dout), *const gate = AT(gate), *const up = AT(up);
  char *const dgate = AT(dgate), *const dup = AT(dup);
  char *const activated = args->activated == 0 ? NULL : AT(activated);
  EACH_OF_UNITS(args->n, {
    f32x16 y;
    const f32x16 dz = LOAD(dout), b = LOAD(up), da = gradient(dz * b, LOAD(gate), &y);
    if (activated != NULL) STORE(activated, y * b);
    STORE(dgate, da);
    STORE(dup, dz * y);
  })
}

// GELU in its tanh form and its gradient (kernels/ops/gelu/spec.ts), also as the gate of swiglu
// (kernels/ops/swiglu/spec.ts). Work unit: BLOCK elements.
// u is the argument of tanh. With e = e^−2u and s = ½·(1 + tanh u) = 1/(1 + e): y = x·s and
// dy/dx = s + e·s²·x·2·du/dx. (s·(1 − s) in place of e·s² would lose digits.)
#include "exp.h"
#include "kernel.h"

#define BLOCK 1024

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

typedef struct {
  double x, out, n;
} GeluArgs;

KERNEL(gelu, GeluArgs) {
  const char *const x = AT(x);
  char *const out = AT(out);
  size_t at = (size_t)begin * BLOCK * 4;
  const size_t last = (size_t)min(end * BLOCK, (int)args->n) * 4;
  for (; at + ROW <= last; at += ROW) store16(out + at, gelu16(load16(x + at)));
  ONE_BY_ONE for (; at < last; at += 4) store1(out + at, gelu16((f32x16)load1(x + at))[0]);
}

/** Gradients of 16 elements. Stores the output of the forward where it is wanted. */
INLINE f32x16 gradient(f32x16 dout, f32x16 x, f32x16 *activated) {
  const f32x16 c = clamp(x), e = exp_minus_2u(c), s = 1.0f / (1.0f + e);
  *activated = x * s;
  return dout * (s + e * (s * s) * (c * (TWO_K + c * c * SLOPE)));
}

typedef struct {
  double dout, x, dx, activated, n;
} GeluBackwardArgs;

/** `activated` is 0 where it is not needed. */
KERNEL(gelu_backward, GeluBackwardArgs) {
  const char *const dout = AT(dout), *const x = AT(x);
  char *const dx = AT(dx), *const activated = args->activated == 0 ? NULL : AT(activated);
  size_t at = (size_t)begin * BLOCK * 4;
  const size_t last = (size_t)min(end * BLOCK, (int)args->n) * 4;
  f32x16 y;
  for (; at + ROW <= last; at += ROW) {
    const f32x16 slope = gradient(load16(dout + at), load16(x + at), &y);
    if (activated != NULL) store16(activated + at, y);
    store16(dx + at, slope);
  }
  ONE_BY_ONE for (; at < last; at += 4) {
    const f32x16 slope = gradient((f32x16)load1(dout + at), (f32x16)load1(x + at), &y);
    if (activated != NULL) store1(activated + at, y[0]);
    store1(dx + at, slope[0]);
  }
}

typedef struct {
  double gate, up, out, n;
} GegluArgs;

KERNEL(geglu, GegluArgs) {
  const char *const gate = AT(gate), *const up = AT(up);
  char *const out = AT(out);
  size_t at = (size_t)begin * BLOCK * 4;
  const size_t last = (size_t)min(end * BLOCK, (int)args->n) * 4;
  for (; at + ROW <= last; at += ROW) {
    store16(out + at, gelu16(load16(gate + at)) * load16(up + at));
  }
  ONE_BY_ONE for (; at < last; at += 4) {
    store1(out + at, (gelu16((f32x16)load1(gate + at)) * (f32x16)load1(up + at))[0]);
  }
}

typedef struct {
  double dout, gate, up, dgate, dup, activated, n;
} GegluBackwardArgs;

/** `activated` is 0 where it is not needed. */
KERNEL(geglu_backward, GegluBackwardArgs) {
  const char *const dout = AT(dout), *const gate = AT(gate), *const up = AT(up);
  char *const dgate = AT(dgate), *const dup = AT(dup);
  char *const activated = args->activated == 0 ? NULL : AT(activated);
  size_t at = (size_t)begin * BLOCK * 4;
  const size_t last = (size_t)min(end * BLOCK, (int)args->n) * 4;
  f32x16 y;
  for (; at + ROW <= last; at += ROW) {
    const f32x16 dz = load16(dout + at), b = load16(up + at);
    const f32x16 da = gradient(dz * b, load16(gate + at), &y);
    if (activated != NULL) store16(activated + at, y * b);
    store16(dgate + at, da);
    store16(dup + at, dz * y);
  }
  ONE_BY_ONE for (; at < last; at += 4) {
    const f32x16 dz = load1(dout + at), b = load1(up + at);
    const f32x16 da = gradient(dz * b, (f32x16)load1(gate + at), &y);
    if (activated != NULL) store1(activated + at, (y * b)[0]);
    store1(dgate + at, da[0]);
    store1(dup + at, (dz * y)[0]);
  }
}

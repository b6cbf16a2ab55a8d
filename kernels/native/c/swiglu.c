// SwiGLU and its gradient (kernels/ops/swiglu/spec.ts); with GELU as the gate it is in gelu.c. Work
// unit: BLOCK elements.
#include "elements.h"
#include "exp.h"
#include "rows.h"

/** Bytes that swiglu fetches ahead. */
#define AHEAD 2048

void gate_elements(const char *gate, const char *up, char *out, size_t n) {
  EACH_OF_ROW(n * 4, {
    if (!one) {
      prefetch(gate + at + AHEAD, 1);
      prefetch(up + at + AHEAD, 1);
    }
    const f32x16 a = LOAD(gate);
    STORE(out, a * sigmoid(a) * LOAD(up));
  })
}

typedef struct {
  double gate, up, out, n;
} SwigluArgs;

KERNEL_OF(swiglu, SwigluArgs) {
  const int n = args->n;
  const size_t at = (size_t)begin * BLOCK, last = (size_t)min(end * BLOCK, n);
  gate_elements(AT(gate) + at * 4, AT(up) + at * 4, AT(out) + at * 4, last - at);
}

typedef struct {
  double dout, gate, up, dgate, dup, activated, n;
} SwigluBackwardArgs;

/** `activated`, the output of the forward, is 0 where it is not needed. */
KERNEL_OF(swiglu_backward, SwigluBackwardArgs) {
  const char *const dout = AT(dout), *const gate = AT(gate), *const up = AT(up);
  char *const dgate = AT(dgate), *const dup = AT(dup);
  char *const activated = args->activated == 0 ? NULL : AT(activated);
  EACH_OF_UNITS(args->n, {
    const f32x16 a = LOAD(gate), b = LOAD(up), s = sigmoid(a), z = LOAD(dout) * s;
    if (activated != NULL) STORE(activated, a * s * b);
    STORE(dgate, z * b * (1.0f + a * (1.0f - s)));
    STORE(dup, z * a);
  })
}

/** The same with σ as the gate's function. */
KERNEL_OF(sigmoid_gate, SwigluArgs) {
  const char *const gate = AT(gate), *const up = AT(up);
  char *const out = AT(out);
  EACH_OF_UNITS(args->n, STORE(out, sigmoid(LOAD(gate)) * LOAD(up));)
}

KERNEL_OF(sigmoid_gate_backward, SwigluBackwardArgs) {
  const char *const dout = AT(dout), *const gate = AT(gate), *const up = AT(up);
  char *const dgate = AT(dgate), *const dup = AT(dup);
  char *const activated = args->activated == 0 ? NULL : AT(activated);
  EACH_OF_UNITS(args->n, {
    const f32x16 b = LOAD(up), s = sigmoid(LOAD(gate)), z = LOAD(dout) * s;
    if (activated != NULL) STORE(activated, s * b);
    STORE(dgate, z * b * (1.0f - s));
    STORE(dup, z);
  })
}

/** gpt-oss: the gate's function is a·σ(1.702·a), and inputs are limited (swiglu/spec.ts). */
#define STEEPNESS 1.702f

typedef struct {
  double gate, up, out, n, limit;
} ClampedArgs;

KERNEL_OF(clamped_swiglu, ClampedArgs) {
  const char *const gate = AT(gate), *const up = AT(up);
  char *const out = AT(out);
  const f32x16 most = (float)args->limit;
  EACH_OF_UNITS(args->n, {
    const f32x16 a = min16(most, LOAD(gate)), b = max16(-most, min16(most, LOAD(up)));
    STORE(out, a * sigmoid(a * STEEPNESS) * (b + 1.0f));
  })
}

typedef struct {
  double dout, gate, up, dgate, dup, activated, n, limit;
} ClampedBackwardArgs;

KERNEL_OF(clamped_swiglu_backward, ClampedBackwardArgs) {
  const char *const dout = AT(dout), *const gate = AT(gate), *const up = AT(up);
  char *const dgate = AT(dgate), *const dup = AT(dup);
  char *const activated = args->activated == 0 ? NULL : AT(activated);
  const f32x16 most = (float)args->limit, zero = 0.0f;
  EACH_OF_UNITS(args->n, {
    const f32x16 x = LOAD(gate), y = LOAD(up), a = min16(most, x);
    const f32x16 within = max16(-most, min16(most, y)), b = within + 1.0f;
    const f32x16 c = a * STEEPNESS, s = sigmoid(c), z = LOAD(dout) * s;
    if (activated != NULL) STORE(activated, a * s * b);
    STORE(dgate, x <= most ? z * b * (1.0f + c * (1.0f - s)) : zero);
    STORE(dup, y == within ? z * a : zero);
  })
}

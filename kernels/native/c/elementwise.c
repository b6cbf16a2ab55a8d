// Elementwise operations (kernels/ops/elementwise), and zeros for new tensors. Work unit: BLOCK
// elements, so which elements are done in vectors does not depend on the threads.
#include "elements.h"
#include "exp.h"

typedef struct {
  double a, b, out, n, scale;
} AddArgs;

/** out = a + scale·b, or scale·b where `a` is 0. */
KERNEL(add, AddArgs) {
  const char *const a = AT(a), *const b = AT(b);
  char *const out = AT(out);
  const float scale = args->scale;
  const int adds = args->a != 0;
  EACH_OF_UNITS(args->n, STORE(out, adds ? LOAD(a) + LOAD(b) * scale : LOAD(b) * scale);)
}

typedef struct {
  double a, b, out, n;
} MultiplyArgs;

KERNEL(multiply_each, MultiplyArgs) {
  const char *const a = AT(a), *const b = AT(b);
  char *const out = AT(out);
  EACH_OF_UNITS(args->n, STORE(out, LOAD(a) * LOAD(b));)
}

typedef struct {
  double x, out, n, cap;
} SoftCapArgs;

KERNEL(soft_cap, SoftCapArgs) {
  const char *const x = AT(x);
  char *const out = AT(out);
  const float cap = args->cap;
  EACH_OF_UNITS(args->n, STORE(out, soft_cap16(LOAD(x), cap));)
}

typedef struct {
  double dout, y, dx, n, cap;
} SoftCapBackwardArgs;

KERNEL(soft_cap_backward, SoftCapBackwardArgs) {
  const char *const dout = AT(dout), *const y = AT(y);
  char *const dx = AT(dx);
  const float cap = args->cap;
  EACH_OF_UNITS(args->n, STORE(dx, LOAD(dout) * soft_cap_slope(LOAD(y), cap));)
}

typedef struct {
  double src, out, n;
} CopyArgs;

/** out = src; any elements of 4 bytes. */
KERNEL(copy, CopyArgs) {
  const char *const src = AT(src);
  char *const out = AT(out);
  EACH_OF_UNITS(args->n, STORE(out, LOAD(src));)
}

typedef struct {
  double out, n, value;
} FillArgs;

KERNEL(fill, FillArgs) {
  char *const out = AT(out);
  const float value = args->value;
  EACH_OF_UNITS(args->n, STORE(out, (f32x16)value);)
}

typedef struct {
  double target;
} ZeroArgs;

/** Work unit: 64 bytes. */
KERNEL(zero, ZeroArgs) {
  zero_rows(AT(target) + (size_t)begin * ROW, (size_t)(end - begin));
}

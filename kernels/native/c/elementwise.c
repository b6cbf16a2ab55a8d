// Elementwise operations (kernels/ops/elementwise), and zeros for new tensors. Work unit: BLOCK
// elements, so which elements are done in vectors does not depend on the threads.
#include "elements.h"
#include "exp.h"

/** out = a + scale·b, or scale·b where `a` is 0. */
KERNEL(add, a, b, out, n, scale) {
  const char *const a = AT(a), *const b = AT(b);
  char *const out = AT(out);
  const float scale = args->scale;
  const int adds = args->a != 0;
  EACH_OF_UNITS(args->n, STORE(out, adds ? LOAD(a) + LOAD(b) * scale : LOAD(b) * scale);)
}

KERNEL(multiply_each, a, b, out, n) {
  const char *const a = AT(a), *const b = AT(b);
  char *const out = AT(out);
  EACH_OF_UNITS(args->n, STORE(out, LOAD(a) * LOAD(b));)
}

KERNEL(soft_cap, x, out, n, cap) {
  const char *const x = AT(x);
  char *const out = AT(out);
  const float cap = args->cap;
  EACH_OF_UNITS(args->n, STORE(out, soft_cap16(LOAD(x), cap));)
}

KERNEL(soft_cap_backward, dout, y, dx, n, cap) {
  const char *const dout = AT(dout), *const y = AT(y);
  char *const dx = AT(dx);
  const float cap = args->cap;
  EACH_OF_UNITS(args->n, STORE(dx, LOAD(dout) * soft_cap_slope(LOAD(y), cap));)
}

/** out = src; any elements of 4 bytes. */
KERNEL(copy, src, out, n) {
  const char *const src = AT(src);
  char *const out = AT(out);
  EACH_OF_UNITS(args->n, STORE(out, LOAD(src));)
}

/** A tensor with more elements is in no near cache, so it is not read into one to be written. */
#define FAR_ELEMENTS (8 * 1024 * 1024)

KERNEL(fill, out, n, value) {
  char *const out = AT(out);
  const f32x16 value = args->value;
  const int isFar = args->n > FAR_ELEMENTS;
  EACH_OF_UNITS(args->n, {
    if (isFar && !one) __builtin_nontemporal_store(value, (f32x16 *)(out + at));
    else STORE(out, value);
  })
}

/** Work unit: 64 bytes. */
KERNEL(zero, target) {
  zero_rows(AT(target) + (size_t)begin * ROW, (size_t)(end - begin));
}

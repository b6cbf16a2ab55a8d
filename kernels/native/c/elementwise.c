// Elementwise add, copy and fill (kernels/ops/elementwise), and zeros for new tensors. Work unit:
// BLOCK elements, so which elements are done in vectors does not depend on the threads.
#include "kernel.h"

#define BLOCK 1024

typedef struct {
  double a, b, out, n, scale;
} AddArgs;

/** out = a + scale·b. */
KERNEL(add, AddArgs) {
  const char *a = AT(a), *b = AT(b);
  char *out = AT(out);
  const float scale = args->scale;
  size_t at = (size_t)begin * BLOCK * 4;
  const size_t last = (size_t)min(end * BLOCK, (int)args->n) * 4;
  for (; at + ROW <= last; at += ROW) store16(out + at, load16(a + at) + load16(b + at) * scale);
  ONE_BY_ONE for (; at < last; at += 4) store1(out + at, load1(a + at) + load1(b + at) * scale);
}

typedef struct {
  double b, out, n, scale;
} ScaleArgs;

/** out = scale·b. */
KERNEL(scale, ScaleArgs) {
  const char *b = AT(b);
  char *out = AT(out);
  const float scale = args->scale;
  size_t at = (size_t)begin * BLOCK * 4;
  const size_t last = (size_t)min(end * BLOCK, (int)args->n) * 4;
  for (; at + ROW <= last; at += ROW) store16(out + at, load16(b + at) * scale);
  ONE_BY_ONE for (; at < last; at += 4) store1(out + at, load1(b + at) * scale);
}

typedef struct {
  double source, out, n;
} CopyArgs;

/** out = source; any elements of 4 bytes. */
KERNEL(copy, CopyArgs) {
  const char *source = AT(source);
  char *out = AT(out);
  size_t at = (size_t)begin * BLOCK * 4;
  const size_t last = (size_t)min(end * BLOCK, (int)args->n) * 4;
  for (; at + ROW <= last; at += ROW) store16(out + at, load16(source + at));
  ONE_BY_ONE for (; at < last; at += 4) *(uint32_t *)(out + at) = *(const uint32_t *)(source + at);
}

typedef struct {
  double out, n, value;
} FillArgs;

KERNEL(fill, FillArgs) {
  char *out = AT(out);
  const float value = args->value;
  size_t at = (size_t)begin * BLOCK * 4;
  const size_t last = (size_t)min(end * BLOCK, (int)args->n) * 4;
  for (; at + ROW <= last; at += ROW) store16(out + at, (f32x16)value);
  ONE_BY_ONE for (; at < last; at += 4) store1(out + at, value);
}

typedef struct {
  double target;
} ZeroArgs;

/** Work unit: 64 bytes. */
KERNEL(zero, ZeroArgs) {
  zero_rows(AT(target) + (size_t)begin * ROW, (size_t)(end - begin));
}

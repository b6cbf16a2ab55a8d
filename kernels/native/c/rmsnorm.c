// RMSNorm with the fused residual addition, and its gradient (kernels/ops/rmsnorm/spec.ts). Work
// unit: one row; of rmsnorm_dweight 16 columns.
#include "elements.h"
#include "rows.h"

/** Σ x². */
static float sum_squares(const char *x, int d) {
  f32x16 s = 0.0f;
  for (; d >= LANES; d -= LANES, x += ROW) s = fma16(load16(x), load16(x), s);
  float sum = sum_lanes(s);
  ONE_BY_ONE for (; d > 0; d--, x += 4) sum += load1(x) * load1(x);
  return sum;
}

void norm_rows(
  const char *x, const char *weight, char *out, char *rho, int rows, int d, float eps, float offset
) {
  const size_t bytes = (size_t)d * 4;
  for (; rows > 0; rows--, x += bytes, out += bytes, rho += 4) {
    const float r = 1.0f / __builtin_elementwise_sqrt(sum_squares(x, d) / (float)d + eps);
    store1(rho, r);
    EACH_OF_ROW(bytes, STORE(out, LOAD(x) * r * (LOAD(weight) + offset));)
  }
}

KERNEL(rmsnorm, x, addend, sum, weight, out, rho, d, eps, offset) {
  char *const x = AT(x), *const addend = AT(addend), *const sum = AT(sum), *const out = AT(out),
    *const rho = AT(rho);
  const int d = args->d;
  const float eps = args->eps, offset = args->offset;
  const size_t bytes = (size_t)d * 4;
  const char *w = AT(weight);
  for (int row = begin; row < end; row++) {
    const size_t at = (size_t)row * bytes;
    const char *h = x + at;
    if (args->addend != 0) {
      add_rows(h, addend + at, sum + at, bytes);
      h = sum + at;
    }
    norm_rows(h, w, out + at, rho + (size_t)row * 4, 1, d, eps, offset);
  }
}

/** Σ dout·(weight + offset)·h of a row. */
static float dot_row(const char *dout, const char *weight, const char *h, int d, float offset) {
  f32x16 s = 0.0f;
  for (; d >= LANES; d -= LANES, dout += ROW, weight += ROW, h += ROW) {
    s = fma16(load16(dout) * (load16(weight) + (f32x16)offset), load16(h), s);
  }
  float sum = sum_lanes(s);
  ONE_BY_ONE for (; d > 0; d--, dout += 4, weight += 4, h += 4) {
    sum += load1(dout) * (load1(weight) + offset) * load1(h);
  }
  return sum;
}

KERNEL(rmsnorm_backward, dout, x, weight, rho, dx, accumulate, d, offset) {
  char *const dout = AT(dout), *const x = AT(x), *const rho = AT(rho), *const dx = AT(dx);
  const int accumulate = args->accumulate, d = args->d;
  const float offset = args->offset;
  const size_t bytes = (size_t)d * 4;
  const char *w = AT(weight);
  for (int row = begin; row < end; row++) {
    const size_t first = (size_t)row * bytes;
    const char *dy = dout + first, *h = x + first;
    char *to = dx + first;
    const float r = load1(rho + (size_t)row * 4);
    const float along = r * r * (dot_row(dy, w, h, d, offset) / (float)d);
    // Without `accumulate` the old values are not used at all: they may be NaN.
    EACH_OF_ROW(bytes, {
      const f32x16 t = r * (LOAD(dy) * (LOAD(w) + offset) - LOAD(h) * along);
      STORE(to, accumulate ? LOAD(to) + t : t);
    })
  }
}

/** Vectors of columns that are summed together, so that rows are read in the order of memory. */
#define TOGETHER 8

/** dweight of `vectors` (a constant) vectors of columns += Σ dout·x·ρ, block by block. */
INLINE void sum_columns(
  const int vectors, const char *a, const char *b, const char *r, char *to, size_t bytes, int rows
) {
  f32x16 total[TOGETHER];
  UNROLL for (int i = 0; i < vectors; i++) total[i] = 0.0f;
  for (int row = 0; row < rows;) {
    f32x16 sum[TOGETHER];
    UNROLL for (int i = 0; i < vectors; i++) sum[i] = 0.0f;
    for (const int stop = min(row + SUM_ROWS, rows); row < stop; row++, a += bytes, b += bytes) {
      const f32x16 rho = load1(r + (size_t)row * 4);
      UNROLL for (int i = 0; i < vectors; i++) {
        sum[i] = fma16(load16(a + i * ROW) * load16(b + i * ROW), rho, sum[i]);
      }
    }
    UNROLL for (int i = 0; i < vectors; i++) total[i] += sum[i];
  }
  UNROLL for (int i = 0; i < vectors; i++) store16(to + i * ROW, load16(to + i * ROW) + total[i]);
}

KERNEL(rmsnorm_dweight, dout, x, rho, dweight, rows, d) {
  char *const dout = AT(dout), *const x = AT(x), *const dweight = AT(dweight);
  const int rows = args->rows, d = args->d;
  const size_t bytes = (size_t)d * 4;
  const char *r = AT(rho);
  const int last = min(end * LANES, d);
  for (int column = begin * LANES, count; column < last; column += count) {
    const size_t offset = (size_t)column * 4;
    const char *a = dout + offset, *b = x + offset;
    char *to = dweight + offset;
    const int vectors = min((last - column) / LANES, TOGETHER);
    count = max(1, vectors) * LANES;
#define VECTORS(n)                                \
  case n:                                         \
    sum_columns(n, a, b, r, to, bytes, rows);     \
    continue;
    switch (vectors) {
      VECTORS(1) VECTORS(2) VECTORS(3) VECTORS(4) VECTORS(5) VECTORS(6) VECTORS(7) VECTORS(8)
    }
    for (int i = 0; i < last - column; i++, to += 4) {
      float total = 0;
      for (int row = 0; row < rows;) {
        float sum = 0;
        ONE_BY_ONE for (const int stop = min(row + SUM_ROWS, rows); row < stop; row++) {
          const size_t at = (size_t)row * bytes + (size_t)i * 4;
          sum += load1(a + at) * load1(b + at) * load1(r + (size_t)row * 4);
        }
        total += sum;
      }
      store1(to, load1(to) + total);
    }
  }
}

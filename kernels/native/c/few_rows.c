// x·Wᵀ for a few rows of x (kernels/ops/matmul), with W in place, in floats or halves. A dot
// product has eight running sums; two rows of W share a vector.
#include "codes.h"
#include "kernel.h"

/** Rows of W that are done together, and max rows of x. */
#define W_ROWS 8
#define X_ROWS 4

/** What W holds. */
enum { FLOATS, F16_HALVES, BF16_HALVES };

typedef struct {
  const char *x, *w;
  char *out;
  size_t xStep, wStep, outStep;
  int n, k;
  float alpha;
  int accumulate;
} Dots;

INLINE f32x16 join(f32x8 low, f32x8 high) {
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

/** The sums of the eight lanes of both halves, in the order of reduce4: lanes 0 and 8. */
INLINE f32x16 sum_halves(f32x16 x) {
  x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
  x += __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
  return x + __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
}

/** Pairs of rows of W, with so many rows of x, whose sums stay in registers. */
INLINE int pairs_of(const int rows) {
  return min(W_ROWS / 2, MAX_SUMS / rows);
}

/** `rows` rows of x times the pairs of rows of W from `row` on that are below `last`. */
INLINE void dot_pairs(const int kind, const int rows, const Dots *g, int i, int row, int last) {
  const int pairs = pairs_of(rows);
  const char *w[W_ROWS], *x = g->x + (size_t)i * g->xStep;
  UNROLL for (int j = 0; j < 2 * pairs; j++) w[j] = g->w + (size_t)min(row + j, last - 1) * g->wStep;
  const size_t ahead = row + 2 * W_ROWS <= last ? W_ROWS * g->wStep : 0;
  f32x16 sums[X_ROWS][W_ROWS / 2];
  UNROLL for (int r = 0; r < rows; r++) {
    UNROLL for (int p = 0; p < pairs; p++) sums[r][p] = (f32x16)0.0f;
  }
  const int terms = kind == FLOATS ? 8 : 16;
  for (int kk = 0; kk < g->k; kk += terms, x += terms * 4) {
    const size_t at = (size_t)kk * (kind == FLOATS ? 4 : 2);
    // Rows are several streams, which the hardware's prefetchers do not follow.
    if (i == 0 && ahead != 0 && at % 64 == 0) {
      UNROLL for (int j = 0; j < 2 * pairs; j++) __builtin_prefetch(w[j] + ahead + at, 0, 2);
    }
    f32x16 even[X_ROWS], odd[X_ROWS];
    UNROLL for (int r = 0; r < rows; r++) {
      const f32x8 a = load_half(x + r * g->xStep);
      even[r] = join(a, a);
      if (kind != FLOATS) {
        const f32x8 b = load_half(x + r * g->xStep + 32);
        odd[r] = join(b, b);
      }
    }
    UNROLL for (int p = 0; p < pairs; p++) {
      const f32x16 both = join(load_half(w[2 * p] + at), load_half(w[2 * p + 1] + at));
      if (kind == FLOATS) {
        UNROLL for (int r = 0; r < rows; r++) sums[r][p] = fma16(even[r], both, sums[r][p]);
      } else {
        const u32x16 words = (u32x16)both;
        const f32x16 low = kind == BF16_HALVES ? as_floats(words << 16) : upper_half(words << 16);
        const f32x16 high = kind == BF16_HALVES ? as_floats(words & 0xffff0000u) : upper_half(words);
        UNROLL for (int r = 0; r < rows; r++) {
          sums[r][p] = fma16(odd[r], high, fma16(even[r], low, sums[r][p]));
        }
      }
    }
  }
  UNROLL for (int r = 0; r < rows; r++) {
    char *to = g->out + (size_t)(i + r) * g->outStep + (size_t)row * 4;
    UNROLL for (int p = 0; p < pairs; p++) {
      const f32x16 result = g->alpha * sum_halves(settled(sums[r][p]));
      UNROLL for (int j = 0; j < 2; j++) {
        char *at = to + (2 * p + j) * 4;
        const float value = result[8 * j];
        if (row + 2 * p + j < last) store1(at, g->accumulate ? load1(at) + value : value);
      }
    }
  }
}

/** The rows [row, row + W_ROWS) of W that are below `last`. */
INLINE void dot_group(const int kind, const int rows, const Dots *g, int i, int row, int last) {
  const int stop = min(row + W_ROWS, last);
  for (; row < stop; row += 2 * pairs_of(rows)) dot_pairs(kind, rows, g, i, row, last);
}

#define GROUP(kind, rows) \
  case rows: dot_group(kind, rows, g, i, row, last); return;
#define GROUPS(kind, CASES)                                                                   \
  static __attribute__((noinline)) void group_##kind(                                         \
    int rows, const Dots *g, int i, int row, int last                                         \
  ) {                                                                                         \
    switch (rows) { CASES }                                                                   \
  }
GROUPS(FLOATS, GROUP(FLOATS, 1) GROUP(FLOATS, 2) GROUP(FLOATS, 3) GROUP(FLOATS, 4))
GROUPS(F16_HALVES, GROUP(F16_HALVES, 1) GROUP(F16_HALVES, 2))
GROUPS(BF16_HALVES, GROUP(BF16_HALVES, 1) GROUP(BF16_HALVES, 2))

/**
 * out [m, n] = (with `accumulate` +=) alpha · x [m, k] · w [n, k]ᵀ. k is a multiple of 8, n of 4.
 * Unit: eight rows of w.
 */
KERNEL(matmul_dot, x, w, out, m, n, k, alpha, accumulate) {
  const int m = args->m, n = args->n, k = args->k;
  const Dots g = {
    .x = AT(x), .w = AT(w), .out = AT(out), .xStep = (size_t)k * 4,
    .wStep = (size_t)k * 4, .outStep = (size_t)n * 4, .n = n, .k = k, .alpha = args->alpha,
    .accumulate = args->accumulate,
  };
  const int last = min(n, end * 8);
  for (int row = begin * 8; row < last; row += W_ROWS) {
    for (int i = 0; i < m; i += X_ROWS) group_FLOATS(min(X_ROWS, m - i), &g, i, row, last);
  }
}

/**
 * Prepares rows of x for matmul_halves_dot: of every 16 elements first the even ones, then the odd
 * ones, all multiplied by `factor`. Unit: a row.
 */
KERNEL(matmul_halves_prepare, x, k, factor, to) {
  const int k = args->k;
  const f32x16 factor = args->factor;
  const char *from = AT(x) + (size_t)begin * k * 4;
  char *to = AT(to) + (size_t)begin * k * 4;
  const char *const last = AT(x) + (size_t)end * k * 4;
  for (; from < last; from += ROW, to += ROW) {
    const f32x16 x = load16(from) * factor;
    store16(
      to,
      __builtin_shufflevector(x, x, 0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15)
    );
  }
}

/**
 * The same for one or two prepared rows of x and a weight in halves. k is a multiple of 16. With
 * f16 the result is 2^112 times too small. Unit: four rows of W.
 */
KERNEL(matmul_halves_dot, bf16, x, w, out, m, n, k, alpha, accumulate) {
  const int bf16 = args->bf16, m = args->m, n = args->n, k = args->k;
  const Dots g = {
    .x = AT(x), .w = AT(w), .out = AT(out), .xStep = (size_t)k * 4,
    .wStep = (size_t)k * 2, .outStep = (size_t)n * 4, .n = n, .k = k, .alpha = args->alpha,
    .accumulate = args->accumulate,
  };
  const int last = min(n, end * 4);
  for (int row = begin * 4; row < last; row += W_ROWS) {
    if (bf16) group_BF16_HALVES(m, &g, 0, row, last);
    else group_F16_HALVES(m, &g, 0, row, last);
  }
}

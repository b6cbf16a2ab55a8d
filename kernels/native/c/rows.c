// Operations on rows: rmsnorm and swiglu with their gradients, and rope, of
// kernels/ops/*/wasm.as.ts, which explain the arguments.
#include "rows.h"

#include "exp.h"

/** Elements in a work unit of swiglu. */
#define BLOCK 1024

/** The sum of 16 running sums, in the order of sum_squares_row. */
INLINE float sum_lanes(f32x16 s) {
  float t[4];
  UNROLL for (int i = 0; i < 4; i++) t[i] = (s[i] + s[i + 4]) + (s[i + 8] + s[i + 12]);
  return (t[0] + t[1]) + (t[2] + t[3]);
}

/** Σ x². */
static float sum_squares(const char *x, int d) {
  f32x16 s = 0.0f;
  for (; d >= LANES; d -= LANES, x += ROW) s = fma16(load16(x), load16(x), s);
  float sum = sum_lanes(s);
  ONE_BY_ONE for (; d > 0; d--, x += 4) sum += load1(x) * load1(x);
  return sum;
}

void norm_rows(
  const char *x, const char *weight, char *out, char *rho, int rows, int d, float eps
) {
  const size_t bytes = (size_t)d * 4;
  for (; rows > 0; rows--, x += bytes, out += bytes, rho += 4) {
    const float r = 1.0f / __builtin_elementwise_sqrt(sum_squares(x, d) / (float)d + eps);
    store1(rho, r);
    size_t c = 0;
    for (; c + ROW <= bytes; c += ROW) {
      store16(out + c, load16(x + c) * (f32x16)r * load16(weight + c));
    }
    ONE_BY_ONE for (; c < bytes; c += 4) store1(out + c, load1(x + c) * r * load1(weight + c));
  }
}

KERNEL void rmsnorm(
  char *base, uint32_t x, uint32_t addend, uint32_t sum, uint32_t weight, uint32_t out,
  uint32_t rho, int d, float eps, int begin, int end, uint32_t scratch
) {
  (void)scratch;
  const size_t bytes = (size_t)d * 4;
  const char *w = base + weight;
  for (int row = begin; row < end; row++) {
    const size_t at = (size_t)row * bytes;
    const char *h = base + x + at;
    if (addend != 0) {
      const char *b = base + addend + at;
      char *to = base + sum + at;
      size_t c = 0;
      for (; c + ROW <= bytes; c += ROW) store16(to + c, load16(h + c) + load16(b + c));
      ONE_BY_ONE for (; c < bytes; c += 4) store1(to + c, load1(h + c) + load1(b + c));
      h = to;
    }
    norm_rows(h, w, base + out + at, base + rho + (size_t)row * 4, 1, d, eps);
  }
}

/** Σ dout·weight·h of a row. */
static float dot_row(const char *dout, const char *weight, const char *h, int d) {
  f32x16 s = 0.0f;
  for (; d >= LANES; d -= LANES, dout += ROW, weight += ROW, h += ROW) {
    s = fma16(load16(dout) * load16(weight), load16(h), s);
  }
  float sum = sum_lanes(s);
  ONE_BY_ONE for (; d > 0; d--, dout += 4, weight += 4, h += 4) {
    sum += load1(dout) * load1(weight) * load1(h);
  }
  return sum;
}

KERNEL void rmsnorm_backward(
  char *base, uint32_t dout, uint32_t x, uint32_t weight, uint32_t rho, uint32_t dx, int accumulate,
  int d, int begin, int end, uint32_t scratch
) {
  (void)scratch;
  const size_t bytes = (size_t)d * 4;
  const char *w = base + weight;
  for (int row = begin; row < end; row++) {
    const size_t offset = (size_t)row * bytes;
    const char *dy = base + dout + offset, *h = base + x + offset;
    char *to = base + dx + offset;
    const float r = load1(base + rho + (size_t)row * 4);
    const float along = r * r * (dot_row(dy, w, h, d) / (float)d);
    // Without `accumulate` the old values are not used at all: they may be NaN.
    size_t c = 0;
    for (; c + ROW <= bytes; c += ROW) {
      const f32x16 t = r * (load16(dy + c) * load16(w + c) - load16(h + c) * along);
      store16(to + c, accumulate ? load16(to + c) + t : t);
    }
    ONE_BY_ONE for (; c < bytes; c += 4) {
      const float t = r * (load1(dy + c) * load1(w + c) - load1(h + c) * along);
      store1(to + c, accumulate ? load1(to + c) + t : t);
    }
  }
}

/** Rows that are summed before they are added to the sum of all. */
#define SUM_ROWS 256
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

KERNEL void rmsnorm_dweight(
  char *base, uint32_t dout, uint32_t x, uint32_t rho, uint32_t dweight, int rows, int d, int begin,
  int end, uint32_t scratch
) {
  (void)scratch;
  const size_t bytes = (size_t)d * 4;
  const char *r = base + rho;
  const int last = min(end * LANES, d);
  for (int column = begin * LANES, count; column < last; column += count) {
    const size_t offset = (size_t)column * 4;
    const char *a = base + dout + offset, *b = base + x + offset;
    char *to = base + dweight + offset;
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

/** Rotates the pairs (a, b) at byte j of both halves of a head. */
#define ROTATE(vector, a, b, c, sn, sign)                                                   \
  const vector u = *(const loose_##vector *)(a), w = *(const loose_##vector *)(b);          \
  const vector cosine = *(const loose_##vector *)(c);                                       \
  const vector sine = *(const loose_##vector *)(sn) * (vector)sign;                         \
  *(loose_##vector *)(a) = u * cosine - w * sine;                                           \
  *(loose_##vector *)(b) = w * cosine + u * sine;

void rotate_rows(
  char *x, const char *cos, const char *sin, const uint32_t *positions, int heads, int headDim,
  float sign, int rows
) {
  const size_t half = (size_t)headDim * 2;
  char *a = x;
  for (int row = 0; row < rows; row++) {
    const size_t table = positions[row] * half;
    const char *c = cos + table, *sn = sin + table;
    for (int head = 0; head < heads; head++) {
      char *b = a + half;
      size_t j = 0;
      for (; j + ROW <= half; j += ROW) {
        ROTATE(f32x16, a + j, b + j, c + j, sn + j, sign)
      }
      for (; j + 32 <= half; j += 32) {
        ROTATE(f32x8, a + j, b + j, c + j, sn + j, sign)
      }
      for (; j + 16 <= half; j += 16) {
        ROTATE(f32x4, a + j, b + j, c + j, sn + j, sign)
      }
      ONE_BY_ONE for (; j < half; j += 4) {
        const float u = load1(a + j), w = load1(b + j);
        const float cosine = load1(c + j), sine = load1(sn + j) * sign;
        store1(a + j, u * cosine - w * sine);
        store1(b + j, w * cosine + u * sine);
      }
      a = b + half;
    }
  }
}

KERNEL void rope(
  char *base, uint32_t x, uint32_t cos, uint32_t sin, uint32_t positions, int heads, int headDim,
  float sign, int begin, int end, uint32_t scratch
) {
  (void)scratch;
  rotate_rows(
    base + x + (size_t)begin * heads * headDim * 4, base + cos, base + sin,
    (const uint32_t *)(base + positions) + begin, heads, headDim, sign, end - begin
  );
}

/** σ(a) = 1/(1 + e^−a). */
INLINE f32x16 sigmoid(f32x16 a) {
  return 1.0f / (1.0f + exp16(-a));
}

/** Bytes that swiglu fetches ahead. */
#define AHEAD 2048

void gate_elements(const char *gate, const char *up, char *out, size_t n) {
  for (; n >= LANES; n -= LANES, gate += ROW, up += ROW, out += ROW) {
    prefetch(gate + AHEAD, 1);
    prefetch(up + AHEAD, 1);
    const f32x16 a = load16(gate);
    store16(out, a * sigmoid(a) * load16(up));
  }
  ONE_BY_ONE for (; n > 0; n--, gate += 4, up += 4, out += 4) {
    const f32x16 a = load1(gate);
    store1(out, (a * sigmoid(a) * (f32x16)load1(up))[0]);
  }
}

KERNEL void swiglu(
  char *base, uint32_t gate, uint32_t up, uint32_t out, int n, int begin, int end, uint32_t scratch
) {
  (void)scratch;
  const size_t at = (size_t)begin * BLOCK, last = (size_t)min(end * BLOCK, n);
  gate_elements(base + gate + at * 4, base + up + at * 4, base + out + at * 4, last - at);
}

typedef struct {
  const char *dout, *gate, *up;
  /** `out` is NULL where the output of the forward is not needed. */
  char *dgate, *dup, *out;
} Gated;

/** Gradients of 16 elements from `at` on; with `one` only the first is loaded and stored. */
INLINE void gate_gradient(const Gated *g, size_t at, const int one) {
#define LOAD(x) (one ? (f32x16)load1((x) + at) : load16((x) + at))
#define STORE(to, x)                                                      \
  {                                                                       \
    const f32x16 y = x;                                                   \
    if (one) store1((to) + at, y[0]);                                     \
    else store16((to) + at, y);                                           \
  }
  const f32x16 a = LOAD(g->gate), b = LOAD(g->up), s = sigmoid(a), z = LOAD(g->dout) * s;
  if (g->out != NULL) STORE(g->out, a * s * b)
  STORE(g->dgate, z * b * (1.0f + a * (1.0f - s)))
  STORE(g->dup, z * a)
}

static void gate_gradients(const Gated *g, int n, int begin, int end) {
  size_t at = (size_t)begin * BLOCK * 4;
  const size_t last = (size_t)min(end * BLOCK, n) * 4;
  for (; at + ROW <= last; at += ROW) gate_gradient(g, at, 0);
  ONE_BY_ONE for (; at < last; at += 4) gate_gradient(g, at, 1);
}

KERNEL void swiglu_backward(
  char *base, uint32_t dout, uint32_t gate, uint32_t up, uint32_t dgate, uint32_t dup, int n,
  int begin, int end, uint32_t scratch
) {
  (void)scratch;
  const Gated g = {
    .dout = base + dout, .gate = base + gate, .up = base + up, .dgate = base + dgate,
    .dup = base + dup,
  };
  gate_gradients(&g, n, begin, end);
}

KERNEL void swiglu_backward_and_forward(
  char *base, uint32_t dout, uint32_t gate, uint32_t up, uint32_t dgate, uint32_t dup, uint32_t out,
  int n, int begin, int end, uint32_t scratch
) {
  (void)scratch;
  const Gated g = {
    .dout = base + dout, .gate = base + gate, .up = base + up, .dgate = base + dgate,
    .dup = base + dup, .out = base + out,
  };
  gate_gradients(&g, n, begin, end);
}

INLINE void copy_row(const char *from, char *to, size_t bytes) {
  size_t c = 0;
  for (; c + ROW <= bytes; c += ROW) store16(to + c, load16(from + c));
  ONE_BY_ONE for (; c < bytes; c += 4) store1(to + c, load1(from + c));
}

void scatter(const char *source, const uint32_t *index, char *table, int rows, int d) {
  const size_t bytes = (size_t)d * 4;
  for (int row = 0; row < rows; row++) {
    copy_row(source + (size_t)row * bytes, table + index[row] * bytes, bytes);
  }
}

KERNEL void scatter_rows(
  char *base, uint32_t src, uint32_t index, uint32_t table, int d, int begin, int end,
  uint32_t scratch
) {
  (void)scratch;
  const uint32_t *to = (const uint32_t *)(base + index) + begin;
  scatter(base + src + (size_t)begin * d * 4, to, base + table, end - begin, d);
}

KERNEL void gather_rows(
  char *base, uint32_t table, uint32_t index, uint32_t out, int d, int begin, int end,
  uint32_t scratch
) {
  (void)scratch;
  const size_t bytes = (size_t)d * 4;
  const uint32_t *from = (const uint32_t *)(base + index);
  for (int row = begin; row < end; row++) {
    copy_row(base + table + from[row] * bytes, base + out + (size_t)row * bytes, bytes);
  }
}

// Operations on rows (kernels/ops/*/spec.ts): rmsnorm and swiglu with their gradients, rope, and
// moves of whole rows. The work unit of rmsnorm, rope, gather and scatter is a row, of swiglu BLOCK
// elements, of rmsnorm_dweight 16 columns.
#include "rows.h"

#include "exp.h"
#include "kernel.h"

/** Elements in a work unit of swiglu. */
#define BLOCK 1024

/** The sum of 16 running sums, in the order of sum_squares_row. */
INLINE float sum_lanes(f32x16 s) {
  float t[4];
  s = settled(s);
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
  const char *x, const char *weight, char *out, char *rho, int rows, int d, float eps, float offset
) {
  const size_t bytes = (size_t)d * 4;
  for (; rows > 0; rows--, x += bytes, out += bytes, rho += 4) {
    const float r = 1.0f / __builtin_elementwise_sqrt(sum_squares(x, d) / (float)d + eps);
    store1(rho, r);
    size_t c = 0;
    for (; c + ROW <= bytes; c += ROW) {
      store16(out + c, load16(x + c) * (f32x16)r * (load16(weight + c) + (f32x16)offset));
    }
    ONE_BY_ONE for (; c < bytes; c += 4) {
      store1(out + c, load1(x + c) * r * (load1(weight + c) + offset));
    }
  }
}

typedef struct {
  double x, addend, sum, weight, out, rho, d, eps, offset;
} RmsnormArgs;

KERNEL(rmsnorm, RmsnormArgs) {
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
      const char *b = addend + at;
      char *to = sum + at;
      size_t c = 0;
      for (; c + ROW <= bytes; c += ROW) store16(to + c, load16(h + c) + load16(b + c));
      ONE_BY_ONE for (; c < bytes; c += 4) store1(to + c, load1(h + c) + load1(b + c));
      h = to;
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

typedef struct {
  double dout, x, weight, rho, dx, accumulate, d, offset;
} RmsnormBackwardArgs;

KERNEL(rmsnorm_backward, RmsnormBackwardArgs) {
  char *const dout = AT(dout), *const x = AT(x), *const rho = AT(rho), *const dx = AT(dx);
  const int accumulate = args->accumulate, d = args->d;
  const float offset = args->offset;
  const size_t bytes = (size_t)d * 4;
  const char *w = AT(weight);
  for (int row = begin; row < end; row++) {
    const size_t at = (size_t)row * bytes;
    const char *dy = dout + at, *h = x + at;
    char *to = dx + at;
    const float r = load1(rho + (size_t)row * 4);
    const float along = r * r * (dot_row(dy, w, h, d, offset) / (float)d);
    // Without `accumulate` the old values are not used at all: they may be NaN.
    size_t c = 0;
    for (; c + ROW <= bytes; c += ROW) {
      const f32x16 weights = load16(w + c) + (f32x16)offset;
      const f32x16 t = r * (load16(dy + c) * weights - load16(h + c) * along);
      store16(to + c, accumulate ? load16(to + c) + t : t);
    }
    ONE_BY_ONE for (; c < bytes; c += 4) {
      const float t = r * (load1(dy + c) * (load1(w + c) + offset) - load1(h + c) * along);
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

typedef struct {
  double dout, x, rho, dweight, rows, d;
} RmsnormDweightArgs;

KERNEL(rmsnorm_dweight, RmsnormDweightArgs) {
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

/** Rotates the pairs (a, b) at byte j of both halves of a head. */
#define ROTATE(vector, load, store, a, b, c, sn, sign)                                      \
  const vector u = load(a), w = load(b), cosine = load(c), sine = load(sn) * (vector)sign;  \
  store(a, u * cosine - w * sine);                                                          \
  store(b, w * cosine + u * sine);
#define LOAD4(at) (*(const loose_f32x4 *)(at))
#define STORE4(at, value) (*(loose_f32x4 *)(at) = (value))

void rotate_rows(
  char *x, const char *cos, const char *sin, const uint32_t *positions, int heads, int headDim,
  int rotaryDim, float sign, int rows
) {
  const size_t half = (size_t)rotaryDim * 2, bytes = (size_t)headDim * 4;
  char *a = x;
  for (int row = 0; row < rows; row++) {
    const size_t table = positions[row] * half;
    const char *c = cos + table, *sn = sin + table;
    for (int head = 0; head < heads; head++) {
      char *b = a + half;
      size_t j = 0;
      for (; j + ROW <= half; j += ROW) {
        ROTATE(f32x16, load16, store16, a + j, b + j, c + j, sn + j, sign)
      }
      for (; j + 32 <= half; j += 32) {
        ROTATE(f32x8, load_half, store_half, a + j, b + j, c + j, sn + j, sign)
      }
      for (; j + 16 <= half; j += 16) {
        ROTATE(f32x4, LOAD4, STORE4, a + j, b + j, c + j, sn + j, sign)
      }
      ONE_BY_ONE for (; j < half; j += 4) {
        const float u = load1(a + j), w = load1(b + j);
        const float cosine = load1(c + j), sine = load1(sn + j) * sign;
        store1(a + j, u * cosine - w * sine);
        store1(b + j, w * cosine + u * sine);
      }
      a += bytes;
    }
  }
}

typedef struct {
  double x, cos, sin, positions, heads, headDim, rotaryDim, sign;
} RopeArgs;

KERNEL(rope, RopeArgs) {
  const int heads = args->heads, headDim = args->headDim, rotaryDim = args->rotaryDim;
  const float sign = args->sign;
  rotate_rows(
    AT(x) + (size_t)begin * heads * headDim * 4, AT(cos), AT(sin),
    (const uint32_t *)AT(positions) + begin, heads, headDim, rotaryDim, sign, end - begin
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

typedef struct {
  double gate, up, out, n;
} SwigluArgs;

KERNEL(swiglu, SwigluArgs) {
  const int n = args->n;
  const size_t at = (size_t)begin * BLOCK, last = (size_t)min(end * BLOCK, n);
  gate_elements(AT(gate) + at * 4, AT(up) + at * 4, AT(out) + at * 4, last - at);
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

typedef struct {
  double dout, gate, up, dgate, dup, n;
} SwigluBackwardArgs;

KERNEL(swiglu_backward, SwigluBackwardArgs) {
  const int n = args->n;
  const Gated g = {
    .dout = AT(dout), .gate = AT(gate), .up = AT(up), .dgate = AT(dgate),
    .dup = AT(dup),
  };
  gate_gradients(&g, n, begin, end);
}

typedef struct {
  double dout, gate, up, dgate, dup, out, n;
} SwigluBackwardAndForwardArgs;

KERNEL(swiglu_backward_and_forward, SwigluBackwardAndForwardArgs) {
  const int n = args->n;
  const Gated g = {
    .dout = AT(dout), .gate = AT(gate), .up = AT(up), .dgate = AT(dgate),
    .dup = AT(dup), .out = AT(out),
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

typedef struct {
  double src, index, table, d;
} ScatterRowsArgs;

KERNEL(scatter_rows, ScatterRowsArgs) {
  const int d = args->d;
  const uint32_t *to = (const uint32_t *)AT(index) + begin;
  scatter(AT(src) + (size_t)begin * d * 4, to, AT(table), end - begin, d);
}

typedef struct {
  double table, index, out, d;
} GatherRowsArgs;

KERNEL(gather_rows, GatherRowsArgs) {
  char *const table = AT(table), *const out = AT(out);
  const int d = args->d;
  const size_t bytes = (size_t)d * 4;
  const uint32_t *from = (const uint32_t *)AT(index);
  for (int row = begin; row < end; row++) {
    copy_row(table + from[row] * bytes, out + (size_t)row * bytes, bytes);
  }
}

/** Columns of a work unit of scatter_add_rows, so that several threads share a long run. */
#define SLICE 64

typedef struct {
  double source, order, runs, target, table, d;
} ScatterAddRowsArgs;

/** Units: runs · ⌈d / SLICE⌉; the slice varies fastest. */
KERNEL(scatter_add_rows, ScatterAddRowsArgs) {
  const uint32_t *const order = (const uint32_t *)AT(order);
  const uint32_t *const runs = (const uint32_t *)AT(runs);
  const uint32_t *const target = (const uint32_t *)AT(target);
  const int d = args->d, slices = ceil_div(d, SLICE);
  const size_t bytes = (size_t)d * 4;
  for (int unit = begin; unit < end; unit++) {
    const int run = unit / slices, slice = unit % slices * SLICE;
    char *const to = AT(table) + target[run] * bytes;
    for (int c = slice; c < min(slice + SLICE, d); c += LANES) {
      const int count = min(LANES, d - c);
      const char *const from = AT(source) + (size_t)c * 4;
      f32x16 sum = 0.0f;
      for (uint32_t i = runs[run]; i < runs[run + 1]; i++) {
        const char *const row = from + order[i] * bytes;
        sum += count == LANES ? load16(row) : load_lanes(row, count);
      }
      put_lanes(to + (size_t)c * 4, sum, count, 1);
    }
  }
}

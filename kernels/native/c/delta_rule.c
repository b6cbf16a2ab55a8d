// The gated delta rule and its gradient (kernels/ops/delta_rule/spec.ts). Queries and keys of a
// head have `padded` elements in the scratch, a multiple of 16; those beyond keyDim are 0.
#include "exp.h"
#include "kernel.h"
#include "log.h"
#include "pack.h"

#define NO_STATE 0xffffffffu
#define NORM_EPS 1e-6f

/** Floats of a row of x. */
#define WIDTH(args) \
  ((size_t)(2 * (args)->keyHeads * (args)->keyDim + (args)->valueHeads * (args)->valueDim))
/** The first float of the values in a row of x. */
#define VALUES(args) ((size_t)(2 * (args)->keyHeads * (args)->keyDim))

typedef struct {
  uint32_t begin, end, from, to;
} Stretch;

/** ln(1 + eˣ). */
INLINE float softplus(float x) {
  const float y = exp1(x < 0 ? x : -x), w = 1.0f + y;
  return (x > 0 ? x : 0) + (w == 1.0f ? y : log1(w) * (y / (w - 1.0f)));
}

INLINE float sigmoid1(float x) {
  return 1.0f / (1.0f + exp1(-x));
}

/** Σ a·b of vectors of a multiple of 16 elements. */
INLINE float dot(const char *a, const char *b, int n) {
  f32x16 sum = 0.0f;
  for (int i = 0; i < n; i += LANES, a += ROW, b += ROW) sum = fma16(load16(a), load16(b), sum);
  return sum_lanes(sum);
}

/** 1/|silu(x)|. */
static float inverse_norm(const char *x, int n) {
  f32x16 sum = 0.0f;
  for (int i = 0; i < n; i += LANES, x += ROW) {
    const f32x16 a = load_lanes(x, min(LANES, n - i)), y = a * sigmoid(a);
    sum = fma16(y, y, sum);
  }
  return 1.0f / __builtin_elementwise_sqrt(sum_lanes(sum) + NORM_EPS);
}

/** Unit: a row. qk: [rows, 2, keyHeads, padded]; gates: γ and β [rows, 2, valueHeads]. */
KERNEL(delta_prepare, x, a, b, aLog, dtBias, qk, gates, keyHeads, valueHeads, keyDim, valueDim) {
  const int heads = args->keyHeads, n = args->keyDim, padded = round_up16(n);
  const int values = args->valueHeads;
  const float root = 1.0f / __builtin_elementwise_sqrt((float)n);
  for (int row = begin; row < end; row++) {
    for (int head = 0; head < 2 * heads; head++) {
      const char *x = AT(x) + ((size_t)row * WIDTH(args) + (size_t)head * n) * 4;
      char *to = AT(qk) + ((size_t)row * 2 * heads + head) * padded * 4;
      const float scale = inverse_norm(x, n) * (head < heads ? root : 1.0f);
      for (int i = 0; i < n; i += LANES, x += ROW, to += ROW) {
        const f32x16 a = load_lanes(x, min(LANES, n - i));
        store16(to, a * sigmoid(a) * scale);
      }
    }
    char *gates = AT(gates) + (size_t)row * 2 * values * 4;
    ONE_BY_ONE for (int head = 0; head < values; head++) {
      const size_t at = ((size_t)row * values + head) * 4, own = (size_t)head * 4;
      const float shifted = load1(AT(a) + at) + load1(AT(dtBias) + own);
      store1(gates + own, exp1(-exp1(load1(AT(aLog) + own)) * softplus(shifted)));
      store1(gates + (size_t)values * 4 + own, sigmoid1(load1(AT(b) + at)));
    }
  }
}

/** Unit: a segment from `first` on, a head, and 16 columns of its state, which are the scratch. */
KERNEL(delta_rule,
  x, qk, gates, segments, first, state, out, keyHeads, valueHeads, keyDim, valueDim
) {
  const int heads = args->valueHeads, n = args->keyDim, width = args->valueDim;
  const int keyHeads = args->keyHeads, padded = round_up16(n), blocks = ceil_div(width, LANES);
  const Stretch *const segments = (const Stretch *)AT(segments) + (int)args->first;
  for (int unit = begin; unit < end; unit++) {
    const int block = unit % blocks, head = unit / blocks % heads, c = block * LANES;
    const int count = min(LANES, width - c), keyHead = head * keyHeads / heads;
    const Stretch segment = segments[unit / blocks / heads];
    const size_t own = ((size_t)head * n * width + c) * 4, size = (size_t)heads * n * width * 4;
    const size_t line = (size_t)width * 4;
    zero_rows(scratch, padded);
    if (segment.from != NO_STATE) {
      const char *from = AT(state) + segment.from * size + own;
      for (int i = 0; i < n; i++) store16(scratch + i * ROW, load_lanes(from + i * line, count));
    }
    for (uint32_t row = segment.begin; row < segment.end; row++) {
      const char *q = AT(qk) + ((size_t)row * 2 * keyHeads + keyHead) * padded * 4;
      const char *k = q + (size_t)keyHeads * padded * 4;
      const char *gates = AT(gates) + ((size_t)row * 2 * heads + head) * 4;
      const f32x16 gamma = load1(gates), beta = load1(gates + heads * 4);
      const size_t at = (size_t)row * WIDTH(args) + VALUES(args) + (size_t)head * width + c;
      const f32x16 x = load_lanes(AT(x) + at * 4, count);
      f32x16 sums[4] = { 0.0f, 0.0f, 0.0f, 0.0f };
      for (int i = 0; i < padded; i += 4) {
        UNROLL for (int j = 0; j < 4; j++) {
          const f32x16 s = load16(scratch + (i + j) * ROW) * gamma;
          store16(scratch + (i + j) * ROW, s);
          sums[j] = fma16((f32x16)load1(k + (i + j) * 4), s, sums[j]);
        }
      }
      const f32x16 u = (sums[0] + sums[1]) + (sums[2] + sums[3]);
      const f32x16 delta = beta * (x * sigmoid(x) - u);
      UNROLL for (int j = 0; j < 4; j++) sums[j] = 0.0f;
      for (int i = 0; i < padded; i += 4) {
        UNROLL for (int j = 0; j < 4; j++) {
          char *const at = scratch + (i + j) * ROW;
          const f32x16 s = fma16((f32x16)load1(k + (i + j) * 4), delta, load16(at));
          store16(at, s);
          sums[j] = fma16((f32x16)load1(q + (i + j) * 4), s, sums[j]);
        }
      }
      char *const to = AT(out) + (((size_t)row * heads + head) * width + c) * 4;
      store_lanes(to, (sums[0] + sums[1]) + (sums[2] + sums[3]), count);
    }
    if (segment.to == NO_STATE) continue;
    char *to = AT(state) + segment.to * size + own;
    for (int i = 0; i < n; i++) store_lanes(to + i * line, load16(scratch + i * ROW), count);
  }
}

/** A column of a head's state: what its positions read. */
typedef struct {
  const char *x, *q, *k, *gates, *dout;
  size_t xLine, qkLine, gateLine, outLine;
  int padded;
} Column;

/** A position of a column: what it reads, σ(x) and v − u. */
typedef struct {
  const char *q, *k;
  float gamma, beta, x, sigma, rest;
} Position;

INLINE Position position_of(const Column *column, size_t row, const char *before) {
  const char *const gates = column->gates + row * column->gateLine;
  Position p = {
    .q = column->q + row * column->qkLine,
    .k = column->k + row * column->qkLine,
    .gamma = load1(gates),
    .beta = load1(gates + column->gateLine / 2),
    .x = load1(column->x + row * column->xLine),
  };
  p.sigma = sigmoid1(p.x);
  p.rest = p.x * p.sigma - p.gamma * dot(before, p.k, column->padded);
  return p;
}

/** The state after a row from the one before it; they may be the same. */
static void column_step(const Column *column, size_t row, const char *before, char *after) {
  const Position p = position_of(column, row, before);
  const f32x16 delta = p.beta * p.rest, gamma = p.gamma;
  for (int i = 0; i < column->padded * 4; i += ROW) {
    store16(after + i, fma16(load16(p.k + i), delta, load16(before + i) * gamma));
  }
}

/** Stores b, or adds it. */
INLINE void put16(char *to, f32x16 b, int add) {
  store16(to, add ? load16(to) + b : b);
}

/**
 * The backward of a row: D, the derivative by the state after it, becomes that by the one before.
 * Adds to dq, dk, dγ and dβ, which are sums over the columns.
 */
static void column_back(
  const Column *column, size_t row, const char *before, const char *after, char *D, char *dqk,
  char *dgates, char *dx, int add
) {
  const Position p = position_of(column, row, before);
  const size_t bytes = (size_t)column->padded * 4;
  const f32x16 dy = load1(column->dout + row * column->outLine);
  f32x16 sum = 0.0f;
  for (size_t i = 0; i < bytes; i += ROW) {
    const f32x16 d = fma16(load16(p.q + i), dy, load16(D + i));
    store16(D + i, d);
    sum = fma16(d, load16(p.k + i), sum);
  }
  const float ddelta = sum_lanes(sum);
  const f32x16 du = -p.beta * ddelta, delta = p.beta * p.rest, gamma = p.gamma;
  sum = 0.0f;
  for (size_t i = 0; i < bytes; i += ROW) {
    const f32x16 s = load16(before + i), d = load16(D + i);
    put16(dqk + i, load16(after + i) * dy, add);
    put16(dqk + bytes + i, fma16(s * gamma, du, d * delta), add);
    const f32x16 through = fma16(load16(p.k + i), du, d);
    sum = fma16(s, through, sum);
    store16(D + i, through * gamma);
  }
  char *const dbeta = dgates + column->gateLine / 2;
  store1(dgates, (add ? load1(dgates) : 0) + sum_lanes(sum));
  store1(dbeta, (add ? load1(dbeta) : 0) + ddelta * p.rest);
  store1(dx, p.beta * ddelta * (p.sigma * (1.0f + p.x * (1.0f - p.sigma))));
}

/**
 * Unit: a value head, column by column. dqk: [rows, valueHeads, 2, padded]; dgates as gates.
 * Scratch: the states where segments end, the derivatives by them, and the states of a segment.
 */
KERNEL(delta_rule_backward,
  x, dout, qk, gates, dqk, dgates, dx, segments, segmentCount, states, longest, keyHeads,
  valueHeads, keyDim, valueDim
) {
  const int heads = args->valueHeads, keyHeads = args->keyHeads, width = args->valueDim;
  const int padded = round_up16(args->keyDim), segmentCount = args->segmentCount;
  const size_t bytes = (size_t)padded * 4, all = bytes * (size_t)args->states;
  const Stretch *const segments = (const Stretch *)AT(segments);
  char *const ends = scratch, *const derivatives = ends + all;
  char *const D = derivatives + all, *const history = D + bytes;
  for (int unit = begin; unit < end; unit++) {
    for (int j = 0; j < width; j++) {
      const size_t place = (size_t)unit * width + j, value = VALUES(args) + place;
      const char *const q = AT(qk) + unit * keyHeads / heads * bytes;
      const Column column = {
        .x = AT(x) + value * 4,
        .q = q,
        .k = q + keyHeads * bytes,
        .gates = AT(gates) + (size_t)unit * 4,
        .dout = AT(dout) + place * 4,
        .xLine = WIDTH(args) * 4,
        .qkLine = 2 * keyHeads * bytes,
        .gateLine = (size_t)heads * 8,
        .outLine = (size_t)heads * width * 4,
        .padded = padded,
      };
      zero_rows(derivatives, all / ROW);
      for (int s = 0; s < segmentCount; s++) {
        const Stretch segment = segments[s];
        if (segment.to == NO_STATE) continue;
        char *const state = ends + segment.to * bytes;
        zero_rows(state, bytes / ROW);
        for (uint32_t row = segment.begin; row < segment.end; row++) {
          column_step(&column, row, state, state);
        }
      }
      for (int s = segmentCount - 1; s >= 0; s--) {
        const Stretch segment = segments[s];
        const int length = segment.end - segment.begin;
        zero_rows(D, bytes / ROW);
        zero_rows(history, bytes / ROW);
        for (size_t i = 0; i < bytes; i += ROW) {
          if (segment.to != NO_STATE) {
            store16(D + i, load16(derivatives + segment.to * bytes + i));
          }
          if (segment.from != NO_STATE) {
            store16(history + i, load16(ends + segment.from * bytes + i));
          }
        }
        for (int t = 0; t < length; t++) {
          char *const before = history + t * bytes;
          column_step(&column, segment.begin + t, before, before + bytes);
        }
        for (int t = length - 1; t >= 0; t--) {
          const size_t row = segment.begin + t;
          const char *const before = history + t * bytes;
          column_back(
            &column, row, before, before + bytes, D,
            AT(dqk) + (row * heads + unit) * 2 * bytes,
            AT(dgates) + row * column.gateLine + (size_t)unit * 4,
            AT(dx) + row * column.xLine + value * 4, j > 0
          );
        }
        if (segment.from == NO_STATE) continue;
        char *const start = derivatives + segment.from * bytes;
        for (size_t i = 0; i < bytes; i += ROW) {
          store16(start + i, load16(start + i) + load16(D + i));
        }
      }
    }
  }
}

/** Unit: a row. Sums the derivatives over the value heads of a key head. Scratch: a key. */
KERNEL(delta_prepare_backward,
  x, a, b, aLog, dtBias, gates, dqk, dgates, dx, da, db, dlog, keyHeads, valueHeads, keyDim,
  valueDim
) {
  const int heads = args->keyHeads, n = args->keyDim, padded = round_up16(n);
  const int values = args->valueHeads, shared = values / heads;
  const size_t bytes = (size_t)padded * 4;
  const float root = 1.0f / __builtin_elementwise_sqrt((float)n);
  for (int row = begin; row < end; row++) {
    for (int head = 0; head < 2 * heads; head++) {
      const size_t at = ((size_t)row * WIDTH(args) + (size_t)head * n) * 4;
      const char *const x = AT(x) + at;
      char *const dx = AT(dx) + at;
      const int part = head / heads, first = head % heads * shared;
      const float inverse = inverse_norm(x, n), scale = part == 0 ? root : 1.0f;
      const char *const from = AT(dqk) + (((size_t)row * values + first) * 2 + part) * bytes;
      f32x16 sum = 0.0f;
      for (int i = 0; i < n; i += LANES) {
        const f32x16 a = load_lanes(x + i * 4, min(LANES, n - i));
        f32x16 d = load16(from + i * 4);
        for (int j = 1; j < shared; j++) d += load16(from + j * 2 * bytes + i * 4);
        store16(scratch + i * 4, d * scale);
        sum = fma16(a * sigmoid(a) * inverse, d * scale, sum);
      }
      const float along = sum_lanes(sum);
      for (int i = 0; i < n; i += LANES) {
        const int count = min(LANES, n - i);
        const f32x16 a = load_lanes(x + i * 4, count), s = sigmoid(a);
        const f32x16 d = (load16(scratch + i * 4) - a * s * inverse * along) * inverse;
        store_lanes(dx + i * 4, d * (s * (1.0f + a * (1.0f - s))), count);
      }
    }
    ONE_BY_ONE for (int head = 0; head < values; head++) {
      const size_t at = ((size_t)row * values + head) * 4, own = (size_t)head * 4;
      const size_t gate = (size_t)row * 2 * values * 4 + own, beta = gate + (size_t)values * 4;
      const float shifted = load1(AT(a) + at) + load1(AT(dtBias) + own);
      const float rate = exp1(load1(AT(aLog) + own));
      const float dg = load1(AT(dgates) + gate) * load1(AT(gates) + gate);
      const float b = load1(AT(gates) + beta);
      store1(AT(dlog) + at, -dg * rate * softplus(shifted));
      store1(AT(da) + at, -dg * rate * sigmoid1(shifted));
      store1(AT(db) + at, load1(AT(dgates) + beta) * b * (1.0f - b));
    }
  }
}

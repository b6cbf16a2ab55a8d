// The fused head: head_forward and head_dlogits of kernels/ops/head/wasm.as.ts, which explains the
// running values and the arguments.
#include "blocks.h"
#include "eights.h"
#include "exp.h"

/** Number of rows in a work unit of the forward. */
#define UNIT_ROWS 48
/** Max number of units that are done together: their logits fit the second-level cache. */
#define UNITS_TOGETHER 3
/** Panels of V that are multiplied by all rows of these units. */
#define PANELS_AT_ONCE 4
/** Bytes between rows of logits, so that they are not a multiple of 4 KB apart (max_rows). */
#define PADDING CACHE_LINE
/** Parts of a thread's scratch before the logits (HEAD_BYTES of wasm.as.ts). */
#define HEAD_BYTES (64 + UNIT_ROWS * 64)

/** Running values of a row: the maximum, Σ e^(z−m) and Σ e^(z−m)·(z−m). */
typedef struct {
  double m, l, s;
} Stats;

/** The sum of eight lanes in the order of sum4 of wasm.as.ts. */
INLINE double sum8(f32x8 x) {
  const f32x4 low = __builtin_shufflevector(x, x, 0, 1, 2, 3);
  const f32x4 high = __builtin_shufflevector(x, x, 4, 5, 6, 7), y = low + high;
  return (double)y[0] + (double)y[1] + (double)y[2] + (double)y[3];
}

static float row_max(const char *z, int width) {
  float high = load1(z);
  int i = 0;
  if (width >= LANES) {
    f32x16 a = load16(z);
    for (i = LANES; i + LANES <= width; i += LANES) a = max16(load16(z + (size_t)i * 4), a);
    UNROLL for (int t = 0; t < LANES; t++) high = a[t] > high ? a[t] : high;
  }
  ONE_BY_ONE for (; i < width; i++) {
    const float x = load1(z + (size_t)i * 4);
    high = x > high ? x : high;
  }
  return high;
}

/** Σ e^(z−m) and Σ e^(z−m)·(z−m) of a row; with `keep` the logits become e^(z−m). */
INLINE void row_sums(char *z, int width, float m, const int keep, double *l, double *s) {
  f32x8 ls = 0.0f, ss = 0.0f;
  int i = 0;
  for (; i + LANES <= width; i += LANES, z += ROW) {
    const f32x16 x = load16(z) - (f32x16)m, e = exp16(x);
    if (keep) store16(z, e);
    ls = ls + low8(e);
    ss = __builtin_elementwise_fma(low8(e), low8(x), ss);
    ls = ls + high8(e);
    ss = __builtin_elementwise_fma(high8(e), high8(x), ss);
  }
  if (i + 8 <= width) {
    const f32x16 x = load8(z) - (f32x16)m, e = exp16(x);
    if (keep) store8(z, e);
    ls = ls + low8(e);
    ss = __builtin_elementwise_fma(low8(e), low8(x), ss);
    i += 8;
    z += 32;
  }
  *l += sum8(ls);
  *s += sum8(ss);
  ONE_BY_ONE for (; i < width; i++, z += 4) {
    const float x = load1(z) - m, e = exp1(x);
    if (keep) store1(z, e);
    *l += (double)e;
    *s += (double)e * (double)x;
  }
}

/** x ← factor·x, `count` elements. */
static void scale_row(char *x, int count, float factor) {
  for (; count >= LANES; count -= LANES, x += ROW) store16(x, (f32x16)factor * load16(x));
  ONE_BY_ONE for (; count > 0; count--, x += 4) store1(x, factor * load1(x));
}

typedef struct {
  const uint32_t *pairStart, *targets;
  char *logp;
} Pairs;

/**
 * Merges a row's logits of the columns first … first + width into its running values, and stores
 * those of targets in `logp`. With a mean ([d]; else NULL) it also replaces the logits by e^(z−m),
 * and scales the mean over the earlier columns to the new maximum.
 */
static void head_row(
  char *z, int width, int first, Stats *stats, const Pairs *p, int row, char *mean, int d
) {
  for (uint32_t pair = p->pairStart[row]; pair < p->pairStart[row + 1]; pair++) {
    const int column = (int)p->targets[pair] - first;
    if (column >= 0 && column < width) {
      store1(p->logp + (size_t)pair * 4, load1(z + (size_t)column * 4));
    }
  }
  const float high = row_max(z, width);
  float m = high;
  double l = 0, s = 0;
  if (first > 0) {
    const float before = (float)stats->m;
    m = high > before ? high : before;
    const double shift = stats->m - (double)m;
    const float factor = exp1((float)shift);
    l = stats->l;
    s = (double)factor * (stats->s + shift * l);
    l *= (double)factor;
    if (mean != NULL && factor != 1) scale_row(mean, d, factor);
  }
  if (mean != NULL) row_sums(z, width, m, 1, &l, &s);
  else row_sums(z, width, m, 0, &l, &s);
  stats->m = m;
  stats->l = l;
  stats->s = s;
}

/** The arguments of head_units in wasm.as.ts. */
typedef struct {
  const char *hidden, *panels, *values, *xa, *loraPanels;
  char *mean;
  Stats *stats;
  Pairs pairs;
  int rows, firstColumn, endColumn, d, chunk, kBlock, chunkBlock, r, rBlock;
  float alpha, loraAlpha;
} Head;

/**
 * out [rows, columns] = (with `add` +=) alpha · S · V of some units, with V packed. A few panels of
 * V at a time are multiplied by all rows: V comes from a cache of all cores, or from memory.
 */
static void multiply_units(
  const char *s, size_t sStep, const char *v, char *out, size_t outStep, int rows, int columns,
  int k, int kBlock, float alpha, int add
) {
  for (int first = 0; first < columns; first += PANELS_AT_ONCE * LANES) {
    const char *panels = v + (size_t)first * k * 4;
    const int width = min(PANELS_AT_ONCE * LANES, columns - first);
    for (int row = 0; row < rows; row += UNIT_ROWS) {
      multiply_packed(
        s + (size_t)row * sStep, sStep, panels, out + (size_t)row * outStep + (size_t)first * 4,
        outStep, min(UNIT_ROWS, rows - row), width, k, kBlock, UNIT_ROWS / TILE_ROWS, alpha, add, NULL
      );
    }
  }
}

/** The units [begin, end). Neighbouring units are done together, so that V is read less often. */
static void head_units(const Head *h, int begin, int end, char *z) {
  const int d = h->d, valuePanels = ceil_div(d, LANES);
  const size_t rowBytes = (size_t)d * 4, low = (size_t)h->r * 4;
  for (int unit = begin, units; unit < end; unit += units) {
    units = ceil_div(end - unit, ceil_div(end - unit, UNITS_TOGETHER));
    const int row = unit * UNIT_ROWS, count = min(units * UNIT_ROWS, h->rows - row);
    char *means = h->mean == NULL ? NULL : h->mean + (size_t)row * rowBytes;
    for (int first = h->firstColumn; first < h->endColumn; first += h->chunk) {
      const int width = min(h->chunk, h->endColumn - first), done = first - h->firstColumn;
      const size_t step = (size_t)h->chunk * 4 + PADDING;
      multiply_units(
        h->hidden + (size_t)row * rowBytes, rowBytes, h->panels + (size_t)done * rowBytes, z, step,
        count, width, d, h->kBlock, h->alpha, 0
      );
      if (h->r > 0) {
        multiply_units(
          h->xa + (size_t)row * low, low, h->loraPanels + (size_t)done * low, z, step, count, width,
          h->r, h->rBlock, h->loraAlpha, 1
        );
      }
      for (int i = 0; i < count; i++) {
        head_row(
          z + (size_t)i * step, width, first, h->stats + row + i, &h->pairs, row + i,
          means == NULL ? NULL : means + (size_t)i * rowBytes, d
        );
      }
      if (means == NULL) continue;
      multiply_units(
        z, step, h->values + (size_t)done * valuePanels * ROW, means, rowBytes, count, d, width,
        h->chunkBlock, 1, first > 0
      );
    }
  }
}

KERNEL void head_forward(
  char *base, uint32_t hidden, uint32_t panels, uint32_t values, uint32_t stats, int rows,
  int firstColumn, int endColumn, int d, float alpha, uint32_t pairStart, uint32_t targets,
  uint32_t logp, uint32_t mean, int chunk, int kBlock, int chunkBlock, int begin, int end,
  uint32_t scratch
) {
  const Head h = {
    .hidden = base + hidden, .panels = base + panels, .values = base + values,
    .mean = mean == 0 ? NULL : base + mean, .stats = (Stats *)(base + stats),
    .pairs = {
      .pairStart = (const uint32_t *)(base + pairStart),
      .targets = (const uint32_t *)(base + targets), .logp = base + logp,
    },
    .rows = rows, .firstColumn = firstColumn, .endColumn = endColumn, .d = d, .chunk = chunk,
    .kBlock = kBlock, .chunkBlock = chunkBlock, .alpha = alpha,
  };
  head_units(&h, begin, end, base + scratch + HEAD_BYTES);
}

KERNEL void head_forward_lora(
  char *base, uint32_t hidden, uint32_t panels, uint32_t stats, int rows, int firstColumn,
  int endColumn, int d, float alpha, uint32_t pairStart, uint32_t targets, uint32_t logp, int chunk,
  int kBlock, uint32_t xa, uint32_t loraPanels, int r, int rBlock, float loraAlpha, int begin,
  int end, uint32_t scratch
) {
  const Head h = {
    .hidden = base + hidden, .panels = base + panels, .stats = (Stats *)(base + stats),
    .pairs = {
      .pairStart = (const uint32_t *)(base + pairStart),
      .targets = (const uint32_t *)(base + targets), .logp = base + logp,
    },
    .rows = rows, .firstColumn = firstColumn, .endColumn = endColumn, .d = d, .chunk = chunk,
    .kBlock = kBlock, .alpha = alpha, .xa = base + xa, .loraPanels = base + loraPanels, .r = r,
    .rBlock = rBlock, .loraAlpha = loraAlpha,
  };
  head_units(&h, begin, end, base + scratch + HEAD_BYTES);
}

KERNEL void head_merge(
  char *base, uint32_t z, int width, int first, int row, uint32_t stats, uint32_t pairStart,
  uint32_t targets, uint32_t logp, int begin, int end, uint32_t scratch
) {
  (void)scratch;
  const Pairs pairs = {
    .pairStart = (const uint32_t *)(base + pairStart),
    .targets = (const uint32_t *)(base + targets), .logp = base + logp,
  };
  Stats *running = (Stats *)(base + stats);
  for (int r = begin; r < end; r++) {
    char *from = base + z + (size_t)r * width * 4;
    head_row(from, width, first, running + row + r, &pairs, row + r, NULL, 0);
  }
}

KERNEL void head_dlogits(
  char *base, uint32_t z, int width, int first, int row, uint32_t pairStart, uint32_t targets,
  uint32_t lse, uint32_t entropy, uint32_t dlogp, uint32_t dentropy, int begin, int end,
  uint32_t scratch
) {
  (void)scratch;
  const uint32_t *starts = (const uint32_t *)(base + pairStart);
  const uint32_t *tokens = (const uint32_t *)(base + targets);
  const float *slopes = (const float *)(base + dlogp);
  for (int r = begin; r < end; r++) {
    char *from = base + z + (size_t)r * width * 4;
    const int index = row + r;
    double sum = 0;
    for (uint32_t pair = starts[index]; pair < starts[index + 1]; pair++) sum += slopes[pair];
    const float alpha = (float)sum;
    const float b = dentropy == 0 ? 0 : load1(base + dentropy + (size_t)index * 4);
    const float shift = load1(base + lse + (size_t)index * 4);
    // dz = p·(−α − b·(x + H)), x = z − lse
    const float constant = -alpha - b * load1(base + entropy + (size_t)index * 4);
    const f32x16 shifts = shift, constants = constant, slope = -b;
    char *at = from;
    int left = width;
    for (; left >= LANES; left -= LANES, at += ROW) {
      const f32x16 x = load16(at) - shifts;
      store16(at, exp16(x) * fma16(slope, x, constants));
    }
    if (left >= 8) {
      const f32x16 x = load8(at) - shifts;
      store8(at, exp16(x) * fma16(slope, x, constants));
      left -= 8;
      at += 32;
    }
    ONE_BY_ONE for (; left > 0; left--, at += 4) {
      const float x = load1(at) - shift;
      store1(at, exp1(x) * (constant - b * x));
    }
    for (uint32_t pair = starts[index]; pair < starts[index + 1]; pair++) {
      const int column = (int)tokens[pair] - first;
      if (column < 0 || column >= width) continue;
      char *to = from + (size_t)column * 4;
      store1(to, load1(to) + slopes[pair]);
    }
  }
}

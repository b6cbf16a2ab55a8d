// The fused head (kernels/ops/head/spec.ts). Forward: for a block of rows a thread goes through the
// vocabulary chunk by chunk. It computes logits into scratch, makes one pass over each row, and
// with `mean` a second matrix product, like attention does with its values. The running values of a
// row, in float64, are the maximum m, l = Σ e^(z−m) and s = Σ e^(z−m)·(z−m). The shift by m keeps
// the entropy exact for large logits. Backward: a pass over a chunk of logits, or from the mean.
#include "blocks.h"
#include "eights.h"
#include "exp.h"
#include "kernel.h"
#include "log64.h"
#include "rows.h"

/** Number of rows in a work unit of the forward. */
#define UNIT_ROWS 48
/** Max number of units that are done together: their logits fit the second-level cache. */
#define UNITS_TOGETHER 3
/** Panels of V that are multiplied by all rows of these units. */
#define PANELS_AT_ONCE 4
/** Bytes between rows of logits, so that they are not a multiple of 4 KB apart (max_rows). */
#define PADDING CACHE_LINE
/** Parts of a thread's scratch before the logits. */
#define HEAD_BYTES (64 + UNIT_ROWS * 64)

/** Running values of a row: the maximum, Σ e^(z−m) and Σ e^(z−m)·(z−m). */
typedef struct {
  double m, l, s;
} Stats;

/** The sum of eight lanes. */
INLINE double sum8(f32x8 x) {
  x = settled8(x);
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
    a = settled(a);
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
    ss = fma8(low8(e), low8(x), ss);
    ls = ls + high8(e);
    ss = fma8(high8(e), high8(x), ss);
  }
  if (i + 8 <= width) {
    const f32x16 x = load8(z) - (f32x16)m, e = exp16(x);
    if (keep) store8(z, e);
    ls = ls + low8(e);
    ss = fma8(low8(e), low8(x), ss);
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

/** z ← cap·tanh(z/cap), `count` logits. */
static void cap_row(char *z, int count, float cap) {
  for (; count >= LANES; count -= LANES, z += ROW) store16(z, soft_cap16(load16(z), cap));
  ONE_BY_ONE for (; count > 0; count--, z += 4) store1(z, soft_cap16((f32x16)load1(z), cap)[0]);
}

/** The arguments of head_units. */
typedef struct {
  const char *hidden, *panels, *values, *xa, *loraPanels;
  char *mean;
  Stats *stats;
  Pairs pairs;
  int rows, firstColumn, endColumn, d, chunk, kBlock, chunkBlock, r, rBlock;
  float alpha, loraAlpha, cap;
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
        if (h->cap != 0) cap_row(z + (size_t)i * step, width, h->cap);
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

/**
 * The running values of rows, the logits of their targets in `logp`, and with `mean` (else 0)
 * Σ_v e^(z_v−m)·weight_v; head_finish makes the results of them. Unit: UNIT_ROWS rows. One call
 * does the columns from `firstColumn` to `endColumn` of the vocabulary, `chunk` (a multiple of 16)
 * at a time; between the calls the running values of the rows are kept in `stats`.
 * `panels` are these columns of the weight, packed for the first product; `values` are the same,
 * packed chunk by chunk as rows of the second. `kBlock` and `chunkBlock` are the numbers of terms
 * that the two products sum in order. `softCap`: of the logits; 0 = none. Of an adapter (r = 0:
 * none), xa [rows, r] times `loraPanels` (its B, packed like `panels`) times loraAlpha is added to
 * the logits; `rBlock` is like kBlock.
 * Scratch: HEAD_BYTES and UNIT_ROWS · chunk floats.
 */
KERNEL(head_forward,
  hidden, panels, values, stats, rows, firstColumn, endColumn, d, alpha, pairStart, targets, logp,
  mean, chunk, kBlock, chunkBlock, xa, loraPanels, r, rBlock, loraAlpha, softCap
) {
  const Head h = {
    .hidden = AT(hidden), .panels = AT(panels), .values = AT(values),
    .mean = args->mean == 0 ? NULL : AT(mean), .stats = (Stats *)(AT(stats)),
    .pairs = {
      .pairStart = (const uint32_t *)AT(pairStart),
      .targets = (const uint32_t *)AT(targets), .logp = AT(logp),
    },
    .rows = args->rows, .firstColumn = args->firstColumn, .endColumn = args->endColumn,
    .d = args->d, .chunk = args->chunk, .kBlock = args->kBlock, .chunkBlock = args->chunkBlock,
    .alpha = args->alpha, .xa = AT(xa), .loraPanels = AT(loraPanels), .r = args->r,
    .rBlock = args->rBlock, .loraAlpha = args->loraAlpha, .cap = args->softCap,
  };
  head_units(&h, begin, end, scratch + HEAD_BYTES);
}

/**
 * Merges a chunk of logits into the running values of its rows, like head_forward: z [*, width] are
 * the logits of the rows from `row` on, for the columns from `first` on. Unit: a row of the chunk.
 * Scratch: SUMS_BYTES.
 */
KERNEL(head_merge, z, width, first, row, stats, pairStart, targets, logp) {
  char *const z = AT(z);
  const int width = args->width, first = args->first, row = args->row;
  const Pairs pairs = {
    .pairStart = (const uint32_t *)AT(pairStart),
    .targets = (const uint32_t *)AT(targets), .logp = AT(logp),
  };
  Stats *running = (Stats *)(AT(stats));
  for (int r = begin; r < end; r++) {
    char *from = z + (size_t)r * width * 4;
    head_row(from, width, first, running + row + r, &pairs, row + r, NULL, 0);
  }
}

/** Replaces a chunk of logits by the derivative of the loss by them. Unit: a row of the chunk. */
KERNEL(head_dlogits, z, width, first, row, pairStart, targets, lse, entropy, dlogp, dentropy) {
  char *const z = AT(z), *const lse = AT(lse), *const entropy = AT(entropy),
    *const dentropy = AT(dentropy);
  const int width = args->width, first = args->first, row = args->row;
  const uint32_t *starts = (const uint32_t *)AT(pairStart);
  const uint32_t *tokens = (const uint32_t *)AT(targets);
  const float *slopes = (const float *)AT(dlogp);
  for (int r = begin; r < end; r++) {
    char *from = z + (size_t)r * width * 4;
    const int index = row + r;
    double sum = 0;
    for (uint32_t pair = starts[index]; pair < starts[index + 1]; pair++) sum += slopes[pair];
    const float alpha = (float)sum;
    const float b = args->dentropy == 0 ? 0 : load1(dentropy + (size_t)index * 4);
    const float shift = load1(lse + (size_t)index * 4);
    // dz = p·(−α − b·(x + H)), x = z − lse
    const float constant = -alpha - b * load1(entropy + (size_t)index * 4);
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

/**
 * lse, entropy, log-probabilities and mean (or 0) of each row from its running values `stats`.
 * Unit: a row.
 */
KERNEL(head_finish, stats, pairStart, logp, lse, entropy, mean, d) {
  const Stats *const stats = (const Stats *)AT(stats);
  const uint32_t *const pairStart = (const uint32_t *)AT(pairStart);
  float *const logp = (float *)AT(logp), *const lse = (float *)AT(lse),
    *const entropy = (float *)AT(entropy);
  const int d = args->d;
  char *const mean = args->mean == 0 ? NULL : AT(mean);
  for (int row = begin; row < end; row++) {
    const Stats *from = stats + row;
    const double logL = log64(from->l), total = from->m + logL;
    lse[row] = (float)total;
    entropy[row] = (float)(logL - from->s / from->l);
    for (uint32_t pair = pairStart[row]; pair < pairStart[row + 1]; pair++) {
      logp[pair] = (float)((double)logp[pair] - total);
    }
    if (mean != NULL) scale_row(mean + (size_t)row * d * 4, d, (float)(1 / from->l));
  }
}

/** out ← out + factor·x, `count` elements. */
static void add_row(char *out, const char *x, int count, float factor) {
  for (; count >= LANES; count -= LANES, x += ROW, out += ROW) {
    store16(out, fma16((f32x16)factor, load16(x), load16(out)));
  }
  if (count >= 8) {
    store_half(out, fma8((f32x8)factor, load_half(x), load_half(out)));
    count -= 8;
    x += 32;
    out += 32;
  }
  ONE_BY_ONE for (; count > 0; count--, x += 4, out += 4) {
    store1(out, load1(out) + factor * load1(x));
  }
}

/**
 * dhidden = scale·(Σ_pairs dlogp·weight[target] − (Σ_pairs dlogp)·mean). Unit: a row. `type` is
 * that of a stored weight, or −1. Scratch for a stored weight: d floats, rounded up to 64 bytes,
 * and that of widen_row.
 */
KERNEL(head_from_mean, mean, weight, type, pairStart, targets, dlogp, dhidden, d, scale) {
  const char *const mean = AT(mean), *const weight = AT(weight);
  const uint32_t *const pairStart = (const uint32_t *)AT(pairStart);
  const uint32_t *const targets = (const uint32_t *)AT(targets);
  const float *const dlogp = (const float *)AT(dlogp);
  char *const dhidden = AT(dhidden);
  const int type = args->type, d = args->d;
  const float scale = args->scale;
  const size_t bytes = (size_t)d * 4;
  for (int row = begin; row < end; row++) {
    char *to = dhidden + (size_t)row * bytes;
    double sum = 0;
    for (uint32_t pair = pairStart[row]; pair < pairStart[row + 1]; pair++) sum += dlogp[pair];
    zero_rows(to, bytes / ROW);
    for (size_t i = bytes / ROW * ROW; i < bytes; i += 4) store1(to + i, 0);
    add_row(to, mean + (size_t)row * bytes, d, -(float)sum * scale);
    for (uint32_t pair = pairStart[row]; pair < pairStart[row + 1]; pair++) {
      const char *from = weight + targets[pair] * bytes;
      if (type >= 0) {
        char *work = scratch + ((bytes + 63) & ~(size_t)63);
        widen_row(type, weight, d, (int)targets[pair], scratch, work);
        from = scratch;
      }
      add_row(to, from, d, dlogp[pair] * scale);
    }
  }
}

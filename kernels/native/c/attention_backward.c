// Gradient of attention over a packed batch (kernels/ops/attention/spec.ts).
// Work unit: a group × one key head; the group is named by its first segment, the prompt. It holds
// everything that dq, dk and dv of its rows depend on, so S and dP are computed once for all three.
// The loops run over the key tiles in order, then over the rows that attend to the tile, then over
// the query heads. Each element of a gradient is one chain of multiply-adds in that order.
#include "exp.h"
#include "pack.h"
#include "kernel.h"

typedef struct {
  const char *q, *k, *v, *out, *lse, *dout;
  char *dq, *dk, *dv;
  const Segment *segments;
  const uint32_t *rowSegment;
  int heads, kvHeads, headDim, group, head, window;
  float scale, cap;
  size_t queryStride, keyStride;
  /** In the scratch: P and dS [TILE][TILE], lse and δ of the queries, and tables of offsets. */
  char *p, *ds, *lses, *deltas, *offsets, *keyOffsets, *lseOffsets;
  /** Tiles: transposed (T), or rows of `width` bytes, which are padded with zeros. */
  char *keysT, *valuesT, *keys, *dkeys, *dvalues, *queries, *douts, *dqueries;
  size_t width;
  /** Counts of keys that the window hides. */
  int32_t *hidden;
} Gradient;

/** Bytes that are left free behind the tiles. */
#define PAST_END 512

static void divide_scratch(Gradient *g, char *scratch) {
  const size_t tile = tile_bytes(g->headDim);
  g->width = (size_t)round_up16(g->headDim) * 4;
  g->p = scratch;
  g->ds = scratch + SCORES;
  g->lses = g->ds + SCORES;
  g->deltas = g->lses + TILE_ROW;
  g->offsets = g->deltas + TILE_ROW;
  g->keyOffsets = g->offsets + OFFSETS;
  g->lseOffsets = g->keyOffsets + OFFSETS;
  char **const tiles[] = {
    &g->keysT, &g->valuesT, &g->keys, &g->dkeys, &g->dvalues, &g->queries, &g->douts, &g->dqueries,
  };
  char *at = g->lseOffsets + OFFSETS;
  for (int i = 0; i < 8; i++, at += tile) *tiles[i] = at;
  g->hidden = (int32_t *)(at + PAST_END);
}

/** A dot product: four lanes, then what is left. */
static float dot(const char *a, const char *b, int n) {
  f32x4 s = 0.0f;
  for (; n >= 4; n -= 4, a += 16, b += 16) {
    s = fma4(*(const loose_f32x4 *)a, *(const loose_f32x4 *)b, s);
  }
  float sum = (s[0] + s[1]) + (s[2] + s[3]);
  ONE_BY_ONE for (; n > 0; n--, a += 4, b += 4) sum += load1(a) * load1(b);
  return sum;
}

/**
 * For each of `count` rows from `row` on: hidden[row] = the number of keys from `key` on that the
 * window hides from it, possibly more than there are. Returns the smallest of them.
 */
static int hidden_keys(const Gradient *g, int row, int count, int key) {
  int smallest = INT32_MAX;
  int32_t *hidden = g->hidden;
  for (const int end = row + count; row < end; row++, hidden++) {
    const Segment *segment = g->segments + g->rowSegment[row];
    const int inSegment = row + 1 - segment->begin;
    const int low = key < segment->begin
      ? segment->prefixEnd - max(g->window - inSegment, 0)
      : row + 1 - min(g->window, inSegment);
    *hidden = max(low - key, 0);
    smallest = min(smallest, *hidden);
  }
  return smallest;
}

/** S with its cap → P = e^(S − lse), and dP → dS = P·(dP − δ), times the cap's slope. */
INLINE void gradients16(const Gradient *g, char *p, char *ds, f32x16 m, f32x16 d, f32x16 out[2]) {
  f32x16 score = load16(p);
  if (g->cap != 0) score = soft_cap16(score, g->cap);
  out[0] = exp16(score - m);
  out[1] = out[0] * (load16(ds) - d);
  if (g->cap != 0) out[1] *= soft_cap_slope(score, g->cap);
}

/** P and dS of query i; zeros behind the `visible` keys. */
static void query_gradients(const Gradient *g, int i, int visible) {
  char *p = g->p + (size_t)i * TILE_ROW, *ds = g->ds + (size_t)i * TILE_ROW;
  const f32x16 m = load1(g->lses + (size_t)i * 4), d = load1(g->deltas + (size_t)i * 4);
  const f32x16 zero = 0.0f;
  int j = 0;
  for (; j + LANES <= visible; j += LANES, p += ROW, ds += ROW) {
    f32x16 both[2];
    gradients16(g, p, ds, m, d, both);
    store16(p, both[0]);
    store16(ds, both[1]);
  }
  if (j < visible) {
    const i32x16 seen = first_lanes(visible - j);
    f32x16 both[2];
    gradients16(g, p, ds, m, d, both);
    store16(p, seen ? both[0] : zero);
    store16(ds, seen ? both[1] : zero);
    j += LANES;
    p += ROW;
    ds += ROW;
  }
  // The register tile that this query is in reads at most 5 keys more.
  if (j < min(visible + 6, TILE)) {
    store16(p, zero);
    store16(ds, zero);
  }
}

/** The scores of `rows` queries from query i on with the first `reach` keys. */
static void gradient_scores(const Gradient *g, int i, int rows, int reach) {
  Product p = {
    .sRow = g->width, .sTerm = 4, .vTerm = TILE_ROW, .vPanel = ROW, .cRow = TILE_ROW,
    .cPanel = ROW, .k = g->headDim,
  };
  const int panels = ceil_div(reach, LANES);
  p.s = g->queries + (size_t)i * g->width;
  p.v = g->keysT;
  p.c = g->p + (size_t)i * TILE_ROW;
  chains(rows, panels, &p);
  p.s = g->douts + (size_t)i * g->width;
  p.v = g->valuesT;
  p.c = g->ds + (size_t)i * TILE_ROW;
  chains(rows, panels, &p);
}

/** dq of `rows` queries from query i on += (without `add` =) dS·K of the first `reach` keys. */
static void query_products(const Gradient *g, int i, int rows, int reach, int add) {
  Product p = {
    .s = g->ds + (size_t)i * TILE_ROW, .sRow = TILE_ROW, .sTerm = 4, .v = g->keys,
    .vTerm = g->width, .vPanel = ROW, .c = g->dqueries + (size_t)i * g->width, .cRow = g->width,
    .cPanel = ROW, .k = reach, .add = add,
  };
  chains(rows, ceil_div(g->headDim, LANES), &p);
}

/** Queries (or keys) that end (or begin) at the same key (or query), as in the WASM kernel. */
#define TOGETHER 6

#if MAX_PANELS == 1
#define two_chains(rows, a, b) (chains(rows, 1, a), chains(rows, 1, b))
#else
/**
 * c += s·v of two products of one panel and the same k, whose chains run beside one another: six
 * chains do not fill the time that an addition takes.
 */
INLINE void add_both(const int rows, const Product *a, const Product *b) {
  const Product *const both[2] = { a, b };
  f32x16 sums[2][TOGETHER];
  const char *s[2], *v[2];
  UNROLL for (int t = 0; t < 2; t++) {
    s[t] = both[t]->s;
    v[t] = both[t]->v;
    UNROLL for (int i = 0; i < rows; i++) {
      sums[t][i] = load16(both[t]->c + (size_t)i * both[t]->cRow);
    }
  }
  const size_t row = a->sRow, term = a->sTerm, vTerm = a->vTerm;
  ONE_BY_ONE for (int k = a->k; k > 0; k--) {
    UNROLL for (int t = 0; t < 2; t++) {
      const f32x16 w = load16(v[t]);
      UNROLL for (int i = 0; i < rows; i++) {
        sums[t][i] = fma16((f32x16)load1(s[t] + (size_t)i * row), w, sums[t][i]);
      }
      s[t] += term;
      v[t] += vTerm;
    }
  }
  UNROLL for (int t = 0; t < 2; t++) {
    UNROLL for (int i = 0; i < rows; i++) {
      store16(both[t]->c + (size_t)i * both[t]->cRow, sums[t][i]);
    }
  }
}

/** The same for up to TOGETHER rows; both products have the same steps. */
static __attribute__((noinline)) void two_chains(int rows, const Product *a, const Product *b) {
#define BOTH(rows) case rows: add_both(rows, a, b); return;
  switch (rows) { BOTH(1) BOTH(2) BOTH(3) BOTH(4) BOTH(5) BOTH(6) }
}
#endif

/** dv and dk of `rows` keys from key j on += Pᵀ·dO and dSᵀ·Q of the queries [skip, n). */
static void key_products(const Gradient *g, int j, int rows, int skip, int n) {
  if (skip >= n) return;
  const size_t width = g->width, from = (size_t)j * 4 + (size_t)skip * TILE_ROW;
  const size_t query = (size_t)skip * width, key = (size_t)j * width;
  Product dv = {
    .s = g->p + from, .sRow = 4, .sTerm = TILE_ROW, .v = g->douts + query, .vTerm = width,
    .vPanel = ROW, .c = g->dvalues + key, .cRow = width, .cPanel = ROW, .k = n - skip, .add = 1,
  };
  Product dk = {
    .s = g->ds + from, .sRow = 4, .sTerm = TILE_ROW, .v = g->queries + query, .vTerm = width,
    .vPanel = ROW, .c = g->dkeys + key, .cRow = width, .cPanel = ROW, .k = n - skip, .add = 1,
  };
  const int panels = ceil_div(g->headDim, LANES);
  if (panels == 1 && rows <= TOGETHER) {
    two_chains(rows, &dv, &dk);
  } else {
    chains(rows, panels, &dv);
    chains(rows, panels, &dk);
  }
}

/** Queries whose scores are computed and used together, while the first-level cache holds them. */
#define CHUNK (2 * TOGETHER)

/**
 * P and dS of `n` queries × `count` keys, and their part of dq. `lead` is the first row − the first
 * key; with a window g->hidden says how many keys it hides. Without `add` dq begins with this part.
 */
static void tile_gradients(const Gradient *g, int lead, int n, int count, int add) {
#define REACH(end) min(count, lead + ((end) - 1) / g->group + 1)
  for (int i = 0; i < n; i += CHUNK) {
    const int end = min(i + CHUNK, n);
    gradient_scores(g, i, end - i, REACH(end));
    for (int t = i; t < end; t++) {
      query_gradients(g, t, REACH(t + 1));
      if (g->window != 0) {
        const int keys = min(count, g->hidden[t / g->group]);
        ONE_BY_ONE for (int j = 0; j < keys; j++) {
          store1(g->p + (size_t)t * TILE_ROW + (size_t)j * 4, 0);
          store1(g->ds + (size_t)t * TILE_ROW + (size_t)j * 4, 0);
        }
      }
    }
    // Six queries at a time end at the same key, unless all of them attend to all keys.
    const int step = REACH(i + TOGETHER) == count ? CHUNK : TOGETHER;
    for (int t = i; t < end; t += step) {
      const int last = min(t + step, end);
      query_products(g, t, last - t, REACH(last), add);
    }
  }
#undef REACH
}

/**
 * dk and dv of the keys [key, key + count), and their part of dq, from the rows [key, rowEnd).
 * Without `add` these are the first keys that the rows attend to.
 */
static void key_tile(const Gradient *g, int key, int count, int rowEnd, int add) {
  const int group = g->group, headDim = g->headDim, blockRows = TILE / group;
  const size_t keyOffset = (size_t)key * g->keyStride + (size_t)g->head * headDim * 4;
  pack_transposed(g->k + keyOffset, g->keyOffsets, count, headDim, 1, g->keysT);
  pack_transposed(g->v + keyOffset, g->keyOffsets, count, headDim, 1, g->valuesT);
  copy_rows(g->k + keyOffset, g->keyOffsets, count, headDim, g->scale, g->keys);
  zero_rows(g->dkeys, (size_t)count * g->width / ROW);
  zero_rows(g->dvalues, (size_t)count * g->width / ROW);

  for (int row = key; row < rowEnd; row += blockRows) {
    const int rows = min(rowEnd - row, blockRows), n = rows * group;
    if (g->window != 0 && hidden_keys(g, row, rows, key) >= count) continue;
    const size_t offset =
      (size_t)row * g->queryStride + (size_t)g->head * group * headDim * 4;
    copy_rows(g->q + offset, g->offsets, n, headDim, g->scale, g->queries);
    copy_rows(g->dout + offset, g->offsets, n, headDim, 1, g->douts);
    if (add) copy_rows(g->dq + offset, g->offsets, n, headDim, 1, g->dqueries);
    const char *lse = g->lse + ((size_t)row * g->heads + g->head * group) * 4;
    for (int i = 0; i < n; i++) {
      const size_t at = offset + offset_of(g->offsets, i);
      store1(g->lses + (size_t)i * 4, load1(lse + offset_of(g->lseOffsets, i)));
      store1(g->deltas + (size_t)i * 4, dot(g->dout + at, g->out + at, headDim));
    }
    tile_gradients(g, row - key, n, count, add);
    // Rows before key j do not attend to it. Six keys at a time begin at the same row, unless all
    // rows attend to all keys.
    const int all = (min(row - key + 1, count) / TOGETHER) * TOGETHER;
    const int whole = row - key + 1 >= count ? count : all;
    if (whole > 0) key_products(g, 0, whole, 0, n);
    for (int j = whole; j < count; j += TOGETHER) {
      key_products(g, j, min(TOGETHER, count - j), max(key + j - row, 0) * group, n);
    }
    put_rows(g->dqueries, g->dq + offset, g->offsets, n, headDim);
  }
  put_rows(g->dkeys, g->dk + keyOffset, g->keyOffsets, count, headDim);
  put_rows(g->dvalues, g->dv + keyOffset, g->keyOffsets, count, headDim);
}

/**
 * Units: segmentCount · kvHeads; the key head varies fastest. A unit whose segment has a prefix
 * does nothing, because the unit of its prompt does its keys. `window`, `softCap`: 0 = none.
 * Scratch, in floats: S and dS [TILE][TILE] each; lse, δ and three tables of offsets [TILE] each;
 * ten tiles of TILE × headDim (padded to a multiple of 16); PAST_END bytes; with a window the
 * counts of hidden keys [TILE].
 */
KERNEL(attention_backward,
  q, k, v, out, lse, dout, dq, dk, dv, segments, rowSegment, segmentCount, heads, kvHeads,
  headDim, scale, softCap, window
) {
  const int segmentCount = args->segmentCount, heads = args->heads, kvHeads = args->kvHeads,
    headDim = args->headDim, window = args->window;
  Gradient g = {
    .q = AT(q), .k = AT(k), .v = AT(v), .out = AT(out), .lse = AT(lse),
    .dout = AT(dout), .dq = AT(dq), .dk = AT(dk), .dv = AT(dv),
    .segments = (const Segment *)AT(segments),
    .rowSegment = (const uint32_t *)AT(rowSegment), .heads = heads, .kvHeads = kvHeads,
    .headDim = headDim, .group = heads / kvHeads, .window = window, .scale = args->scale,
    .cap = args->softCap,
    .queryStride = (size_t)heads * headDim * 4, .keyStride = (size_t)kvHeads * headDim * 4,
  };
  divide_scratch(&g, scratch);
  tile_offsets(g.offsets, g.queryStride, (size_t)headDim * 4, g.group);
  tile_offsets(g.keyOffsets, g.keyStride, 0, 1);
  tile_offsets(g.lseOffsets, (size_t)heads * 4, 4, g.group);
  const size_t bytes = (size_t)g.group * headDim * 4;
  for (int unit = begin; unit < end; unit++) {
    const int leader = unit / kvHeads;
    const Segment *segment = g.segments + leader;
    g.head = unit % kvHeads;
    // The branches of an empty prompt are done by units of their own.
    const int first = segment->begin, groupEnd = segment->groupEnd;
    if (first == segment->end || segment->prefixBegin != segment->prefixEnd) continue;
    // With a window, a row's first keys may be in any tile.
    for (int row = first; window != 0 && row < groupEnd; row++) {
      char *to = g.dq + (size_t)row * g.queryStride + (size_t)g.head * bytes;
      size_t at = 0;
      for (; at + ROW <= bytes; at += ROW) store16(to + at, (f32x16)0.0f);
      ONE_BY_ONE for (; at < bytes; at += 4) store1(to + at, 0);
    }
    for (int s = leader; s < segmentCount; s++, segment++) {
      if (segment->begin >= groupEnd && s > leader) break;
      if (s > leader && segment->prefixBegin == segment->prefixEnd) break;
      for (int j = segment->begin; j < segment->end; j += TILE) {
        const int add = window != 0 || j != first;
        key_tile(&g, j, min(segment->end - j, TILE), segment->groupEnd, add);
      }
    }
  }
}

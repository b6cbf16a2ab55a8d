// Gradient of attention over a packed batch: attention_backward of
// kernels/ops/attention/backward.as.ts, which explains the order of the sums and the arguments.
#include "exp.h"
#include "pack.h"

typedef struct {
  const char *q, *k, *v, *out, *lse, *dout;
  char *dq, *dk, *dv;
  const Segment *segments;
  const uint32_t *rowSegment;
  int heads, kvHeads, headDim, group, head, window;
  float scale;
  size_t queryStride, keyStride;
  /** In the scratch: P and dS [TILE][TILE], lse and δ of the queries, and tables of offsets. */
  char *p, *ds, *lses, *deltas, *offsets, *keyOffsets, *lseOffsets;
  /** Tiles, transposed (T) or in panels. */
  char *keysT, *valuesT, *keys, *dkeys, *dvalues, *queriesT, *doutsT, *queries, *douts, *dqueries;
  /** Counts of keys that the window hides. */
  int32_t *hidden;
} Gradient;

/** Bytes that are left free behind the tiles (backward.as.ts). */
#define PAST_END 512

static void divide_scratch(Gradient *g, char *scratch) {
  const size_t tile = tile_bytes(g->headDim);
  g->p = scratch;
  g->ds = scratch + SCORES;
  g->lses = g->ds + SCORES;
  g->deltas = g->lses + TILE_ROW;
  g->offsets = g->deltas + TILE_ROW;
  g->keyOffsets = g->offsets + OFFSETS;
  g->lseOffsets = g->keyOffsets + OFFSETS;
  char **const tiles[] = {
    &g->keysT, &g->valuesT, &g->keys, &g->dkeys, &g->dvalues, &g->queriesT, &g->doutsT,
    &g->queries, &g->douts, &g->dqueries,
  };
  char *at = g->lseOffsets + OFFSETS;
  for (int i = 0; i < 10; i++, at += tile) *tiles[i] = at;
  g->hidden = (int32_t *)(at + PAST_END);
}

/** A dot product with the sums of dot in backward.as.ts: four lanes, then what is left. */
static float dot(const char *a, const char *b, int n) {
  f32x4 s = 0.0f;
  for (; n >= 4; n -= 4, a += 16, b += 16) {
    s = __builtin_elementwise_fma(*(const loose_f32x4 *)a, *(const loose_f32x4 *)b, s);
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

/** S → P = e^(S − lse) and dP → dS = P·(dP − δ) of query i; zeros behind the `visible` keys. */
static void query_gradients(const Gradient *g, int i, int visible) {
  char *p = g->p + (size_t)i * TILE_ROW, *ds = g->ds + (size_t)i * TILE_ROW;
  const f32x16 m = load1(g->lses + (size_t)i * 4), d = load1(g->deltas + (size_t)i * 4);
  const f32x16 zero = 0.0f;
  int j = 0;
  for (; j + LANES <= visible; j += LANES, p += ROW, ds += ROW) {
    const f32x16 e = exp16(load16(p) - m);
    store16(p, e);
    store16(ds, e * (load16(ds) - d));
  }
  if (j < visible) {
    const i32x16 seen = first_lanes(visible - j);
    const f32x16 e = exp16(load16(p) - m), slope = e * (load16(ds) - d);
    store16(p, seen ? e : zero);
    store16(ds, seen ? slope : zero);
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
    .sRow = 4, .sTerm = TILE_ROW, .vTerm = TILE_ROW, .vPanel = ROW, .cRow = TILE_ROW,
    .cPanel = ROW, .k = g->headDim,
  };
  const int panels = ceil_div(reach, LANES);
  p.s = g->queriesT + (size_t)i * 4;
  p.v = g->keysT;
  p.c = g->p + (size_t)i * TILE_ROW;
  chains(rows, panels, &p);
  p.s = g->doutsT + (size_t)i * 4;
  p.v = g->valuesT;
  p.c = g->ds + (size_t)i * TILE_ROW;
  chains(rows, panels, &p);
}

/** dq of `rows` queries from query i on += dS·K of the first `reach` keys. */
static void query_products(const Gradient *g, int i, int rows, int reach) {
  Product p = {
    .s = g->ds + (size_t)i * TILE_ROW, .sRow = TILE_ROW, .sTerm = 4, .v = g->keys, .vTerm = ROW,
    .vPanel = PANEL, .c = g->dqueries + (size_t)i * ROW, .cRow = ROW, .cPanel = PANEL, .k = reach,
    .add = 1,
  };
  chains(rows, ceil_div(g->headDim, LANES), &p);
}

/** dv and dk of `rows` keys from key j on += Pᵀ·dO and dSᵀ·Q of the queries [skip, n). */
static void key_products(const Gradient *g, int j, int rows, int skip, int n) {
  if (skip >= n) return;
  const size_t from = (size_t)j * 4 + (size_t)skip * TILE_ROW;
  Product p = {
    .sRow = 4, .sTerm = TILE_ROW, .vTerm = ROW, .vPanel = PANEL, .cRow = ROW, .cPanel = PANEL,
    .k = n - skip, .add = 1,
  };
  const int panels = ceil_div(g->headDim, LANES);
  p.s = g->p + from;
  p.v = g->douts + (size_t)skip * ROW;
  p.c = g->dvalues + (size_t)j * ROW;
  chains(rows, panels, &p);
  p.s = g->ds + from;
  p.v = g->queries + (size_t)skip * ROW;
  p.c = g->dkeys + (size_t)j * ROW;
  chains(rows, panels, &p);
}

/**
 * P and dS of `n` queries × `count` keys, and their part of dq. `lead` is the first row − the first
 * key; with a window g->hidden says how many keys it hides.
 */
static void tile_gradients(const Gradient *g, int lead, int n, int count) {
  // Six queries at a time end at the same key, unless all of them attend to all keys.
  const int step = lead + 1 >= count ? n : 6;
  for (int i = 0; i < n; i += step) {
    const int end = min(i + step, n);
    const int reach = min(count, lead + (end - 1) / g->group + 1);
    gradient_scores(g, i, end - i, reach);
    for (int t = i; t < end; t++) {
      query_gradients(g, t, min(count, lead + t / g->group + 1));
      if (g->window != 0) {
        const int keys = min(count, g->hidden[t / g->group]);
        ONE_BY_ONE for (int j = 0; j < keys; j++) {
          store1(g->p + (size_t)t * TILE_ROW + (size_t)j * 4, 0);
          store1(g->ds + (size_t)t * TILE_ROW + (size_t)j * 4, 0);
        }
      }
    }
    query_products(g, i, end - i, reach);
  }
}

/** dk and dv of the keys [key, key + count), and their part of dq, from the rows [key, rowEnd). */
static void key_tile(const Gradient *g, int key, int count, int rowEnd) {
  const int group = g->group, headDim = g->headDim, blockRows = TILE / group;
  const size_t keyOffset = (size_t)key * g->keyStride + (size_t)g->head * headDim * 4;
  pack_transposed(g->k + keyOffset, g->keyOffsets, count, headDim, 1, g->keysT);
  pack_transposed(g->v + keyOffset, g->keyOffsets, count, headDim, 1, g->valuesT);
  pack_rows(g->k + keyOffset, g->keyOffsets, count, headDim, g->scale, g->keys);
  for (int c = 0; c < headDim; c += LANES) {
    zero_rows(g->dkeys + (size_t)(c / LANES) * PANEL, count);
    zero_rows(g->dvalues + (size_t)(c / LANES) * PANEL, count);
  }

  for (int row = key; row < rowEnd; row += blockRows) {
    const int rows = min(rowEnd - row, blockRows), n = rows * group;
    if (g->window != 0 && hidden_keys(g, row, rows, key) >= count) continue;
    const size_t offset =
      (size_t)row * g->queryStride + (size_t)g->head * group * headDim * 4;
    pack_transposed(g->q + offset, g->offsets, n, headDim, g->scale, g->queriesT);
    pack_transposed(g->dout + offset, g->offsets, n, headDim, 1, g->doutsT);
    pack_rows(g->q + offset, g->offsets, n, headDim, g->scale, g->queries);
    pack_rows(g->dout + offset, g->offsets, n, headDim, 1, g->douts);
    pack_rows(g->dq + offset, g->offsets, n, headDim, 1, g->dqueries);
    const char *lse = g->lse + ((size_t)row * g->heads + g->head * group) * 4;
    for (int i = 0; i < n; i++) {
      const size_t at = offset + offset_of(g->offsets, i);
      store1(g->lses + (size_t)i * 4, load1(lse + offset_of(g->lseOffsets, i)));
      store1(g->deltas + (size_t)i * 4, dot(g->dout + at, g->out + at, headDim));
    }
    tile_gradients(g, row - key, n, count);
    // Rows before key j do not attend to it. Six keys at a time begin at the same row, unless all
    // rows attend to all keys.
    const int step = row - key + 1 >= count ? count : 6;
    for (int j = 0; j < count; j += step) {
      key_products(g, j, min(step, count - j), max(key + j - row, 0) * group, n);
    }
    unpack_rows(g->dqueries, g->dq + offset, g->offsets, n, headDim);
  }
  unpack_rows(g->dkeys, g->dk + keyOffset, g->keyOffsets, count, headDim);
  unpack_rows(g->dvalues, g->dv + keyOffset, g->keyOffsets, count, headDim);
}

KERNEL void attention_backward(
  char *base, uint32_t q, uint32_t k, uint32_t v, uint32_t out, uint32_t lse, uint32_t dout,
  uint32_t dq, uint32_t dk, uint32_t dv, uint32_t segments, uint32_t rowSegment, int segmentCount,
  int heads, int kvHeads, int headDim, float scale, int window, int begin, int end,
  uint32_t scratch
) {
  Gradient g = {
    .q = base + q, .k = base + k, .v = base + v, .out = base + out, .lse = base + lse,
    .dout = base + dout, .dq = base + dq, .dk = base + dk, .dv = base + dv,
    .segments = (const Segment *)(base + segments),
    .rowSegment = (const uint32_t *)(base + rowSegment), .heads = heads, .kvHeads = kvHeads,
    .headDim = headDim, .group = heads / kvHeads, .window = window, .scale = scale,
    .queryStride = (size_t)heads * headDim * 4, .keyStride = (size_t)kvHeads * headDim * 4,
  };
  divide_scratch(&g, base + scratch);
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
    for (int row = first; row < groupEnd; row++) {
      char *to = g.dq + (size_t)row * g.queryStride + (size_t)g.head * bytes;
      size_t at = 0;
      for (; at + ROW <= bytes; at += ROW) store16(to + at, (f32x16)0.0f);
      ONE_BY_ONE for (; at < bytes; at += 4) store1(to + at, 0);
    }
    for (int s = leader; s < segmentCount; s++, segment++) {
      if (segment->begin >= groupEnd && s > leader) break;
      if (s > leader && segment->prefixBegin == segment->prefixEnd) break;
      for (int j = segment->begin; j < segment->end; j += TILE) {
        key_tile(&g, j, min(segment->end - j, TILE), segment->groupEnd);
      }
    }
  }
}

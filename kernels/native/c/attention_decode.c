// Attention of one new query per branch (kernels/ops/attention_decode/spec.ts). Work unit: a block
// of branches × some queries of a key head. Neighbouring branches with the same prefix attend to it
// together: its keys are copied into the scratch once for all of them.
#include "bf16_round.h"
#include "decode.h"
#include "keys.h"
#include "kernel.h"

/** Up to this many queries of one prompt are done without transposing scores. */
#define FEW_QUERIES 8
/** Models with heads of at least this size have KV caches that the caches do not hold. */
#define LONG_HEAD 64
/** Max number of queries that are done at a time. */
#define TOGETHER 4
/** Max number of panels of values that are added at a time. */
#define VALUE_PANELS 4

INLINE f32x4 load4(const char *at) {
  return *(const loose_f32x4 *)at;
}

/** The largest lane; of lanes that are NaN any or none. */
INLINE float largest_lane(f32x16 x) {
  x = max16(x, __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
  x = max16(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3));
  x = max16(x, __builtin_shufflevector(x, x, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1));
  return x[0] > x[1] ? x[0] : x[1];
}

/** The new maximum of query i, whose scores are `row`. Its sum and its output are scaled to it. */
static float new_maximum(const Softmax *s, int i, const char *row, int n) {
  f32x16 lanes = load16(row);
  for (int j = LANES; j < n; j += LANES) lanes = max16(lanes, load16(row + (size_t)j * 4));
  float *state = (float *)s->m + i, *sum = (float *)s->l + i;
  const float before = *state;
  const float largest = largest_lane(lanes), m = largest > before ? largest : before;
  if (m == before) return m;
  *state = m;
  // Before the first key there is nothing to scale.
  if (*sum == 0) return m;
  const float c = exp1(before - m);
  *sum *= c;
  scale_output(s, i, c);
  return m;
}

typedef struct {
  /** Weights of the keys, a row per query, and values. */
  const char *p;
  const char *v;
  size_t stride;
  int count, columns;
  Ahead ahead;
} Values;

/**
 * o [queries][panels][16] += Σ_j p[j]·v_j, and added[queries] += Σ_j p[j]. With `partly` the last
 * panel has part->columns columns.
 */
INLINE void add_values(
  const int queries, const int panels, const int partly, const Values *part, char *o,
  float added[TOGETHER]
) {
  f32x16 sums[TOGETHER][VALUE_PANELS];
  float total[TOGETHER];
  UNROLL for (int r = 0; r < queries; r++) {
    total[r] = added[r];
    UNROLL for (int c = 0; c < panels; c++) sums[r][c] = load16(o + r * ROW + c * PANEL);
  }
  const char *p = part->p, *v = part->v;
  ONE_BY_ONE for (int j = 0; j < part->count; j++, p += 4, v += part->stride) {
    f32x16 row[VALUE_PANELS];
    if (j < part->ahead.end) prefetch(row_ahead(&part->ahead, j, part->stride), panels * ROW);
    UNROLL for (int c = 0; c < panels; c++) {
      const int whole = !partly || c < panels - 1;
      row[c] = whole ? load16(v + c * ROW) : load_lanes(v + c * ROW, part->columns);
    }
    UNROLL for (int r = 0; r < queries; r++) {
      const float x = load1(p + r * TILE_ROW);
      UNROLL for (int c = 0; c < panels; c++) sums[r][c] = fma16((f32x16)x, row[c], sums[r][c]);
      total[r] += x;
    }
  }
  UNROLL for (int r = 0; r < queries; r++) {
    added[r] = total[r];
    UNROLL for (int c = 0; c < panels; c++) store16(o + r * ROW + c * PANEL, sums[r][c]);
  }
}

#define VALUES(queries, panels, partly) \
  case queries: add_values(queries, panels, partly, part, o, added); return;
#define VALUES_OF(name, panels, partly)                                               \
  static __attribute__((noinline)) void name##_##panels(                              \
    int queries, const Values *part, char *o, float added[TOGETHER]                   \
  ) {                                                                                 \
    switch (queries) {                                                                \
      VALUES(1, panels, partly) VALUES(2, panels, partly) VALUES(3, panels, partly)   \
      VALUES(4, panels, partly)                                                       \
    }                                                                                 \
  }
#define VALUES_TO_4(name, partly)                                                     \
  VALUES_OF(name, 1, partly) VALUES_OF(name, 2, partly) VALUES_OF(name, 3, partly)    \
  VALUES_OF(name, 4, partly)
VALUES_TO_4(values, 0)
VALUES_TO_4(partly, 1)

/** add_values for `panels` panels. */
static void values_of(
  int queries, int panels, const Values *part, char *o, float added[TOGETHER]
) {
#define PANELS(n)                                                                     \
  case n:                                                                             \
    if (part->columns == LANES) values_##n(queries, part, o, added);                  \
    else partly_##n(queries, part, o, added);                                         \
    return;
  switch (panels) { PANELS(1) PANELS(2) PANELS(3) PANELS(4) }
}

/**
 * Queries [i, i + count) attend to the keys [j, j + n), whose scores are rows of the scratch. The
 * values of the first `shared` keys are rows from vShared on, the others from v on. These prefetch
 * the rows `ahead`.
 */
static void attend_queries(
  const Softmax *s, int i, int count, int n, int shared, const char *vShared, const char *v,
  size_t stride, Ahead ahead
) {
  const int whole = round_up16(n);
  for (int r = 0; r < count; r++) {
    char *row = s->scores + r * TILE_ROW;
    for (int j = 0; s->cap != 0 && j < n; j += LANES) {
      store16(row + j * 4, soft_cap16(load16(row + j * 4), s->cap));
    }
    ONE_BY_ONE for (int j = n; j < whole; j++) store1(row + j * 4, MASKED);
    const float m = new_maximum(s, i + r, row, n);
    for (int j = 0; j < n; j += LANES) {
      store16(row + j * 4, exp16(load16(row + j * 4) - (f32x16)m));
    }
  }
  const size_t there = (size_t)shared * stride;
  Values parts[2] = {
    { .p = s->scores, .v = vShared, .stride = stride, .count = shared },
    { .p = s->scores + shared * 4, .v = v + there, .stride = stride, .count = n - shared,
      .ahead = { ahead.own + there, ahead.next + there, ahead.turn - shared, ahead.end - shared } },
  };
  char *o = s->o + (size_t)i * ROW;
  float added[TOGETHER];
  for (int left = s->panels, panels; left > 0; left -= panels) {
    UNROLL for (int r = 0; r < TOGETHER; r++) added[r] = 0;
    panels = min(left, VALUE_PANELS);
    for (int part = shared > 0 ? 0 : 1; part < 2; part++) {
      Values *values = parts + part;
      values->columns = left > panels ? LANES : s->headDim - (s->panels - 1) * LANES;
      values_of(count, panels, values, o, added);
      values->v += panels * ROW;
      values->ahead.own += panels * ROW;
      values->ahead.next += panels * ROW;
    }
    o += (size_t)panels * PANEL;
  }
  for (int r = 0; r < count; r++) ((float *)s->l)[i + r] += added[r];
}

/** Halves come from memory in so short runs that they are prefetched this many rows ahead. */
#define HALVES_AHEAD 16

/**
 * The rows [j, j + n) of `rows` (keys or values) as floats, row_stride bytes apart: those of halves
 * are widened to `to`, a tile of the scratch.
 */
static const char *float_rows(
  const Softmax *s, const Keys *keys, const char *rows, int j, int n, char *to
) {
  const char *from = rows + (size_t)j * keys->stride;
  if (!keys->halves) return from;
  char *at = to;
  for (int i = 0; i < n; i++, from += keys->stride) {
    prefetch(from + HALVES_AHEAD * keys->stride, (size_t)s->headDim * 2);
    for (int c = 0; c < s->headDim; c += LANES, at += ROW) {
      store16(at, load_some(from + (size_t)c * 2, min(LANES, s->headDim - c)));
    }
  }
  return to;
}

static size_t row_stride(const Softmax *s, const Keys *keys) {
  return keys->halves ? s->width : keys->stride;
}

/**
 * Queries [from, to) attend to the keys of a prompt. `packed`: NULL, or this head's columns in the
 * same keys as panels; then the first `shared` keys (whole panels) and their values are read from
 * packedShared and vShared on.
 */
static void attend_few(
  const Softmax *s, const Keys *keys, const char *packed, int shared, const char *packedShared,
  const char *vShared, int from, int to
) {
  const size_t stride = row_stride(s, keys);
  Product p = {
    .sRow = 4, .sTerm = TILE_ROW, .vTerm = packed == NULL ? TILE_ROW : ROW,
    .vPanel = packed == NULL ? ROW : stride * LANES, .cRow = TILE_ROW, .cPanel = ROW,
    .k = s->headDim,
  };
  for (int j = 0; j < keys->count; j += TILE) {
    const int n = min(keys->count - j, TILE), there = max(0, min(n, shared - j));
    const size_t offset = (size_t)j * stride;
    if (packed == NULL) {
      fetch(keys, j);
      const char *k = float_rows(s, keys, keys->k, j, n, s->v);
      pack_transposed(k, s->keyOffsets, n, s->headDim, 1, s->k);
    }
    const char *v = float_rows(s, keys, keys->v, j, n, s->v);
    for (int i = from; i < to; i += TOGETHER) {
      const int count = min(to - i, TOGETHER), sharedPanels = there / LANES;
      p.s = s->q + (size_t)i * 4;
      if (sharedPanels > 0) {
        p.v = packedShared + offset;
        p.c = s->scores;
        chains(count, sharedPanels, &p);
      }
      p.v = (packed == NULL ? s->k : packed + offset) + (size_t)sharedPanels * p.vPanel;
      p.c = s->scores + (size_t)sharedPanels * ROW;
      chains(count, ceil_div(n, LANES) - sharedPanels, &p);
      const Ahead ahead = i == from ? rows_ahead(keys, keys->v, keys->nextV, j, n) : NOTHING;
      attend_queries(s, i, count, n, there, vShared + offset, v, stride, ahead);
    }
  }
}

/** Of four rows of 16 floats: c[t] = the floats 4t to 4t + 3 of each row. */
INLINE void across(const f32x16 r[4], f32x16 c[4]) {
#define FIRST 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define SECOND 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31
#define EVEN 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27
#define ODD 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31
  const f32x16 a = __builtin_shufflevector(r[0], r[1], FIRST);
  const f32x16 b = __builtin_shufflevector(r[2], r[3], FIRST);
  c[0] = __builtin_shufflevector(a, b, EVEN);
  c[1] = __builtin_shufflevector(a, b, ODD);
  const f32x16 d = __builtin_shufflevector(r[0], r[1], SECOND);
  const f32x16 e = __builtin_shufflevector(r[2], r[3], SECOND);
  c[2] = __builtin_shufflevector(d, e, EVEN);
  c[3] = __builtin_shufflevector(d, e, ODD);
}

/** The floats of four vectors one after the other. */
INLINE f32x16 join4(f32x4 a, f32x4 b, f32x4 c, f32x4 d) {
  const f32x8 low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
  const f32x8 high = __builtin_shufflevector(c, d, 0, 1, 2, 3, 4, 5, 6, 7);
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

/** Four floats in each part of a vector. */
INLINE f32x16 four_times(const char *at) {
  const f32x4 x = load4(at);
  return __builtin_shufflevector(x, x, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
}

/**
 * Scores scale·q·k_j of `queries` queries, headDim floats apart, as rows of the scratch. Four keys
 * are done at a time. Each score has four running sums, one for each place in four elements.
 */
INLINE void row_scores(
  const int queries, const char *q, const char *k, size_t stride, int n, int headDim, float scale,
  const Ahead *ahead, char *scores
) {
  for (int j = 0; j < n; j += 4) {
    const char *rows[4];
    UNROLL for (int t = 0; t < 4; t++) rows[t] = k + (size_t)min(j + t, n - 1) * stride;
    if (j < ahead->end) {
      for (int t = 0; t < 4; t++) prefetch(row_ahead(ahead, j + t, stride), (size_t)headDim * 4);
    }
    f32x16 sums[TOGETHER];
    UNROLL for (int r = 0; r < queries; r++) sums[r] = (f32x16)0.0f;
    size_t d = 0;
    const size_t bytes = (size_t)headDim * 4;
    for (; d + ROW <= bytes; d += ROW) {
      f32x16 loaded[4], c[4];
      UNROLL for (int t = 0; t < 4; t++) loaded[t] = load16(rows[t] + d);
      across(loaded, c);
      UNROLL for (int r = 0; r < queries; r++) {
        UNROLL for (int t = 0; t < 4; t++) {
          sums[r] = fma16(four_times(q + r * bytes + d + t * 16), c[t], sums[r]);
        }
      }
    }
    for (; d < bytes; d += 16) {
      const f32x16 four = join4(load4(rows[0] + d), load4(rows[1] + d), load4(rows[2] + d),
        load4(rows[3] + d));
      UNROLL for (int r = 0; r < queries; r++) {
        sums[r] = fma16(four_times(q + r * bytes + d), four, sums[r]);
      }
    }
    UNROLL for (int r = 0; r < queries; r++) {
      const f32x16 x = sums[r];
      const f32x16 y =
        x + __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
      const f32x16 z =
        y + __builtin_shufflevector(y, y, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
      const f32x4 result = __builtin_shufflevector(z, z, 0, 4, 8, 12) * scale;
      *(loose_f32x4 *)(scores + r * TILE_ROW + j * 4) = result;
    }
  }
}

#define ROW_SCORES(queries) \
  case queries: row_scores(queries, q, k, stride, n, headDim, scale, ahead, scores); return;
static __attribute__((noinline)) void scores_of(
  int queries, const char *q, const char *k, size_t stride, int n, int headDim, float scale,
  const Ahead *ahead, char *scores
) {
  switch (queries) { ROW_SCORES(1) ROW_SCORES(2) ROW_SCORES(3) ROW_SCORES(4) }
}

/** Queries [i, i + group), which begin at q, attend to the keys of their branch. */
static void attend_rows(
  const Softmax *s, const Keys *keys, const char *q, float scale, int i, int group
) {
  const size_t stride = row_stride(s, keys), bytes = (size_t)s->headDim * 4;
  for (int j = 0; j < keys->count; j += TILE) {
    const int n = min(keys->count - j, TILE);
    fetch(keys, j);
    const char *k = float_rows(s, keys, keys->k, j, n, s->k);
    const char *v = float_rows(s, keys, keys->v, j, n, s->v);
    for (int g = 0; g < group; g += TOGETHER) {
      const int count = min(group - g, TOGETHER);
      const Ahead aheadK = g == 0 ? rows_ahead(keys, keys->k, keys->nextK, j, n) : NOTHING;
      const Ahead aheadV = g == 0 ? rows_ahead(keys, keys->v, keys->nextV, j, n) : NOTHING;
      scores_of(count, q + (size_t)g * bytes, k, stride, n, s->headDim, scale, &aheadK, s->scores);
      attend_queries(s, i + g, count, n, 0, v, v, stride, aheadV);
    }
  }
}

/** Queries [from, to) of the block attend to keys, tile by tile. */
static void attend_tiles(const Softmax *s, const Keys *keys, int from, int to) {
  for (int j = 0; j < keys->count; j += TILE) {
    const Reach reach = { .count = min(keys->count - j, TILE) };
    if (keys->halves) {
      float_rows(s, keys, keys->k, j, reach.count, s->k);
      float_rows(s, keys, keys->v, j, reach.count, s->v);
    } else {
      const size_t offset = (size_t)j * keys->stride;
      softmax_keys(s, keys->k + offset, keys->v + offset, reach.count);
    }
    softmax_attend(s, from, to, &reach);
  }
}

/** Bytes of an element of keys and values. */
INLINE size_t element(const Decode *d) {
  return d->halves ? 2 : 4;
}

/** The keys and values of branch b that a head attends to, whose place in a row is `keyOffset`. */
static void branch_keys(
  const Decode *d, int b, size_t keyOffset, const char **k, const char **v, int *count
) {
  const Branch *branch = d->branches + b;
  *count = d->window == 0 ? branch->length : min(branch->length, d->window);
  const size_t row = (size_t)branch->slot * d->maxNew + (size_t)(branch->length - *count);
  const size_t offset = keyOffset + row * (size_t)d->kvHeads * d->headDim * element(d);
  *k = d->branchK + offset;
  *v = d->branchV + offset;
}

void decode_attention(const Decode *d, int begin, int end, char *scratch) {
  const int kvHeads = d->kvHeads, headDim = d->headDim, width = d->width;
  const int group = d->heads / kvHeads, parts = ceil_div(group, width);
  const size_t queryStride = (size_t)d->heads * headDim * 4;
  const size_t stride = (size_t)kvHeads * headDim * element(d);
  // Where few queries share the keys of a branch, and rows are whole vectors, keys are not
  // transposed.
  const int vectors = (headDim & 3) == 0, byRows = group < 8 && vectors;
  Softmax softmax = softmax_scratch(scratch, headDim);
  const Softmax *const s = &softmax;
  softmax.cap = d->softCap;
  tile_offsets(s->keyOffsets, d->halves ? s->width : stride, 0, 1);
  for (int unit = begin; unit < end; unit++) {
    const int part = unit % parts, head = unit / parts % kvHeads;
    const int first = unit / parts / kvHeads * d->blockBranches;
    const int last = min(first + d->blockBranches, d->branchCount);
    const int some = min(width, group - part * width), count = (last - first) * some;
    const size_t queryOffset =
      (size_t)first * queryStride + (size_t)(head * group + part * width) * headDim * 4;
    const size_t keyOffset = (size_t)head * headDim * element(d);
    // The first unit that reads rows from memory fetches them for all key heads.
    const int ahead = kvHeads > 1 && headDim >= LONG_HEAD && !d->prefetches &&
      (unit == begin || unit % (parts * kvHeads) == 0);
    Keys keys = {
      .stride = stride, .halves = d->halves,
      .prefetches = d->prefetches && headDim >= LONG_HEAD && !d->halves,
      .lead = ahead ? (ptrdiff_t)keyOffset : -1,
    };
    tile_offsets(s->queryOffsets, queryStride, (size_t)headDim * 4, some);
    pack_transposed(d->q + queryOffset, s->queryOffsets, count, headDim, d->scale, s->q);
    const size_t sink = (size_t)(head * group + part * width) * 4;
    softmax_begin(s, count, d->sinks + sink, d->hasSinks ? some : 0);

    for (int b = first; b < last;) {
      const Branch *branch = d->branches + b;
      int stop = b + 1;
      while (
        stop < last && d->branches[stop].prefixBegin == branch->prefixBegin &&
        d->branches[stop].prefixEnd == branch->prefixEnd
      ) stop++;
      const int from = (b - first) * some, to = (stop - first) * some;
      const size_t offset = keyOffset + (size_t)branch->prefixBegin * stride;
      keys.k = d->prefixK + offset;
      keys.v = d->prefixV + offset;
      keys.count = branch->prefixEnd - branch->prefixBegin;
      if (to - from <= FEW_QUERIES && vectors) {
        // A column of a panel has 16 floats, so a key head's columns begin 16 · keyOffset behind.
        const int hasPacked = d->packedPrefixK != NULL;
        const size_t there = keyOffset + (size_t)branch->sharedBegin * stride;
        attend_few(
          s, &keys, hasPacked ? d->packedPrefixK + offset + 15 * keyOffset : NULL,
          hasPacked ? min(keys.count, branch->shared) & ~15 : 0,
          hasPacked ? d->packedPrefixK + there + 15 * keyOffset : NULL, d->prefixV + there, from, to
        );
      } else {
        attend_tiles(s, &keys, from, to);
      }
      b = stop;
    }

    for (int b = first; b < last; b++) {
      const int from = (b - first) * some;
      branch_keys(d, b, keyOffset, &keys.k, &keys.v, &keys.count);
      keys.nextK = keys.nextV = NULL;
      if (b + 1 < last) branch_keys(d, b + 1, keyOffset, &keys.nextK, &keys.nextV, &keys.nextCount);
      if (byRows) {
        const char *q = d->q + queryOffset + offset_of(s->queryOffsets, from);
        attend_rows(s, &keys, q, d->scale, from, some);
      } else {
        attend_tiles(s, &keys, from, from + some);
      }
    }
    softmax_end(s, d->out + queryOffset, count);
  }
}

/** `prefetches`: whether this processor reads rows faster with prefetches than with plain reads. */
/**
 * `packedPrefixK`, `sinks`, `softCap` and `window`: 0 = none.
 * Units: ⌈branchCount / blockBranches⌉ blocks · kvHeads · ⌈heads / kvHeads / width⌉ parts of a key
 * head's queries, `width` queries in each. The parts vary fastest, the blocks slowest.
 */
KERNEL(attention_decode,
  q, prefixK, packedPrefixK, prefixV, branchK, branchV, sinks, out, branches, branchCount, maxNew,
  heads, kvHeads, headDim, scale, softCap, blockBranches, width, window, halves
) {
  const int prefetches = PREFETCHES(options);
  const Decode d = {
    .q = AT(q), .prefixK = AT(prefixK),
    .packedPrefixK = args->packedPrefixK == 0 ? NULL : AT(packedPrefixK), .prefixV = AT(prefixV),
    .branchK = AT(branchK), .branchV = AT(branchV),
    .sinks = AT(sinks), .hasSinks = args->sinks != 0, .out = AT(out),
    .branches = (const Branch *)AT(branches), .branchCount = args->branchCount, .maxNew = args->maxNew,
    .heads = args->heads, .kvHeads = args->kvHeads, .headDim = args->headDim, .scale = args->scale,
    .softCap = args->softCap, .blockBranches = args->blockBranches, .width = args->width,
    .window = args->window, .prefetches = prefetches, .halves = args->halves,
  };
  decode_attention(&d, begin, end, scratch);
}

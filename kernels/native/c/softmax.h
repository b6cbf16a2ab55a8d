// Online softmax over tiles of keys (attention and attention_decode). Scores are stored key by
// key, [TILE keys][TILE queries], so that the lanes of a vector are different queries.
#pragma once
#include "exp.h"
#include "pack.h"

/** Score of a key that a query does not attend to; its exponential is 0. */
#define MASKED -1e30f
/** Number of queries whose scores, maxima and products are done at once: three vectors. */
#define STRIP 48
/** The register tiles of the WASM kernel have 6 queries, which end at the same key. */
#define TILE_QUERIES 6
/** Bytes of m and of l: the last vector of a block may reach 15 queries beyond its end. */
#define STATE ((TILE + LANES) * 4)

/** The scratch of a block of up to TILE queries. */
typedef struct {
  int headDim, panels;
  /** Soft cap of the scores; 0 = none. */
  float cap;
  /** Scores, running maxima m, running sums l, offsets of the queries and of the keys. */
  char *scores, *m, *l, *queryOffsets, *keyOffsets;
  /** Qᵀ (scaled), K and V as rows of `width` bytes, and the unnormalised outputs O in panels. */
  char *q, *k, *v, *o;
  size_t width;
} Softmax;

/** Divides the scratch, which has softmaxScratch bytes (kernels/ops/attention/wasm.ts). */
static inline Softmax softmax_scratch(char *scratch, int headDim) {
  Softmax s = { .headDim = headDim, .panels = ceil_div(headDim, LANES), .scores = scratch };
  s.width = (size_t)s.panels * ROW;
  const size_t tile = tile_bytes(headDim);
  s.m = scratch + SCORES + ROW;
  s.l = s.m + STATE;
  s.queryOffsets = s.l + STATE;
  s.keyOffsets = s.queryOffsets + OFFSETS;
  s.q = s.keyOffsets + OFFSETS;
  s.k = s.q + tile;
  s.v = s.k + tile;
  s.o = s.v + tile;
  return s;
}

/**
 * Initial state of `count` queries, which have not attended to any key. Each of `sinkCount`
 * neighbouring queries attends to a key without a value, whose score is its sink; 0 = none does.
 */
static inline void softmax_begin(
  const Softmax *s, int count, const char *sinks, int sinkCount
) {
  for (int at = 0; at < STATE; at += ROW) {
    store16(s->m + at, (f32x16)MASKED);
    store16(s->l + at, (f32x16)0.0f);
  }
  for (int p = 0; p < s->panels; p++) zero_rows(s->o + (size_t)p * PANEL, count);
  ONE_BY_ONE for (int i = 0; sinkCount > 0 && i < count; i++) {
    store1(s->m + (size_t)i * 4, load1(sinks + (size_t)(i % sinkCount) * 4));
    store1(s->l + (size_t)i * 4, 1.0f);
  }
}

/** Copies `count` ≤ TILE keys and values into the scratch. */
static inline void softmax_keys(const Softmax *s, const char *k, const char *v, int count) {
  copy_rows(k, s->keyOffsets, count, s->headDim, 1, s->k);
  copy_rows(v, s->keyOffsets, count, s->headDim, 1, s->v);
}

/** Multiplies O of query i by c. */
INLINE void scale_output(const Softmax *s, int i, float c) {
  char *o = s->o + (size_t)i * ROW;
  for (int p = 0; p < s->panels; p++, o += PANEL) store16(o, load16(o) * (f32x16)c);
}

/** Whether a bit of any lane is set. */
INLINE int any(u32x16 words) {
  return __builtin_reduce_or(words) != 0;
}

/**
 * S → e^(S − m) with the new maxima m, for the queries [i, i + 16) less than `last`. l and O are
 * scaled to the new m. The m and l of the queries from `last` on do not change.
 */
static inline void exponentials(const Softmax *s, int i, int last, int reach) {
  char *begin = s->scores + (size_t)i * 4, *const end = begin + (size_t)reach * TILE_ROW;
  char *state = s->m + (size_t)i * 4, *sum = s->l + (size_t)i * 4;
  const i32x16 mine = first_lanes(last - i);
  const f32x16 before = load16(state);
  f32x16 m = before;
  for (const char *p = begin; p < end; p += TILE_ROW) m = max16(m, load16(p));
  m = mine ? m : before;
  store16(state, m);

  f32x16 l = load16(sum);
  const f32x16 less = before - m;
  if (any((u32x16)less) && any((u32x16)l)) {
    const f32x16 c = exp16(less);
    char factors[ROW] __attribute__((aligned(64)));
    store16(factors, c);
    l *= c;
    const int count = min(last - i, LANES);
    for (int t = 0; t < count; t++) scale_output(s, i + t, load1(factors + t * 4));
  }

  f32x16 t = 0.0f;
  for (char *p = begin; p < end; p += TILE_ROW) {
    const f32x16 e = exp16(load16(p) - m);
    store16(p, e);
    t += e;
  }
  store16(sum, l + (mine ? t : (f32x16)0.0f));
}

/**
 * Masks the later keys for each of the queries [i, i + 16): key j for queries < (j + shift)·group.
 */
INLINE void mask_later(const Softmax *s, int i, int reach, int group, int shift) {
  for (int j = max(i / group + 1 - shift, 0); j < reach; j++) {
    const int stop = min((j + shift) * group, i + LANES);
    char *row = s->scores + (size_t)j * TILE_ROW;
    ONE_BY_ONE for (int q = i; q < stop; q++) store1(row + (size_t)q * 4, MASKED);
  }
}

/** Masks the keys before the first one that each of the queries [i, end) attends to. */
INLINE void mask_earlier(
  const Softmax *s, int i, int end, int reach, const int32_t *firstKeys, int keyStart
) {
  for (int q = i; q < end; q++) {
    const int hidden = min(firstKeys[q] - keyStart, reach);
    char *score = s->scores + (size_t)q * 4;
    ONE_BY_ONE for (int j = 0; j < hidden; j++, score += TILE_ROW) store1(score, MASKED);
  }
}

/** Scores of the queries [i, i + 16·panels) with the first `reach` keys. */
INLINE void softmax_scores(const Softmax *s, int i, int panels, int reach) {
  Product p = {
    .s = s->k, .sRow = s->width, .sTerm = 4, .v = s->q + (size_t)i * 4, .vTerm = TILE_ROW,
    .vPanel = ROW, .c = s->scores + (size_t)i * 4, .cRow = TILE_ROW, .cPanel = ROW,
    .k = s->headDim,
  };
  chains(reach, panels, &p);
}

/** O of the queries [i, i + count) += P·V of the first `reach` keys. */
INLINE void softmax_values(const Softmax *s, int i, int count, int reach) {
  Product p = {
    .s = s->scores + (size_t)i * 4, .sRow = 4, .sTerm = TILE_ROW, .v = s->v, .vTerm = s->width,
    .vPanel = ROW, .c = s->o + (size_t)i * ROW, .cRow = ROW, .cPanel = PANEL, .k = reach,
    .add = 1,
  };
  chains(count, s->panels, &p);
}

/** Caps the scores of the queries [i, i + 16) with the first `reach` keys. */
static inline void cap_scores(const Softmax *s, int i, int reach) {
  char *at = s->scores + (size_t)i * 4;
  for (int j = 0; j < reach; j++, at += TILE_ROW) store16(at, soft_cap16(load16(at), s->cap));
}

/** What the queries of a block attend to, of the keys that softmax_keys copied. */
typedef struct {
  /** Number of keys. */
  int count;
  /** Query i attends to the first i / group + 1 − shift keys only. */
  int causal, group, shift;
  /** Number of the first key of each query, or NULL; the first key copied has number keyStart. */
  const int32_t *firstKeys;
  int keyStart;
} Reach;

/**
 * Queries [from, to) of the block attend to keys. A query that attends to no key of this tile must
 * have attended to a key before.
 */
static inline void softmax_attend(const Softmax *s, int from, int to, const Reach *r) {
#define REACH(end) (r->causal ? min(r->count, ((end) - 1) / r->group + 1 - r->shift) : r->count)
  for (int first = from; first < to; first += STRIP) {
    const int last = min(first + STRIP, to);
    for (int i = first; i < last; i += 2 * LANES) {
      const int panels = last - i > LANES ? 2 : 1;
      softmax_scores(s, i, panels, REACH(min(i + panels * LANES, last)));
    }
    for (int i = first; i < last; i += LANES) {
      const int end = min(i + LANES, last), reach = REACH(end);
      if (s->cap != 0) cap_scores(s, i, reach);
      if (r->causal) mask_later(s, i, reach, r->group, r->shift);
      if (r->firstKeys != NULL) mask_earlier(s, i, end, reach, r->firstKeys, r->keyStart);
      exponentials(s, i, last, reach);
      // Six queries that end in the next vector read at most 5 keys more.
      char *row = s->scores + (size_t)i * 4 + (size_t)reach * TILE_ROW;
      for (int j = reach; j < min(reach + 5, r->count); j++, row += TILE_ROW) {
        store16(row, (f32x16)0.0f);
      }
    }
    if (r->causal) {
      for (int i = first; i < last; i += TILE_QUERIES) {
        const int end = min(i + TILE_QUERIES, last);
        softmax_values(s, i, end - i, REACH(end));
      }
    } else {
      softmax_values(s, first, last - first, r->count);
    }
  }
#undef REACH
}

/** out = O/l for the first `count` queries. */
static inline void softmax_end(const Softmax *s, char *out, int count) {
  for (int i = 0; i < count; i++) {
    char *to = out + offset_of(s->queryOffsets, i);
    unpack_row(s->o + (size_t)i * ROW, to, s->headDim, 1 / load1(s->l + (size_t)i * 4));
  }
}

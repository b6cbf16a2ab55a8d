// Register tiles of the matrix product: up to 14 rows × 2 panels, or 6 rows × 4 panels, of 16
// columns each. An element of the result is one chain of fused multiply-adds in the order of the
// terms, so its bits do not depend on the tile. WebAssembly, AVX2 and NEON have tiles of 6 rows × 1
// panel, and AVX2 for a row or two some of more panels.
#pragma once
#include "vector.h"

/** c [rows][panels][16] = (with `add` +=) alpha · Σ_k s[row, k] · v[k, 16]. Steps are in bytes. */
typedef struct {
  const char *s;
  /** From a row of s to the next one, and from a term to the next one. */
  size_t sRow, sTerm;
  const char *v;
  /** From a row of a panel to the next one, and from a panel to the next one. */
  size_t vTerm, vPanel;
  char *c;
  size_t cRow, cPanel;
  int k;
  float alpha;
  int add;
  /** Whether c is in no near cache: then its lines are requested before the terms are added. */
  int isFar;
  /**
   * Only for tiles that fetch: the first line that they fetch, how many times they fetch, and how
   * many terms they add after each time. FETCH_PANELS: a line of each panel, which are aheadStep
   * bytes apart, and the next time those behind them. FETCH_ROWS: aheadLines lines, and the next
   * time those aheadStep bytes on.
   */
  const char *ahead;
  size_t aheadStep;
  int aheadLines, aheadTimes, aheadTerms;
} Product;

/** The loop over packed panels adds so many terms in a turn, and then changes the addresses. */
#define TURN 4
#ifdef __wasm__
// The form of a tile that V8's revectorizer widens: one loop, sums that are neighbours, one group
// of stores, and a function of its own for every way to read and to store
// (docs/log/matrix-products.md).
#define TILE_KINDS(DO)                                                            \
  DO(rows_set) DO(rows_add) DO(columns_set) DO(columns_add)                        \
  DO(chain_rows_set) DO(chain_rows_add) DO(chain_columns_set) DO(chain_columns_add)

INLINE void quarters_of(const char *at, f32x4 parts[4]) {
  OPAQUE(at);
  const Quarters *from = (const Quarters *)at;
  parts[0] = from->a;
  parts[1] = from->b;
  parts[2] = from->c;
  parts[3] = from->d;
}

/**
 * Computes a tile. `columns`: the rows of S are neighbours. `chain`: see the other targets. All but
 * p are constants where it is used.
 */
INLINE void wasm_tile(
  const int rows, const int columns, const int add, const int chain, const Product *p
) {
  const size_t sRow = p->sRow, sTerm = p->sTerm, vTerm = p->vTerm, cRow = p->cRow;
  const char *s[MAX_ROWS], *v = p->v;
  f32x4 sums[MAX_ROWS][4];
  char *c = p->c;
  UNROLL for (int i = 0; i < rows; i++, c += cRow) {
    UNROLL for (int j = 0; j < 4; j++) sums[i][j] = 0.0f;
    if (chain && add) quarters_of(c, sums[i]);
    s[i] = columns ? p->s : p->s + (size_t)i * sRow;
    OPAQUE(s[i]);
  }
  ONE_BY_ONE for (int k = p->k; k > 0; k--) {
    f32x4 b[4];
    quarters_of(v, b);
    UNROLL for (int i = 0; i < rows; i++) {
      const f32x4 a = load1(columns ? s[0] + i * 4 : s[i]);
      UNROLL for (int j = 0; j < 4; j++) {
        sums[i][j] = __builtin_wasm_relaxed_madd_f32x4(a, b[j], sums[i][j]);
      }
    }
    UNROLL for (int i = 0; i < (columns ? 1 : rows); i++) s[i] += sTerm;
    v += vTerm;
  }
  const f32x4 alpha = p->alpha;
  c = p->c;
  UNROLL for (int i = 0; i < rows; i++, c += cRow) {
    f32x4 r[4], old[4];
    if (add && !chain) quarters_of(c, old);
    UNROLL for (int j = 0; j < 4; j++) {
      r[j] = chain ? sums[i][j]
        : add ? __builtin_wasm_relaxed_madd_f32x4(alpha, sums[i][j], old[j]) : alpha * sums[i][j];
    }
    store_quarters(c, r[0], r[1], r[2], r[3]);
  }
}

#define DEFINE_KIND(name, columns, add, chain)                                    \
  INLINE void name(const int rows, const int panels, const Product *p) {           \
    (void)panels;                                                                 \
    wasm_tile(rows, columns, add, chain, p);                                      \
  }
DEFINE_KIND(rows_set, 0, 0, 0)
DEFINE_KIND(rows_add, 0, 1, 0)
DEFINE_KIND(columns_set, 1, 0, 0)
DEFINE_KIND(columns_add, 1, 1, 0)
DEFINE_KIND(chain_rows_set, 0, 0, 1)
DEFINE_KIND(chain_rows_add, 0, 1, 1)
DEFINE_KIND(chain_columns_set, 1, 0, 1)
DEFINE_KIND(chain_columns_add, 1, 1, 1)
#else
#define TILE_KINDS(DO) DO(tile) DO(fetch_panels) DO(fetch_rows) DO(chain)

/** What a tile fetches while it adds its terms. */
enum { FETCH_NOTHING, FETCH_PANELS, FETCH_ROWS };

/** How many terms before its use a line of a packed panel is fetched into the first-level cache. */
#define V_AHEAD 12

/** One pointer serves three rows of S: the address of a row is pointer + 0, 1 or 2 · its step. */
#define POINTERS ((MAX_ROWS + 2) / 3)

/** Adds one term. The rows of S are `sRow` bytes apart. `fetchesV`: also fetches V, `ahead` on. */
INLINE void add_term(
  const int rows, const int panels, const int fetchesV, const char *const *s, size_t sRow,
  const char *v, size_t vPanel, size_t ahead, f32x16 sums[MAX_ROWS][FEW_ROWS_PANELS]
) {
  f32x16 b[FEW_ROWS_PANELS];
  UNROLL for (int j = 0; j < panels; j++) b[j] = load16(v + j * vPanel);
  // With one panel a term has more loads than the multiply-adds leave time for.
  UNROLL for (int j = 0; MAX_PANELS > 1 && fetchesV && panels > 1 && j < panels; j++) {
    __builtin_prefetch(v + j * vPanel + ahead, 0, 3);
  }
  UNROLL for (int i = 0; i < rows; i++) {
    const f32x16 a = load1(s[i / 3] + (size_t)(i % 3) * sRow);
    UNROLL for (int j = 0; j < panels; j++) sums[i][j] = fma16(a, b[j], sums[i][j]);
  }
}

/** The same for rows of S that are neighbours: one pointer serves all. */
INLINE void add_term_of_columns(
  const int rows, const int panels, const int fetchesV, const char *s, const char *v, size_t vPanel,
  size_t ahead, f32x16 sums[MAX_ROWS][FEW_ROWS_PANELS]
) {
  const char *at[POINTERS];
  UNROLL for (int g = 0; 3 * g < rows; g++) at[g] = s + g * 12;
  add_term(rows, panels, fetchesV, at, 4, v, vPanel, ahead, sums);
}

/** Goes on by `bytes` in all rows of S. */
INLINE void step_on(const int rows, const char **s, size_t bytes) {
  UNROLL for (int g = 0; 3 * g < rows; g++) {
    s[g] += bytes;
    OPAQUE(s[g]);
  }
}

/**
 * Adds the terms of `rows` × `panels` of a product. With `fetch` it brings lines that are needed
 * later into the caches. All three are constants where it is used.
 */
INLINE void add_terms(
  const int rows, const int panels, const int fetch, const Product *p,
  f32x16 sums[MAX_ROWS][FEW_ROWS_PANELS]
) {
  const size_t sRow = p->sRow, sTerm = p->sTerm, vTerm = p->vTerm, vPanel = p->vPanel;
  const char *s[POINTERS], *v = p->v, *ahead = p->ahead;
  UNROLL for (int g = 0; 3 * g < rows; g++) s[g] = p->s + (size_t)(3 * g) * sRow;
  int times = fetch ? p->aheadTimes : 0;
  ONE_BY_ONE for (int left = p->k, count; left > 0; left -= count) {
    count = left;
    if (fetch && times-- > 0) {
      count = min(left, p->aheadTerms);
      if (fetch == FETCH_PANELS) {
        UNROLL for (int j = 0; j < panels; j++) prefetch(ahead + j * p->aheadStep, 1);
        ahead += CACHE_LINE;
      } else {
        prefetch(ahead, (size_t)p->aheadLines * CACHE_LINE);
        ahead += p->aheadStep;
      }
    }
    int k = count;
    if (vTerm == ROW && sTerm == 4) {
      // FETCH_PANELS: V has just been widened, so it is in the first-level cache.
      const int fetchesV = fetch != FETCH_PANELS;
      ONE_BY_ONE for (; k >= TURN; k -= TURN) {
        UNROLL for (int t = 0; t < TURN; t++) {
          const char *at[POINTERS];
          UNROLL for (int g = 0; 3 * g < rows; g++) at[g] = s[g] + t * 4;
          add_term(rows, panels, fetchesV, at, sRow, v + t * ROW, vPanel, V_AHEAD * ROW, sums);
        }
        step_on(rows, s, TURN * 4);
        v += TURN * ROW;
      }
    } else if (sRow == 4) {
      const int isPacked = vTerm == ROW;
      ONE_BY_ONE for (; isPacked && k > 0; k--) {
        add_term_of_columns(rows, panels, 1, s[0], v, vPanel, V_AHEAD * ROW, sums);
        s[0] += sTerm;
        v += ROW;
      }
      const int fetchesV = fetch == FETCH_ROWS;
      ONE_BY_ONE for (; k > 0; k--) {
        add_term_of_columns(rows, panels, fetchesV, s[0], v, vPanel, V_AHEAD * vTerm, sums);
        s[0] += sTerm;
        v += vTerm;
      }
    }
    ONE_BY_ONE for (; k > 0; k--) {
      add_term(rows, panels, 0, s, sRow, v, vPanel, 0, sums);
      step_on(rows, s, sTerm);
      v += vTerm;
    }
  }
}

/** Computes a tile: the sums are multiplied by alpha, and stored or added. */
INLINE void sums_of_tile(const int rows, const int panels, const int fetch, const Product *p) {
  f32x16 sums[MAX_ROWS][FEW_ROWS_PANELS];
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int j = 0; j < panels; j++) sums[i][j] = (f32x16)0.0f;
  }
  char *c = p->c;
  if (p->isFar) {
    UNROLL for (int i = 0; i < rows; i++, c += p->cRow) {
      UNROLL for (int j = 0; j < panels; j++) __builtin_prefetch(c + j * p->cPanel, 1, 3);
    }
    c = p->c;
  }
  add_terms(rows, panels, fetch, p, sums);
  const f32x16 alpha = p->alpha;
  UNROLL for (int i = 0; i < rows; i++, c += p->cRow) {
    UNROLL for (int j = 0; j < panels; j++) {
      char *at = c + j * p->cPanel;
      store16(at, p->add ? fma16(alpha, sums[i][j], load16(at)) : alpha * sums[i][j]);
    }
  }
}

INLINE void tile(const int rows, const int panels, const Product *p) {
  sums_of_tile(rows, panels, FETCH_NOTHING, p);
}

INLINE void fetch_panels(const int rows, const int panels, const Product *p) {
  sums_of_tile(rows, panels, FETCH_PANELS, p);
}

INLINE void fetch_rows(const int rows, const int panels, const Product *p) {
  sums_of_tile(rows, panels, FETCH_ROWS, p);
}

/**
 * Computes a tile without alpha. With `add` each sum is one chain that begins with the old value of
 * its element.
 */
INLINE void chain(const int rows, const int panels, const Product *p) {
  f32x16 sums[MAX_ROWS][FEW_ROWS_PANELS];
  if (p->add) {
    UNROLL for (int i = 0; i < rows; i++) {
      UNROLL for (int j = 0; j < panels; j++) {
        sums[i][j] = load16(p->c + (size_t)i * p->cRow + j * p->cPanel);
      }
    }
  } else {
    UNROLL for (int i = 0; i < rows; i++) {
      UNROLL for (int j = 0; j < panels; j++) sums[i][j] = (f32x16)0.0f;
    }
  }
  add_terms(rows, panels, FETCH_NOTHING, p, sums);
  char *c = p->c;
  UNROLL for (int i = 0; i < rows; i++, c += p->cRow) {
    UNROLL for (int j = 0; j < panels; j++) store16(c + j * p->cPanel, sums[i][j]);
  }
}
#endif

// The functions of all tiles are in tiles.c: EACH_TILE(DO, kind) does DO for each size.
#define SIZES_TO_6(DO, kind, panels)                                                        \
  DO(kind, 1, panels) DO(kind, 2, panels) DO(kind, 3, panels) DO(kind, 4, panels)           \
  DO(kind, 5, panels) DO(kind, 6, panels)
#define SIZES_TO_14(DO, kind, panels)                                                       \
  SIZES_TO_6(DO, kind, panels)                                                              \
  DO(kind, 7, panels) DO(kind, 8, panels) DO(kind, 9, panels) DO(kind, 10, panels)          \
  DO(kind, 11, panels) DO(kind, 12, panels) DO(kind, 13, panels) DO(kind, 14, panels)
#if FEW_ROWS_PANELS == 1
#define EACH_TILE(DO, kind) SIZES_TO_6(DO, kind, 1)
#elif MAX_PANELS == 1
#define EACH_TILE(DO, kind) \
  SIZES_TO_6(DO, kind, 1) DO(kind, 1, 2) DO(kind, 2, 2) DO(kind, 1, 4)
#else
#define EACH_TILE(DO, kind) \
  SIZES_TO_14(DO, kind, 1) SIZES_TO_14(DO, kind, 2) SIZES_TO_6(DO, kind, 4)
#endif

#define DECLARE(kind, rows, panels) void kind##_##rows##_##panels(const Product *p);
#define DECLARE_KIND(kind) EACH_TILE(DECLARE, kind)
TILE_KINDS(DECLARE_KIND)

#define CASE(kind, rows, panels)   \
  case rows:                       \
    kind##_##rows##_##panels(p);   \
    return;
#if FEW_ROWS_PANELS == 1
/** `rows` × 1 panel of a product, up to 6 rows. */
#define DISPATCH(kind)                                                \
  INLINE void kind##_of(int rows, int panels, const Product *p) {     \
    (void)panels;                                                     \
    switch (rows) { SIZES_TO_6(CASE, kind, 1) }                       \
  }
#elif MAX_PANELS == 1
/** The same, also 1 row × 4 panels, and 1 or 2 rows × 2 panels. */
#define DISPATCH(kind)                                                \
  INLINE void kind##_of(int rows, int panels, const Product *p) {     \
    if (panels == 1) {                                                \
      switch (rows) { SIZES_TO_6(CASE, kind, 1) }                     \
    } else if (panels == 4) {                                         \
      kind##_1_4(p);                                                  \
    } else {                                                          \
      rows == 1 ? kind##_1_2(p) : kind##_2_2(p);                      \
    }                                                                 \
  }
#else
/** `rows` × `panels` of a product: 1 or 2 panels and up to 14 rows, or 4 panels and up to 6. */
#define DISPATCH(kind)                                                \
  INLINE void kind##_of(int rows, int panels, const Product *p) {     \
    if (panels == 1) {                                                \
      switch (rows) { SIZES_TO_14(CASE, kind, 1) }                    \
    } else if (panels == 2) {                                         \
      switch (rows) { SIZES_TO_14(CASE, kind, 2) }                    \
    } else {                                                          \
      switch (rows) { SIZES_TO_6(CASE, kind, 4) }                     \
    }                                                                 \
  }
#endif
TILE_KINDS(DISPATCH)

#ifdef __wasm__
INLINE void tile_of(int rows, int panels, const Product *p) {
  if (p->sRow == 4) p->add ? columns_add_of(rows, panels, p) : columns_set_of(rows, panels, p);
  else p->add ? rows_add_of(rows, panels, p) : rows_set_of(rows, panels, p);
}

INLINE void chain_of(int rows, int panels, const Product *p) {
  if (p->sRow == 4) {
    p->add ? chain_columns_add_of(rows, panels, p) : chain_columns_set_of(rows, panels, p);
  } else {
    p->add ? chain_rows_add_of(rows, panels, p) : chain_rows_set_of(rows, panels, p);
  }
}

// WebAssembly has no instruction that fetches.
#define fetch_panels_of tile_of
#define fetch_rows_of tile_of
#endif

#if FEW_ROWS_PANELS == 1
INLINE int max_rows(int panels, size_t sRow) {
  (void)panels, (void)sRow;
  return MAX_ROWS;
}

INLINE int panels_at_once(int count, int rows, size_t sRow) {
  (void)count, (void)rows, (void)sRow;
  return 1;
}
#else
/**
 * Max rows of a tile. Rows that are a multiple of 4 KB apart share one set of the first-level
 * cache, which holds 8 or 12 lines.
 */
INLINE int max_rows(int panels, size_t sRow) {
#if MAX_PANELS > 1
  if (sRow % 4096 == 0) return MAX_ROWS_OF_4;
#else
  (void)sRow;
#endif
  return panels == 4 ? MAX_ROWS_OF_4 : panels == 2 ? MAX_ROWS_OF_2 : MAX_ROWS;
}

/** Number of panels that are computed together, of `count` neighbouring ones. */
INLINE int panels_at_once(int count, int rows, size_t sRow) {
  if (count >= 4 && (rows <= MAX_ROWS_OF_4 || max_rows(1, sRow) == MAX_ROWS_OF_4)) return 4;
  return count >= 2 && (MAX_PANELS > 1 || rows <= MAX_ROWS_OF_2) ? 2 : 1;
}
#endif

/** A product of any number of rows, in tiles of about the same height; p is as before after it. */
void multiply(int rows, int panels, Product *p);

/**
 * The same, which also fetches from p->ahead on: about `lines` lines of each panel, or `times`
 * times those of a row. They are spread over the terms: a core waits for the lines before, where it
 * is asked for many at once.
 */
void multiply_fetching_panels(int rows, int panels, Product *p, int lines);
void multiply_fetching_rows(int rows, int panels, Product *p, int times);

/**
 * Lines of the memory that tiles fetch while they are multiplied: `lines` in `tiles` tiles. Where
 * `width` is not 0 they are not neighbours: so many of each row, which are `step` bytes apart.
 */
typedef struct {
  const char *at;
  int lines, tiles, width;
  size_t step;
} Fetch;

/** A tile that fetches its share of the lines. */
void tile_and_fetch(int rows, int panels, Product *p, Fetch *f);

/** Chains of any number of rows and of neighbouring panels. */
void chains(int rows, int panels, Product *p);

// The blocked product of blocks.h.
#include "blocks.h"

/** Stores (or adds) the transpose of block [rows][16]: out [columns][rows]. */
static void store_transposed(
  const char *block, int rows, int columns, char *out, size_t outStep, int add
) {
  for (int i = 0; i < rows; i += LANES) {
    const int count = min(LANES, rows - i);
    f32x16 r[16];
    UNROLL for (int t = 0; t < 16; t++) {
      r[t] = t < count ? load16(block + (size_t)(i + t) * ROW) : (f32x16)0.0f;
    }
    TRANSPOSE16(r)
    char *to = out + (size_t)i * 4;
    if (count == LANES) {
      UNROLL for (int t = 0; t < 16; t++) {
        if (t < columns) {
          char *at = to + (size_t)t * outStep;
          store16(at, add ? load16(at) + r[t] : r[t]);
        }
      }
    } else {
      for (int t = 0; t < columns; t++) {
        ONE_BY_ONE for (int j = 0; j < count; j++) {
          char *at = to + (size_t)t * outStep + j * 4;
          const float value = load1(block + (size_t)(i + j) * ROW + t * 4);
          store1(at, add ? load1(at) + value : value);
        }
      }
    }
  }
}

/** Copies the first `columns` columns of each row. */
static void copy_columns(
  const char *from, size_t fromStep, char *to, size_t toStep, int rows, int columns
) {
  for (; rows > 0; rows--, from += fromStep, to += toStep) {
    ONE_BY_ONE for (int j = 0; j < columns; j++) store1(to + j * 4, load1(from + j * 4));
  }
}

/** The block [16][16] at `to` = the transpose of the 16 rows at `from`, `fromStep` bytes apart. */
static void transpose_block(const char *from, size_t fromStep, char *to, size_t toStep) {
  f32x16 r[16];
  UNROLL for (int t = 0; t < 16; t++) r[t] = load16(from + (size_t)t * fromStep);
  TRANSPOSE16(r)
  UNROLL for (int t = 0; t < 16; t++) store16(to + (size_t)t * toStep, r[t]);
}

/** Sums of fewer terms are in the caches anyway. */
#define LONG 128
/** Bytes of V that are read at once for long sums. */
#define GROUP_BYTES (256 * 1024)

/**
 * Products of long sums with a narrow operand (the gradients of adapters): out [rows, panels · 16]
 * = (with `accumulate` +=) alpha · S · V, at most 16 rows. S and V are read in place, term by term.
 * The sums are made block by block, so that the rows of V are read in the order of memory: panels
 * one after the other would be strides that no prefetcher follows. `across`: the transpose of out,
 * which then has 16 columns.
 */
static void multiply_long(const Blocks *g, Product p, int rows, int panels, char *out, int across) {
  char edge[MAX_PANELS * LANES * ROW] __attribute__((aligned(64)));
  const char *s = p.s, *v = p.v;
  // So many panels of a block of terms stay in the second-level cache.
  const int group = max(MAX_PANELS, GROUP_BYTES / ROW / g->kBlock);
  p.alpha = g->alpha;
  p.vPanel = ROW;
  p.cRow = across ? ROW : g->outStep;
  p.cPanel = across ? LANES * ROW : ROW;
  p.aheadStep = p.vTerm;
  for (int i = 0; i < min(g->kBlock, g->k); i++) {
    prefetch(v + i * p.vTerm, (size_t)min(group, panels) * ROW);
  }
  for (int kk = 0; kk < g->k; kk += g->kBlock) {
    p.k = min(g->kBlock, g->k - kk);
    p.add = kk > 0 || g->accumulate;
    p.s = s + (size_t)kk * p.sTerm;
    const char *block = v + (size_t)kk * p.vTerm;
    for (int first = 0; first < panels; first += group) {
      const int last = min(first + group, panels), isLast = last == panels;
      // While this group is multiplied, the next one is fetched: the one beside or below it.
      const char *next = isLast ? block + (size_t)p.k * p.vTerm : block + (size_t)last * ROW;
      int terms = isLast ? min(g->kBlock, g->k - kk - p.k) : p.k;
      p.aheadLines = isLast ? min(group, panels) : min(group, panels - last);
      for (int panel = first, count; panel < last; panel += count) {
        count = panels_at_once(last - panel, rows, p.sRow);
        p.v = block + (size_t)panel * ROW;
        p.c = across ? edge : out + (size_t)panel * ROW;
        char *to = out + (size_t)panel * LANES * g->outStep;
        for (int j = 0; across && p.add && j < count; j++) {
          transpose_block(to + (size_t)j * LANES * g->outStep, g->outStep, edge + j * p.cPanel, ROW);
        }
        const int times = ceil_div(terms, ceil_div(last - panel, count));
        p.ahead = next;
        if (times > 0) multiply_fetching_rows(rows, count, &p, times);
        else multiply(rows, count, &p);
        next += (size_t)times * p.vTerm;
        terms -= times;
        for (int j = 0; across && j < count; j++) {
          transpose_block(edge + j * p.cPanel, ROW, to + (size_t)j * LANES * g->outStep, g->outStep);
        }
      }
    }
  }
}

/** The first row of tile t, where the first `high` tiles have a row more than the others. */
INLINE int row_of_tile(int t, int low, int high) {
  return t * low + min(t, high);
}

/** Does the units [begin, end) by multiply_long, where its conditions hold. */
static int done_as_long(const Blocks *g, int begin, int end) {
  if (g->sLayout != S_COLUMNS || g->swapped || g->k < LONG) return 0;
  const int tiles = ceil_div(g->rows, TILE_ROWS);
  if (tiles <= g->blockTiles && g->rows <= LANES && end <= min(g->directPanels, g->columns / LANES)) {
    const Product p = {
      .s = g->s, .sRow = 4, .sTerm = g->sStep, .v = g->vDirect + (size_t)begin * ROW,
      .vTerm = g->vDirectStep,
    };
    multiply_long(g, p, g->rows, end - begin, g->out + (size_t)begin * ROW, 0);
    return 1;
  }
  if (g->columns != LANES) return 0;
  // The operands change places: the columns of S fill the lanes.
  const int low = g->rows / tiles, high = g->rows % tiles;
  const int first = row_of_tile(begin * g->blockTiles, low, high);
  const int last = row_of_tile(min(tiles, end * g->blockTiles), low, high);
  const int panels = (last - first) / LANES, rest = first + panels * LANES;
  const int direct = g->directPanels > 0;
  const char *v = direct ? g->vDirect : g->vPacked;
  const size_t vTerm = direct ? g->vDirectStep : ROW;
  Product p = { .s = v, .sRow = 4, .sTerm = vTerm, .v = g->s + (size_t)first * 4, .vTerm = g->sStep };
  multiply_long(g, p, LANES, panels, g->out + (size_t)first * g->outStep, 1);
  if (rest == last) return 1;
  p = (Product){ .sRow = 4, .sTerm = g->sStep, .vTerm = vTerm, .alpha = g->alpha };
  p.c = g->out + (size_t)rest * g->outStep;
  p.cRow = g->outStep;
  for (int kk = 0; kk < g->k; kk += g->kBlock) {
    p.k = min(g->kBlock, g->k - kk);
    p.add = kk > 0 || g->accumulate;
    p.s = g->s + (size_t)rest * 4 + (size_t)kk * g->sStep;
    p.v = v + (size_t)kk * vTerm;
    multiply(last - rest, 1, &p);
  }
  return 1;
}

/** Sums of so few terms take less time than the way of the result to a core and back. */
#define SHORT 64
/** Bytes of V that stay in the second-level cache, beside rows of S and of the result. */
#define SMALL_BYTES (512 * 1024)
/** V with more bytes does not stay in the second-level cache; max bytes of a group of panels. */
#define LARGE_BYTES (2 * 1024 * 1024)
#define GROUP_OF_LARGE (512 * 1024)
/** Panels that are multiplied together with so many terms stay in the second-level cache. */
#define TERMS_OF_LARGE (LARGE_BYTES / 2 / ROW / MAX_PANELS)
/** S with fewer bytes is in a core's own cache. */
#define FAR_BYTES (256 * 1024)

/** What all units of a product have in common. */
typedef struct {
  /** Number of panels, and of those that are full. */
  int panels, full;
  /** How the rows are divided into tiles of the WASM device. */
  int tiles, low, high;
  /** Whether V stays in the second-level cache, and whether S does not. */
  int isSmall, isFar;
  /** Whether a V that does not stay there is read once: tiles fetch the panels behind theirs. */
  int isOnce;
  /** The terms [from, to) are summed now: all, or a part of the terms of a large V. */
  int from, to;
} Shape;

/**
 * A tile with its terms, kBlock at a time, which fetches `next` if it is not NULL. p->s and p->v
 * are those of the first term of all; they are changed.
 */
static void sum_blocks(
  const Blocks *g, const Shape *shape, int rows, int panels, Product *p, Fetch *next
) {
  const char *const s = p->s, *const v = p->v;
  for (int kk = shape->from; kk == shape->from || kk < shape->to; kk += g->kBlock) {
    p->k = min(g->kBlock, shape->to - kk);
    p->add = kk > 0 || (!g->swapped && g->accumulate);
    p->isFar = kk == shape->from;
    p->s = s + (size_t)kk * p->sTerm;
    p->v = v + (size_t)kk * p->vTerm;
    if (next != NULL) tile_and_fetch(rows, panels, p, next);
    else tile_of(rows, panels, p);
  }
}

/**
 * A product in which the rows of a tile are done at once, so that those of S and of the result are
 * read in the order of memory. p is as of the first term of all; it is changed.
 */
static void multiply_narrow(const Blocks *g, const Shape *shape, Product *p, int rows, int panels) {
  // A tile fetches the rows of the next one.
  const int fetches = shape->isFar && shape->isSmall && g->k > SHORT && panels > 2;
  const int together = min(2, MAX_PANELS), tiles = ceil_div(rows, max_rows(together, p->sRow));
  const char *s = p->s, *const v = p->v;
  char *c = p->c;
  for (int t = 0; t < tiles; t++) {
    const int height = rows / tiles + (t < rows % tiles);
    Fetch next = { .at = s + (size_t)height * p->sRow };
    if (fetches) next.lines = (int)(height * p->sRow / CACHE_LINE) + 1;
    next.tiles = ceil_div(shape->to - shape->from, g->kBlock) * ceil_div(panels, together);
    for (int kk = shape->from; kk == shape->from || kk < shape->to; kk += g->kBlock) {
      p->k = min(g->kBlock, shape->to - kk);
      p->add = kk > 0 || g->accumulate;
      p->isFar = kk == shape->from;
      p->s = s + (size_t)kk * p->sTerm;
      for (int first = 0, count; first < panels; first += count) {
        count = min(together, panels - first);
        p->v = v + (size_t)first * p->vPanel + (size_t)kk * p->vTerm;
        p->c = c + (size_t)first * p->cPanel;
        tile_and_fetch(height, count, p, g->next != NULL ? g->next : &next);
      }
    }
    s += (size_t)height * p->sRow;
    c += (size_t)height * p->cRow;
  }
}

/** The units from `unit` on, before `end`, that are computed together; returns how many. */
static int multiply_units(const Blocks *g, const Shape *shape, int unit, int end) {
  char edge[2 * BLOCK_ROWS * ROW] __attribute__((aligned(64)));
  const int panels = shape->panels, full = shape->full, low = shape->low, high = shape->high;
  const int panel = unit % panels, firstTile = unit / panels * g->blockTiles;
  const int lastTile = min(shape->tiles, firstTile + g->blockTiles);
  const int firstRow = row_of_tile(firstTile, low, high);
  const int rows = row_of_tile(lastTile, low, high) - firstRow;
  const int direct = panel < g->directPanels;
  const int part = panel == full; // the last panel, which is not full
  // Neighbouring panels are computed together, if both are full and stored in the same way.
  const int last = part ? panel + 1 : direct ? min(g->directPanels, full) : full;
  const int height = g->sLayout == S_TILES ? TILE_ROWS : rows;
  const size_t step = g->sLayout == S_ROWS ? g->sStep : 4;
  int count = min(end - unit, last - panel);
  const int isNarrow = g->sLayout == S_ROWS && !g->swapped && !part &&
    (g->k <= SHORT || last - panel <= 2 || shape->isSmall) &&
    (MAX_PANELS > 1 || panels_at_once(count, height, step) == 1);
  if (!isNarrow) count = panels_at_once(count, height, step);
  if (g->swapped) count = min(count, 2);

  const int through = g->swapped || part;
  char *to = g->out + (size_t)firstRow * g->outStep + (size_t)panel * ROW;
  const int width = min(LANES, g->columns - panel * LANES);
  const int adds = !g->swapped && (g->accumulate || shape->from > 0);
  if (part && adds) copy_columns(to, g->outStep, edge, ROW, rows, width);

  const char *const v = direct
    ? g->vDirect + (size_t)panel * ROW
    : g->vPacked + (size_t)(panel - g->directPanels) * (size_t)g->k * ROW;
  Product p = {
    .s = g->s + (size_t)firstRow * step, .sRow = step, .sTerm = g->sLayout == S_ROWS ? 4 : g->sStep,
    .v = v, .vTerm = direct ? g->vDirectStep : ROW, .vPanel = direct ? ROW : (size_t)g->k * ROW,
    .c = through ? edge : to, .cRow = through ? ROW : g->outStep,
    .cPanel = through ? BLOCK_ROWS * ROW : ROW, .alpha = g->alpha,
  };
  if (isNarrow) {
    multiply_narrow(g, shape, &p, rows, count);
    return count;
  }
  const int tiles = ceil_div(rows, max_rows(count, step));
  Fetch behind = { .at = v + (size_t)count * p.vPanel, .tiles = tiles * ceil_div(g->k, g->kBlock) };
  Fetch *next = g->next;
  // Where several panels are read at once, AVX2 waits for the instructions that fetch.
  if (shape->isOnce && !direct && unit + count < end && (MAX_PANELS > 1 || count == 1)) {
    behind.lines = min(count, end - unit - count) * g->k;
    next = &behind;
  }
  for (int t = 0, row = firstRow; row < firstRow + rows; t++) {
    int tileRows = rows / tiles + (t < rows % tiles);
    const char *s = g->s + (size_t)row * step;
    if (g->sLayout == S_TILES) {
      tileRows = firstTile + t < high ? low + 1 : low;
      p.sTerm = (size_t)tileRows * 4;
      s = g->s + (size_t)row * g->k * 4;
    }
    p.s = s;
    p.v = v;
    sum_blocks(g, shape, tileRows, count, &p, next);
    p.c += (size_t)tileRows * p.cRow;
    row += tileRows;
  }

  if (g->swapped) {
    for (int j = 0; j < count; j++) {
      const int columns = min(LANES, g->columns - (panel + j) * LANES);
      char *across = g->out + (size_t)(panel + j) * LANES * g->outStep + (size_t)firstRow * 4;
      store_transposed(
        edge + (size_t)j * p.cPanel, rows, columns, across, g->outStep, g->accumulate
      );
    }
  } else if (part) {
    copy_columns(edge, ROW, to, g->outStep, rows, width);
  }
  return count;
}

/** The units [begin, end), with the panels of V in `groups` groups. */
static void multiply_groups(const Blocks *g, const Shape *shape, int groups, int begin, int end) {
  const int panels = shape->panels;
  const int group = ceil_div(ceil_div(panels, groups), MAX_PANELS) * MAX_PANELS;
  for (int first = 0; first < panels; first += group) {
    for (int block = begin / panels; block * panels < end; block++) {
      const int left = block * panels + first;
      const int last = min(end, block * panels + min(panels, first + group));
      for (int unit = max(begin, left); unit < last;) unit += multiply_units(g, shape, unit, last);
    }
  }
}

void multiply_blocks(const Blocks *g, int begin, int end) {
  if (done_as_long(g, begin, end)) return;
  const int panels = ceil_div(g->columns, LANES), tiles = ceil_div(g->rows, TILE_ROWS);
  const size_t bytes = (size_t)panels * ROW * g->k;
  Shape shape = {
    .panels = panels, .full = g->columns / LANES, .tiles = tiles, .low = g->rows / tiles,
    .high = g->rows % tiles, .isFar = (size_t)g->rows * g->sStep > FAR_BYTES,
    .isSmall = bytes <= SMALL_BYTES && max_rows(min(2, MAX_PANELS), g->sStep) == MAX_ROWS,
    .isOnce = bytes > SMALL_BYTES && tiles <= g->blockTiles, .to = g->k,
  };
  if (bytes <= LARGE_BYTES || g->k <= SHORT) {
    multiply_groups(g, &shape, 1, begin, end);
    return;
  }
  // A large V is taken in groups of panels, and in parts of the terms: each stays in the
  // second-level cache while all rows are multiplied by it. A swapped result is added once.
  const int parts = g->swapped || shape.isOnce ? 1 : ceil_div(g->k, TERMS_OF_LARGE);
  const int terms = ceil_div(ceil_div(g->k, parts), g->kBlock) * g->kBlock;
  const int groups = (int)((size_t)panels * ROW * min(terms, g->k) / GROUP_OF_LARGE) + 1;
  for (; shape.from < g->k; shape.from += terms) {
    shape.to = min(shape.from + terms, g->k);
    multiply_groups(g, &shape, groups, begin, end);
  }
}

void multiply_packed(
  const char *s, size_t sStep, const char *packed, char *out, size_t outStep, int rows, int columns,
  int k, int kBlock, int blockTiles, float alpha, int accumulate, Fetch *next
) {
  const Blocks g = {
    .s = s, .sStep = sStep, .sLayout = S_ROWS, .vPacked = packed, .out = out, .outStep = outStep,
    .rows = rows, .columns = columns, .k = k, .kBlock = kBlock, .blockTiles = blockTiles,
    .alpha = alpha, .accumulate = accumulate, .next = next,
  };
  if (next != NULL) {
    const int together = min(2, MAX_PANELS);
    const int tiles = ceil_div(rows, max_rows(together, sStep));
    next->tiles = tiles * ceil_div(k, kBlock) * ceil_div(ceil_div(columns, LANES), together);
  }
  const int blocks = ceil_div(ceil_div(rows, TILE_ROWS), blockTiles);
  multiply_blocks(&g, 0, blocks * ceil_div(columns, LANES));
}

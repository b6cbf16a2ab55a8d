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

void multiply_blocks(const Blocks *g, int begin, int end) {
  char edge[2 * BLOCK_ROWS * ROW] __attribute__((aligned(64)));
  const int panels = ceil_div(g->columns, LANES), full = g->columns / LANES;
  const int tiles = ceil_div(g->rows, TILE_ROWS);
  const int low = g->rows / tiles, high = g->rows % tiles;
  for (int unit = begin, count; unit < end; unit += count) {
    const int panel = unit % panels, firstTile = unit / panels * g->blockTiles;
    const int lastTile = min(tiles, firstTile + g->blockTiles);
    const int firstRow = firstTile * low + min(firstTile, high);
    const int rows = lastTile * low + min(lastTile, high) - firstRow;
    const int direct = panel < g->directPanels;
    const int part = panel == full; // the last panel, which is not full
    // Neighbouring panels are computed together, if both are full and stored in the same way.
    const int last = part ? panel + 1 : direct ? min(g->directPanels, full) : full;
    const int height = g->sLayout == S_TILES ? TILE_ROWS : rows;
    const size_t step = g->sLayout == S_ROWS ? g->sStep : 4;
    count = panels_at_once(min(end - unit, last - panel), height, step);
    if (g->swapped) count = min(count, 2);

    const int through = g->swapped || part;
    char *to = g->out + (size_t)firstRow * g->outStep + (size_t)panel * ROW;
    const int width = min(LANES, g->columns - panel * LANES);
    if (part && !g->swapped && g->accumulate) copy_columns(to, g->outStep, edge, ROW, rows, width);

    Product p = { .k = 0, .alpha = g->alpha };
    p.vTerm = direct ? g->vDirectStep : ROW;
    p.vPanel = direct ? ROW : (size_t)g->k * ROW;
    p.cRow = through ? ROW : g->outStep;
    p.cPanel = through ? BLOCK_ROWS * ROW : ROW;
    const char *v = direct
      ? g->vDirect + (size_t)panel * ROW
      : g->vPacked + (size_t)(panel - g->directPanels) * (size_t)g->k * ROW;
    int kk = 0;
    do {
      p.k = min(g->kBlock, g->k - kk);
      p.add = kk > 0 || (!g->swapped && g->accumulate);
      p.v = v + (size_t)kk * p.vTerm;
      p.c = through ? edge : to;
      if (g->sLayout == S_TILES) {
        p.sRow = 4;
        for (int t = firstTile, row = firstRow; t < lastTile; t++) {
          const int tileRows = t < high ? low + 1 : low;
          p.sTerm = (size_t)tileRows * 4;
          p.s = g->s + (size_t)row * g->k * 4 + (size_t)kk * p.sTerm;
          tile_of(tileRows, count, &p);
          p.c += (size_t)tileRows * p.cRow;
          row += tileRows;
        }
      } else {
        p.sRow = step;
        p.sTerm = g->sLayout == S_ROWS ? 4 : g->sStep;
        p.s = g->s + (size_t)firstRow * p.sRow + (size_t)kk * p.sTerm;
        multiply(rows, count, &p);
      }
      kk += g->kBlock;
    } while (kk < g->k);

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
  }
}

void multiply_packed(
  const char *s, size_t sStep, const char *packed, char *out, size_t outStep, int rows, int columns,
  int k, int kBlock, int blockTiles, float alpha, int accumulate
) {
  const Blocks g = {
    .s = s, .sStep = sStep, .sLayout = S_ROWS, .vPacked = packed, .out = out, .outStep = outStep,
    .rows = rows, .columns = columns, .k = k, .kBlock = kBlock, .blockTiles = blockTiles,
    .alpha = alpha, .accumulate = accumulate,
  };
  const int blocks = ceil_div(ceil_div(rows, TILE_ROWS), blockTiles);
  multiply_blocks(&g, 0, blocks * ceil_div(columns, LANES));
}

// The register tiles of tiles.h.
#include "tiles.h"

#define DEFINE(kind, rows, panels)                                             \
  __attribute__((noinline)) void kind##_##rows##_##panels(const Product *p) {  \
    kind(rows, panels, p);                                                     \
  }
#define DEFINE_EACH(kind) EACH_TILE(DEFINE, kind)
TILE_KINDS(DEFINE_EACH)

// A copy of the product would be made with wide loads of what has just been stored in small parts,
// which a processor cannot forward. So its pointers are changed and restored.
#define IN_TILES(kind, rows, panels, p, more)                                         \
  const char *const s = p->s;                                                         \
  char *const c = p->c;                                                               \
  const int tiles = ceil_div(rows, max_rows(panels, p->sRow));                        \
  const int low = rows / tiles, high = rows % tiles;                                  \
  for (int t = 0; t < tiles; t++) {                                                   \
    const int height = t < high ? low + 1 : low;                                      \
    kind##_of(height, panels, p);                                                     \
    p->s += (size_t)height * p->sRow;                                                 \
    p->c += (size_t)height * p->cRow;                                                 \
    more;                                                                             \
  }                                                                                   \
  p->s = s;                                                                           \
  p->c = c;

void multiply(int rows, int panels, Product *p) {
  IN_TILES(tile, rows, panels, p, (void)0)
}

/** Fetches `times` times or a little less: at most once in a turn of the loop. */
static void divide_times(Product *p, int times) {
  const int turns = max(1, ceil_div(p->k, TURN));
  p->aheadTimes = min(times, turns);
  p->aheadTerms = turns / p->aheadTimes * TURN;
}

void multiply_fetching_panels(int rows, int panels, Product *p, int lines) {
  divide_times(p, ceil_div(lines, ceil_div(rows, max_rows(panels, p->sRow))));
  const size_t fetched = (size_t)p->aheadTimes * CACHE_LINE;
  IN_TILES(fetch_panels, rows, panels, p, p->ahead += fetched)
}

void multiply_fetching_rows(int rows, int panels, Product *p, int times) {
  p->aheadTimes = ceil_div(times, ceil_div(rows, max_rows(panels, p->sRow)));
  p->aheadTerms = max(1, p->k / p->aheadTimes);
  IN_TILES(fetch_rows, rows, panels, p, p->ahead += (size_t)p->aheadTimes * p->aheadStep)
}

void tile_and_fetch(int rows, int panels, Product *p, Fetch *f) {
  const int tiles = max(1, f->tiles--);
  if (f->lines <= 0) {
    tile_of(rows, panels, p);
    return;
  }
  const int lines = ceil_div(f->lines, tiles);
  p->aheadLines = f->width > 0 ? f->width : ceil_div(lines, max(1, ceil_div(p->k, TURN)));
  p->aheadStep = f->width > 0 ? f->step : (size_t)p->aheadLines * CACHE_LINE;
  divide_times(p, ceil_div(lines, p->aheadLines));
  p->ahead = f->at;
  fetch_rows_of(rows, panels, p);
  f->at += (size_t)p->aheadTimes * p->aheadStep;
  f->lines -= p->aheadTimes * p->aheadLines;
}

static void chains_of(int rows, int panels, Product *p) {
  IN_TILES(chain, rows, panels, p, (void)0)
}

void chains(int rows, int panels, Product *p) {
  const char *const v = p->v;
  char *const c = p->c;
  for (int first = 0, count; first < panels; first += count) {
    count = panels_at_once(panels - first, rows, p->sRow);
    chains_of(rows, count, p);
    p->v += (size_t)count * p->vPanel;
    p->c += (size_t)count * p->cPanel;
  }
  p->v = v;
  p->c = c;
}

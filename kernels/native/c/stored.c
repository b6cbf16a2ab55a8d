// Products with stored weights (kernels/ops/matmul/wasm/stored.ts). Weights are widened slice by
// slice in the scratch of the thread, and multiplied there.
#include "blocks.h"
#include "widen_columns.h"
#include "kernel.h"

/** Bytes of the sums of a panel for few rows. */
#define EDGE ((size_t)BLOCK_ROWS * ROW)
/** Max panels that are multiplied together for few rows, and for more (MAX_UNIT_PANELS). */
#define FEW_TOGETHER (MAX_PANELS > 1 ? 2 : 1)
#define TOGETHER 4
/** Panels of a unit with fewer bytes are not fetched before: that would take longer. */
#define LONG_PANELS (32 * 1024)

/** What is fetched during a product: `lines` lines for each panel, `panelStep` bytes apart. */
typedef struct {
  const char *at;
  size_t panelStep;
  int lines;
} Ahead;

/**
 * out [panels][rows, 16] = (with `add` +=) alpha · a [rows, k] · panel [panels][k, 16] of one or
 * two panels, `kBlock` terms at a time. The panels of out are EDGE bytes apart.
 */
static void multiply_panels(
  const char *a, size_t aStep, const char *panel, char *out, int rows, int panels, int k,
  int kBlock, float alpha, int add, Ahead ahead
) {
  Product p = { .s = a, .sRow = aStep, .sTerm = 4, .v = panel, .vTerm = ROW };
  p.vPanel = (size_t)k * ROW;
  p.c = out;
  p.cRow = ROW;
  p.cPanel = EDGE;
  p.alpha = alpha;
  p.ahead = ahead.at;
  p.aheadStep = ahead.panelStep;
  for (int kk = 0; kk < k; kk += kBlock) {
    p.k = min(kBlock, k - kk);
    p.add = add || kk > 0;
    if (kk == 0 && ahead.lines > 0) multiply_fetching_panels(rows, panels, &p, ahead.lines);
    else multiply(rows, panels, &p);
    p.s += (size_t)kBlock * 4;
    p.v += (size_t)kBlock * ROW;
  }
}

/** Copies `rows` rows of 16 floats. */
static void copy_rows(const char *from, size_t fromStep, char *to, size_t toStep, int rows) {
  ONE_BY_ONE for (; rows > 0; rows--, from += fromStep, to += toStep) store16(to, load16(from));
}

/**
 * out [m, n] = (with `accumulate` +=) alpha · a [m, k] · Wᵀ; W [n, k]. Unit: `unitRows` rows of a ×
 * `unitPanels` panels of W; the panels vary fastest. `slice` terms (whole blocks) are widened at
 * once; `kBlock` and `blockTiles` are those of matmul_blocks.
 * Where r > 0, the product of an adapter is added: loraScale · xa [m, r] · loraB [n, r]ᵀ, `rBlock`
 * terms in order.
 * Scratch: 64 · max(slice, r) · TOGETHER bytes.
 */
KERNEL(matmul_stored,
  type, a, w, out, m, n, k, unitRows, unitPanels, slice, kBlock, blockTiles, alpha, accumulate,
  xa, loraB, r, rBlock, loraScale
) {
  char *const a = AT(a), *const w = AT(w), *const out = AT(out), *const xa = AT(xa),
    *const loraB = AT(loraB);
  const int type = args->type, m = args->m, n = args->n, k = args->k, unitRows = args->unitRows,
    unitPanels = args->unitPanels, slice = args->slice, kBlock = args->kBlock,
    blockTiles = args->blockTiles, accumulate = args->accumulate, r = args->r,
    rBlock = args->rBlock;
  const float alpha = args->alpha, loraScale = args->loraScale;
  char edge[FEW_TOGETHER * EDGE] __attribute__((aligned(64)));
  char *packed = scratch;
  const int weights = block_weights(type);
  const size_t step = panel_bytes(type, k), aStep = (size_t)k * 4, outStep = (size_t)n * 4;
  const int panels = ceil_div(n, LANES), groups = ceil_div(panels, unitPanels);
  for (int unit = begin, units; unit < end; unit += units) {
    const int row = unit / groups * unitRows, rows = min(unitRows, m - row);
    const int first = unit % groups * unitPanels;
    // Few rows are summed on the stack: rows of a wide result often map to the same few cache sets.
    const int few = unitPanels == 1 && (first + 1) * LANES <= n &&
      ceil_div(rows, TILE_ROWS) <= blockTiles;
    // The tiles of this device are wider than a panel, so neighbouring units are done together.
    const int together = few ? min(FEW_TOGETHER, n / LANES - first) : TOGETHER;
    units = min(min(end - unit, groups - unit % groups), max(1, together / unitPanels));
    const int count = min(units * unitPanels, panels - first);
    const int columns = min(count * LANES, n - first * LANES);
    const char *from = a + (size_t)row * aStep;
    const char *panel = w + (size_t)first * step;
    char *to = out + (size_t)row * outStep + (size_t)first * ROW;
    const size_t lowStep = (size_t)r * 4, lowBytes = (size_t)columns * lowStep;
    const char *const low = loraB + (size_t)(first * LANES) * lowStep;
    if (few && accumulate) {
      for (int p = 0; p < count; p++) copy_rows(to + p * ROW, outStep, edge + p * EDGE, ROW, rows);
    }
    for (int kk = 0; kk < k; kk += slice) {
      const int depth = min(slice, k - kk), blocks = depth / weights;
      const int add = kk > 0 || accumulate;
      for (int p = 0; p < count; p++) {
        char *wide = packed + (size_t)p * depth * ROW;
        const int missing = n - (first + p) * LANES;
        widen_panel(type, panel + (size_t)p * step, missing, k, kk / weights, blocks, wide);
      }
      if (few) {
        Ahead ahead = { NULL, step, 0 };
        if (type > BF16) {
          const size_t record = record_bytes(type), bytes = (size_t)blocks * record;
          // Behind the end of a panel is the next one of this unit, or the next unit.
          ahead.at = panel + (size_t)(kk / weights) * record + bytes;
          if (kk + depth >= k) ahead.at += (size_t)(count - 1) * step;
          ahead.lines = ceil_div((int)bytes, CACHE_LINE);
        }
        // The adapter's rows of this unit, a part with each slice.
        prefetch(low + lowBytes * kk / k, lowBytes * depth / k);
        multiply_panels(
          from + (size_t)kk * 4, aStep, packed, edge, rows, count, depth, kBlock, alpha, add, ahead
        );
      } else {
        // The panels behind these are widened next; each slice fetches its part of them.
        const size_t all = step * (size_t)count, bytes = all * (size_t)depth / (size_t)k;
        Fetch next = { .at = panel + all + all * (size_t)kk / (size_t)k };
        if (bytes >= LONG_PANELS) next.lines = (int)(bytes / CACHE_LINE);
        multiply_packed(
          from + (size_t)kk * 4, aStep, packed, to, outStep, rows, columns, depth, kBlock,
          blockTiles, alpha, add, &next
        );
      }
    }
    if (r > 0) {
      transpose_panels(low, lowStep, columns, r, packed, 0, count);
      const char *s = xa + (size_t)row * lowStep;
      if (few) {
        const Ahead none = { NULL, 0, 0 };
        multiply_panels(s, lowStep, packed, edge, rows, count, r, rBlock, loraScale, 1, none);
      } else {
        multiply_packed(
          s, lowStep, packed, to, outStep, rows, columns, r, rBlock, blockTiles, loraScale, 1, NULL
        );
      }
    }
    if (few) {
      for (int p = 0; p < count; p++) copy_rows(edge + p * EDGE, ROW, to + p * ROW, outStep, rows);
    }
  }
}

/**
 * out [m, n] = (with `accumulate` +=) alpha · a [m, k] · W; W [k, n]. Unit: `unitRows` rows of a ×
 * `unitColumns` columns (whole blocks); the columns vary fastest. `slice` terms, a multiple of 16,
 * are widened at once. Scratch: 4 · slice · unitColumns bytes.
 */
KERNEL(matmul_stored_rows,
  type, a, w, out, m, n, k, unitRows, unitColumns, slice, kBlock, blockTiles, alpha, accumulate
) {
  char *const a = AT(a), *const w = AT(w), *const out = AT(out);
  const int type = args->type, m = args->m, n = args->n, k = args->k, unitRows = args->unitRows,
    unitColumns = args->unitColumns, slice = args->slice, kBlock = args->kBlock,
    blockTiles = args->blockTiles, accumulate = args->accumulate;
  const float alpha = args->alpha;
  char *packed = scratch;
  const int groups = ceil_div(n, unitColumns);
  const size_t aStep = (size_t)k * 4, outStep = (size_t)n * 4;
  for (int unit = begin; unit < end; unit++) {
    const int row = unit / groups * unitRows, rows = min(unitRows, m - row);
    const int first = unit % groups * unitColumns, columns = min(unitColumns, n - first);
    char *to = out + (size_t)row * outStep + (size_t)first * 4;
    for (int kk = 0; kk < k; kk += slice) {
      const int depth = min(slice, k - kk);
      widen_columns(type, w, n, kk, depth, first, columns, packed);
      multiply_packed(
        a + (size_t)row * aStep + (size_t)kk * 4, aStep, packed, to, outStep, rows, columns,
        depth, kBlock, blockTiles, alpha, kk > 0 || accumulate, NULL
      );
    }
  }
}

/** Widens `rows` rows of W [*, k] to panels [k][16]. Unit: a panel. */
KERNEL(stored_panels, type, w, rows, k, to) {
  const char *const w = AT(w);
  char *const to = AT(to);
  const int type = args->type, rows = args->rows, k = args->k, blocks = k / block_weights(type);
  for (int p = begin; p < end; p++) {
    const char *panel = w + (size_t)p * panel_bytes(type, k);
    widen_panel(type, panel, rows - p * LANES, k, 0, blocks, to + (size_t)p * k * ROW);
  }
}

/**
 * Widens `rows` rows of W [*, width] to panels [rows][16] of columns. Unit: `unitColumns` columns
 * (whole blocks and panels).
 */
KERNEL(stored_columns, type, w, width, rows, unitColumns, to) {
  const char *const w = AT(w);
  char *const to = AT(to);
  const int type = args->type, width = args->width, rows = args->rows,
    unitColumns = args->unitColumns;
  for (int unit = begin; unit < end; unit++) {
    const int first = unit * unitColumns, columns = min(unitColumns, width - first);
    widen_columns(type, w, width, 0, rows, first, columns, to + (size_t)first * rows * 4);
  }
}

// Dense products, and the packing of their operands (kernels/ops/matmul/wasm/gemm.ts). The elements
// of S [rows, k] are broadcast to all lanes of a vector; S is read in place or packed. V
// [k, columns] fills the lanes, in panels of 16 columns. For x·Wᵀ the operands may be swapped
// (S = W, V = xᵀ).
#include "blocks.h"
#include "kernel.h"

/**
 * Unit: a row block × a panel; the panel varies fastest. A row block has `blockTiles` tiles of up
 * to TILE_ROWS rows, whose heights differ by at most one. `kBlock` is the number of terms that are
 * summed in order before they are added to the output. `sStep`, `vDirectStep` and `outStep` are
 * bytes between rows. The first `directPanels` panels of V are read in place at `vDirect`, the
 * others packed at `vPacked`. `swapped`: out [columns, rows].
 */
KERNEL(matmul_blocks,
  s, sStep, sLayout, vDirect, vDirectStep, directPanels, vPacked, out, outStep, rows, columns, k,
  kBlock, blockTiles, alpha, accumulate, swapped
) {
  const Blocks g = {
    .s = AT(s), .sStep = args->sStep, .sLayout = args->sLayout, .vDirect = AT(vDirect),
    .vDirectStep = args->vDirectStep, .directPanels = args->directPanels, .vPacked = AT(vPacked),
    .out = AT(out), .outStep = args->outStep, .rows = args->rows, .columns = args->columns, .k = args->k,
    .kBlock = args->kBlock, .blockTiles = args->blockTiles, .alpha = args->alpha, .accumulate = args->accumulate,
    .swapped = args->swapped,
  };
  multiply_blocks(&g, begin, end);
}

void columns_to_panels(const char *source, size_t stride, int columns, int k, char *panels) {
  const size_t panel = (size_t)k * ROW;
  for (int kk = 0; kk < k; kk++, source += stride, panels += ROW) {
    const char *from = source, *const end = source + (size_t)columns * 4;
    char *to = panels;
    for (; from + ROW <= end; from += ROW, to += panel) store16(to, load16(from));
    if (from < end) store16(to, load_lanes(from, columns % LANES));
  }
}

/** How the rows of a result are divided into tiles of about the same height. */
typedef struct {
  int tiles, low, high;
} Heights;

INLINE int height_of(const Heights *h, int tile) {
  return tile < h->high ? h->low + 1 : h->low;
}

/**
 * Packs a [k, m] in tiles [k][rows of the tile], one behind the other. It is read in the order of
 * memory, too.
 */
static void pack_tiles(const char *a, int m, int k, const Heights *h, char *packed) {
  const size_t step = (size_t)m * 4;
  for (int kk = 0; kk < k; kk++, a += step) {
    const int inside = kk + LANES < k;
    const char *from = a;
    char *tile = packed;
    for (int t = 0; t < h->tiles; t++) {
      const int height = height_of(h, t);
      char *to = tile + (size_t)(kk * height) * 4;
      // What is stored behind the rows of the tile is overwritten by the next terms.
      if (inside) store16(to, load16(from));
      else store_lanes(to, load_lanes(from, height), height);
      from += (size_t)height * 4;
      tile += (size_t)(k * height) * 4;
    }
  }
}

/** The operands of the next chunk, which are fetched while a chunk is multiplied. */
typedef struct {
  Fetch a, b;
} Next;

/** Divides the tiles between the operands. */
INLINE void divide_tiles(Next *next, int tiles) {
  next->a.tiles = (int)((int64_t)tiles * next->a.lines / max(1, next->a.lines + next->b.lines));
  next->b.tiles = tiles - next->a.tiles;
}

/** out [m, n] = the packed a · the packed b of `rows` terms. */
static void multiply_chunk(
  const char *a, const char *b, char *out, int n, int rows, int kBlock, const Heights *h, Next *next
) {
  char edge[MAX_ROWS * ROW] __attribute__((aligned(64)));
  const size_t step = (size_t)n * 4;
  const int full = n / LANES, together = min(2, MAX_PANELS);
  const int groups = ceil_div(full, together) + (n % LANES > 0);
  divide_tiles(next, ceil_div(rows, kBlock) * groups * h->tiles);
  for (int panel = 0, count; panel * LANES < n; panel += count) {
    const int part = panel == full;
    count = part ? 1 : min(together, full - panel);
    const char *s = a;
    char *to = out + (size_t)panel * ROW;
    for (int t = 0; t < h->tiles; t++) {
      const int height = height_of(h, t);
      Product p = {
        .sRow = 4, .sTerm = (size_t)height * 4, .vTerm = ROW, .vPanel = (size_t)rows * ROW,
        .c = part ? edge : to, .cRow = part ? ROW : step, .cPanel = ROW, .alpha = 1,
      };
      p.v = b + (size_t)panel * p.vPanel;
      for (int kk = 0; kk < rows; kk += kBlock) {
        p.k = min(kBlock, rows - kk);
        p.add = kk > 0;
        p.s = s + (size_t)kk * p.sTerm;
        tile_and_fetch(height, count, &p, next->a.tiles > 0 ? &next->a : &next->b);
        p.v += (size_t)kBlock * ROW;
      }
      for (int i = 0; i < height; i++, to += step) {
        if (part) store_lanes(to, load16(edge + i * ROW), n % LANES);
      }
      s += (size_t)rows * p.sTerm;
    }
  }
}

/**
 * partial[chunk] = a[rows of the chunk]ᵀ · b[rows of the chunk]; a [k, m], b [k, n],
 * partial [chunks, m, n]. Unit: a chunk of `depth` rows.
 * Scratch: depth · (m + n rounded up to 16) floats.
 */
KERNEL(matmul_tall, a, b, partial, m, n, k, depth, kBlock) {
  char *const a = AT(a), *const b = AT(b), *const partial = AT(partial);
  const int m = args->m, n = args->n, k = args->k, depth = args->depth, kBlock = args->kBlock;
  const size_t aStep = (size_t)m * 4, bStep = (size_t)n * 4;
  const int tiles = ceil_div(m, MAX_ROWS);
  const Heights heights = { .tiles = tiles, .low = m / tiles, .high = m % tiles };
  char *packedA = scratch, *packedB = packedA + (size_t)depth * aStep;
  for (int chunk = begin; chunk < end; chunk++) {
    const size_t row = (size_t)chunk * depth, behind = row + depth;
    const int left = k - (int)row, rows = min(depth, left), more = max(0, min(depth, left - depth));
    // The next chunk is fetched also where it may be another thread's.
    Next next = {
      .a = { .at = a + behind * aStep, .lines = ceil_div(more * m, LANES) },
      .b = { .at = b + behind * bStep, .lines = ceil_div(more * n, LANES) },
    };
    pack_tiles(a + row * aStep, m, rows, &heights, packedA);
    columns_to_panels(b + row * bStep, bStep, n, rows, packedB);
    char *out = partial + (size_t)chunk * m * bStep;
    multiply_chunk(packedA, packedB, out, n, rows, kBlock, &heights, &next);
  }
}

void transpose_panels(
  const char *source, size_t stride, int columns, int k, char *panels, int begin, int end
) {
  for (int p = begin; p < end; p++) {
    const int count = min(LANES, columns - p * LANES);
    const char *from = source + (size_t)p * LANES * stride;
    char *to = panels + (size_t)p * k * ROW;
    if (count < LANES) zero_rows(to, k);
    int kk = 0;
    if (count == LANES) {
      for (; kk + LANES <= k; kk += LANES) {
        f32x16 r[16];
        UNROLL for (int c = 0; c < 16; c++) {
          r[c] = load16(from + (size_t)c * stride + (size_t)kk * 4);
        }
        TRANSPOSE16(r)
        UNROLL for (int i = 0; i < 16; i++) store16(to + (size_t)(kk + i) * ROW, r[i]);
      }
    }
    for (; kk < k; kk++) {
      ONE_BY_ONE for (int c = 0; c < count; c++) {
        store1(to + (size_t)kk * ROW + c * 4, load1(from + (size_t)c * stride + (size_t)kk * 4));
      }
    }
  }
}

/** Number of rows of a matrix that are packed at once, in the order of memory. */
#define PACK_STEPS 16

/**
 * Panels [k][16] of `source` [k, columns], whose rows are `stride` bytes apart, from panel
 * `firstPanel` on; columns beyond the matrix are zero. Unit: a panel.
 */
KERNEL(matmul_pack, source, stride, columns, k, firstPanel, panels) {
  const char *const source = AT(source);
  char *const panels = AT(panels);
  const size_t stride = args->stride;
  const int columns = args->columns, k = args->k, firstPanel = args->firstPanel;
  for (int row = 0; row < k; row += PACK_STEPS) {
    const int stop = min(k, row + PACK_STEPS);
    for (int p = begin; p < end; p++) {
      const int first = (firstPanel + p) * LANES, count = min(LANES, columns - first);
      const char *from = source + (size_t)row * stride + (size_t)first * 4;
      char *to = panels + ((size_t)p * k + row) * ROW;
      for (int i = row; i < stop; i++, from += stride, to += ROW) {
        store16(to, count == LANES ? load16(from) : load_lanes(from, count));
      }
    }
  }
}

/**
 * Copies `source` [k, rows], whose rows are `stride` bytes apart, to tiles [k, height], which a
 * product reads in order. The first `high` tiles have low + 1 rows, the others `low`. Unit: a tile.
 */
KERNEL(matmul_pack_tiles, source, stride, low, high, k, packed) {
  const char *const source = AT(source);
  char *const packed = AT(packed);
  const size_t stride = args->stride;
  const int low = args->low, high = args->high, k = args->k;
  for (int first = 0; first < k; first += PACK_STEPS) {
    const int stop = min(k, first + PACK_STEPS);
    for (int t = begin; t < end; t++) {
      const int height = t < high ? low + 1 : low, row = t * low + min(t, high);
      const char *from = source + (size_t)first * stride + (size_t)row * 4;
      char *to = packed + ((size_t)row * k + (size_t)first * height) * 4;
      for (int i = first; i < stop; i++, from += stride, to += (size_t)height * 4) {
        if (height == TILE_ROWS) {
          *(loose_f32x4 *)to = *(const loose_f32x4 *)from;
          store1(to + 16, load1(from + 16));
          store1(to + 20, load1(from + 20));
        } else {
          ONE_BY_ONE for (int c = 0; c < height * 4; c += 4) store1(to + c, load1(from + c));
        }
      }
    }
  }
}

KERNEL(transpose_to_panels, source, stride, columns, k, panels) {
  const uint32_t stride = args->stride;
  const int columns = args->columns, k = args->k;
  transpose_panels(AT(source), stride, columns, k, AT(panels), begin, end);
}

/**
 * out = (with `accumulate` +=) alpha · Σ_chunks partial, summed in their order, of `size` elements
 * each. Unit: 64 elements.
 */
KERNEL(matmul_sum_partial, partial, chunks, size, out, alpha, accumulate) {
  const int chunks = args->chunks, size = args->size, accumulate = args->accumulate;
  const float alpha = args->alpha;
  for (int at = begin * 64; at < min(end * 64, size); at += LANES) {
    const int count = min(LANES, size - at);
    const char *from = AT(partial) + (size_t)at * 4;
    f32x16 sum = load_lanes(from, count);
    for (int c = 1; c < chunks; c++) {
      from += (size_t)size * 4;
      sum += count == LANES ? load16(from) : load_lanes(from, count);
    }
    put_lanes(AT(out) + (size_t)at * 4, alpha * sum, count, accumulate);
  }
}

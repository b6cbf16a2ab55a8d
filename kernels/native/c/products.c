// Dense products: the kernels of kernels/ops/matmul/wasm/{blocks,pack,tall}.as.ts and of
// kernels/weights/transpose.as.ts with the same names and arguments.
#include "blocks.h"

KERNEL void matmul_blocks(
  char *base, uint32_t s, uint32_t sStep, int sLayout, uint32_t vDirect, uint32_t vDirectStep,
  int directPanels, uint32_t vPacked, uint32_t out, uint32_t outStep, int rows, int columns, int k,
  int kBlock, int blockTiles, float alpha, int accumulate, int swapped, int begin, int end,
  uint32_t scratch
) {
  (void)scratch;
  const Blocks g = {
    .s = base + s, .sStep = sStep, .sLayout = sLayout, .vDirect = base + vDirect,
    .vDirectStep = vDirectStep, .directPanels = directPanels, .vPacked = base + vPacked,
    .out = base + out, .outStep = outStep, .rows = rows, .columns = columns, .k = k,
    .kBlock = kBlock, .blockTiles = blockTiles, .alpha = alpha, .accumulate = accumulate,
    .swapped = swapped,
  };
  multiply_blocks(&g, begin, end);
}

/** Panels [k][16] of the columns of source [k, columns]; columns beyond the last one are zero. */
static void pack_columns(const char *source, size_t stride, int columns, int k, char *panels) {
  for (int first = 0; first < columns; first += LANES, panels += (size_t)k * ROW) {
    const char *from = source + (size_t)first * 4;
    const int count = min(LANES, columns - first);
    if (count < LANES) zero_rows(panels, k);
    for (int kk = 0; kk < k; kk++, from += stride) {
      char *to = panels + (size_t)kk * ROW;
      if (count == LANES) {
        store16(to, load16(from));
      } else {
        ONE_BY_ONE for (int c = 0; c < count; c++) store1(to + c * 4, load1(from + c * 4));
      }
    }
  }
}

KERNEL void matmul_tall(
  char *base, uint32_t a, uint32_t b, uint32_t partial, int m, int n, int k, int depth, int kBlock,
  int blockTiles, int begin, int end, uint32_t scratch
) {
  const size_t aStep = (size_t)m * 4, bStep = (size_t)n * 4;
  // a is read in place, because a term's elements are neighbours; only b is packed.
  char *packed = base + scratch;
  const int units = ceil_div(ceil_div(m, TILE_ROWS), blockTiles) * ceil_div(n, LANES);
  for (int chunk = begin; chunk < end; chunk++) {
    const size_t row = (size_t)chunk * depth;
    const int rows = min(depth, k - (int)row);
    pack_columns(base + b + row * bStep, bStep, n, rows, packed);
    const Blocks g = {
      .s = base + a + row * aStep, .sStep = aStep, .sLayout = S_COLUMNS, .vPacked = packed,
      .out = base + partial + (size_t)chunk * m * bStep, .outStep = bStep, .rows = m, .columns = n,
      .k = rows, .kBlock = kBlock, .blockTiles = blockTiles, .alpha = 1,
    };
    multiply_blocks(&g, 0, units);
  }
}

KERNEL void transpose_to_panels(
  char *base, uint32_t source, uint32_t stride, int columns, int k, uint32_t panels, int begin,
  int end, uint32_t scratch
) {
  (void)scratch;
  for (int p = begin; p < end; p++) {
    const int count = min(LANES, columns - p * LANES);
    const char *from = base + source + (size_t)p * LANES * stride;
    char *to = base + panels + (size_t)p * k * ROW;
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

// Widens columns of stored weights to floats: widen_columns of
// kernels/ops/matmul/wasm/stored.as.ts, with the same bits.
#pragma once
#include "widen.h"

/** Max number of columns that widen_columns widens at once: MAX_UNIT_COLUMNS of stored.ts, or a
 * block of the largest type. */
#define MAX_COLUMNS 256

/** Widens 16 halves of a row, in order. */
INLINE f32x16 widen_row16(int type, const char *from) {
  typedef uint16_t u16x16 __attribute__((ext_vector_type(16), aligned(2)));
  const u32x16 words = __builtin_convertvector(*(const u16x16 *)from, u32x16) << 16;
  if (type == BF16) return as_floats(words);
  return fma16(upper_half(words), (f32x16)HALF_FACTOR, (f32x16)0.0f);
}

/** Widens halves to panels of 16 columns: `count` rows of `columns` columns, `stride` apart. */
static void widen_halves_columns(
  int type, const char *from, size_t stride, int count, int columns, char *to
) {
  for (int c = 0; c < columns; c += LANES, from += 2 * LANES) {
    const int width = min(LANES, columns - c);
    const char *row = from;
    for (int r = 0; r < count; r++, row += stride, to += ROW) {
      if (width == LANES) {
        store16(to, widen_row16(type, row));
      } else {
        char halves[2 * LANES] = { 0 };
        ONE_BY_ONE for (int i = 0; i < 2 * width; i++) halves[i] = row[i];
        store16(to, widen_row16(type, halves));
      }
    }
  }
}

/**
 * Widens `count` rows of W [*, width] from `row` (a multiple of 16) on to panels of 16 columns:
 * `columns` columns (whole blocks) from column `first` on.
 */
static void widen_columns(
  int type, const char *w, int width, int row, int count, int first, int columns, char *to
) {
  if (type <= BF16) {
    const size_t stride = (size_t)width * 2;
    const char *from = w + (size_t)row * stride + (size_t)first * 2;
    widen_halves_columns(type, from, stride, count, columns, to);
    return;
  }
  char wide[MAX_COLUMNS * ROW] __attribute__((aligned(64)));
  const int weights = block_weights(type);
  const size_t step = panel_bytes(type, width), panelStep = (size_t)count * ROW;
  for (int r = 0; r < count; r += LANES) {
    const char *panel = w + (size_t)((row + r) / LANES) * step;
    widen_panel(type, panel, LANES, width, first / weights, columns / weights, wide);
    const int rows = min(LANES, count - r);
    for (int c = 0; c < columns; c += LANES) {
      f32x16 t[16];
      UNROLL for (int i = 0; i < 16; i++) t[i] = load16(wide + (size_t)(c + i) * ROW);
      TRANSPOSE16(t)
      char *at = to + (size_t)(c / LANES) * panelStep + (size_t)r * ROW;
      UNROLL for (int i = 0; i < 16; i++) {
        if (i < rows) store16(at + (size_t)i * ROW, t[i]);
      }
    }
  }
}

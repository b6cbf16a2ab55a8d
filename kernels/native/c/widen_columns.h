// Widens columns of stored weights to floats.
#pragma once
#include "widen.h"

/** Max number of columns that widen_columns widens at once: MAX_UNIT_COLUMNS of stored.ts, or a
 * block of the largest type. */
#define MAX_COLUMNS 256

/** How many panels before their use the blocks of a panel are fetched. */
#define PANELS_AHEAD 6

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

#ifndef __wasm__
// Codes of the following types are brought into the order of a row before they are widened. That
// takes one instruction or less for 16 weights, where a transposition of floats takes four.

/**
 * 32 columns of 4-bit codes, 8 in each word of 16 rows, to the first `rows` rows of two panels of
 * 16 columns. Codes are numbers, or those of levels, which have no m.
 */
INLINE void widen_nibbles_in_rows(
  int type, const char *codes, f32x16 s, f32x16 m, int rows, char *to, size_t panelStep
) {
  const u32x16 shifts = { 0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28 };
  float scales[2][LANES] __attribute__((aligned(64)));
  store16((char *)scales[0], s);
  store16((char *)scales[1], m);
  for (int half = 0; half < 2; half++, codes += 2 * ROW, to += panelStep) {
    const uint32_t *low = (const uint32_t *)codes, *high = low + LANES;
    ONE_BY_ONE for (int r = 0; r < rows; r++) {
      const u32x16 words = (first_lanes(8) ? (u32x16)low[r] : (u32x16)high[r]) >> shifts;
      const float scale = scales[0][r];
      store16(
        to + r * ROW,
        type < NF4 ? fma16(convert_nibble(words), scale, scales[1][r])
                   : levels(type, words) * scale
      );
    }
  }
}

/** 16 columns of codes in bytes, 4 in each word of 16 rows, to rows of a panel: s·2^24·code. */
INLINE void widen_bytes_in_rows(const char *codes, f32x16 s, int rows, char *to) {
  typedef i8x16 loose_i8x16 __attribute__((aligned(1)));
  float scales[LANES] __attribute__((aligned(64)));
  char in_rows[4 * ROW] __attribute__((aligned(64)));
  store16((char *)scales, s);
  // Blocks of 4 × 4 words change places: row 4·i + j is part i of vector j then.
  f32x16 w[4];
  UNROLL for (int i = 0; i < 4; i++) w[i] = load16(codes + i * ROW);
  UNROLL for (int i = 0; i < 4; i += 2) {
    const f32x16 a = w[i], b = w[i + 1];
    w[i] = __builtin_shufflevector(a, b, LOW1);
    w[i + 1] = __builtin_shufflevector(a, b, HIGH1);
  }
  UNROLL for (int i = 0; i < 2; i++) {
    store16(in_rows + i * ROW, __builtin_shufflevector(w[i], w[i + 2], LOW2));
    store16(in_rows + (i + 2) * ROW, __builtin_shufflevector(w[i], w[i + 2], HIGH2));
  }
  ONE_BY_ONE for (int r = 0; r < rows; r++) {
    const char *row = in_rows + (r % 4) * ROW + (r / 4) * LANES;
    const i32x16 numbers = __builtin_convertvector(*(const loose_i8x16 *)row, i32x16) << 24;
    store16(to + r * ROW, __builtin_convertvector(numbers, f32x16) * scales[r]);
  }
}

/**
 * Widens the blocks [first, first + blocks) of the first `rows` rows of a panel of `width` columns
 * to panels of 16 columns, `panelStep` apart. Returns 0 if the type is not one of these.
 */
static int widen_panel_in_rows(
  int type, const char *panel, int width, int rows, int first, int blocks, char *to,
  size_t panelStep
) {
  const size_t step = record_bytes(type);
  const char *record = panel + (size_t)first * step;
  const char *groups = panel + (size_t)(width / block_weights(type)) * step;
  for (int block = first; block < first + blocks; block++, record += step) {
    int panels = 2;
    f32x16 s, m = 0.0f;
    switch (type) {
      case Q4_0:
      case Q4_1:
        scales_q4(type, record, &s, &m);
        widen_nibbles_in_rows(type, record, s, m, rows, to, panelStep);
        break;
      case Q4_K:
        panels = 16;
        for (int part = 0; part < 8; part++) {
          scales_q4_k(record, part, &s, &m);
          char *const at = to + (size_t)(2 * part) * panelStep;
          widen_nibbles_in_rows(Q4_K, record + part * 256, s, m, rows, at, panelStep);
        }
        break;
      case NF4:
      case MXFP4:
        panels = type == NF4 ? 4 : 2;
        s = scales_of_levels(type, record, groups + (size_t)(block >> 4) * 16);
        for (int i = 0; i < panels; i += 2) {
          char *const at = to + (size_t)i * panelStep;
          widen_nibbles_in_rows(type, record + i * 128, s, m, rows, at, panelStep);
        }
        break;
      case Q8_0:
      case INT8:
        panels = type == INT8 ? 4 : 2;
        s = type == INT8 ? load16(record + 1024) * 0x1p-24f
                         : halves16(record + 512, HALF_FACTOR_OF_BYTES);
        for (int i = 0; i < panels; i++) {
          widen_bytes_in_rows(record + i * 4 * ROW, s, rows, to + (size_t)i * panelStep);
        }
        break;
      default: return 0;
    }
    to += (size_t)panels * panelStep;
  }
  return 1;
}
#endif

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
  const size_t bytes = (size_t)(columns / weights) * record_bytes(type);
  for (int r = 0; r < count; r += LANES) {
    const char *panel = w + (size_t)((row + r) / LANES) * step;
    // The prefetchers of a processor do not follow a few lines of each panel.
    prefetch(panel + PANELS_AHEAD * step + (size_t)(first / weights) * record_bytes(type), bytes);
    const int rows = min(LANES, count - r), blocks = columns / weights;
    char *const in = to + (size_t)r * ROW;
#ifndef __wasm__
    // V8 makes slower code of this than of a transposition.
    if (widen_panel_in_rows(type, panel, width, rows, first / weights, blocks, in, panelStep)) {
      continue;
    }
#endif
    widen_panel(type, panel, LANES, width, first / weights, blocks, wide);
    for (int c = 0; c < columns; c += LANES) {
      f32x16 t[16];
      UNROLL for (int i = 0; i < 16; i++) t[i] = load16(wide + (size_t)(c + i) * ROW);
      TRANSPOSE16(t)
      char *at = in + (size_t)(c / LANES) * panelStep;
      UNROLL for (int i = 0; i < 16; i++) {
        if (i < rows) store16(at + (size_t)i * ROW, t[i]);
      }
    }
  }
}

// Tiles of queries and keys in scratch:
//   transposed [d][TILE], for the operand of scores whose elements fill the lanes;
//   rows, padded with zeros to whole vectors;
//   panels [d/16][TILE][16]: rows in pieces of 16 columns.
#pragma once
#include "tiles.h"

/** Number of queries or keys in a tile. */
#define TILE 96
/** Bytes of a row of a transposed tile and of a score tile, of a panel, and of a score tile. */
#define TILE_ROW 384
#define PANEL (TILE * ROW)
#define SCORES (TILE * TILE_ROW)
/** Bytes of a table of offsets, which says where the rows of a tile are. */
#define OFFSETS TILE_ROW

/** A row of the segment table (SEGMENT of kernels/ops/attention/spec.ts). */
typedef struct {
  int32_t begin, end, prefixBegin, prefixEnd, groupEnd;
} Segment;

INLINE int round_up16(int n) {
  return (n + 15) & ~15;
}

/** Bytes of a tile of rows of headDim floats, in both forms. */
INLINE size_t tile_bytes(int headDim) {
  return (size_t)round_up16(headDim) * TILE_ROW;
}

/**
 * Offsets of a tile whose element i is row i / group, head i % group. Rows are `stride` bytes and
 * heads `head` bytes apart (group = 1 for keys and values).
 */
static inline void tile_offsets(char *table, size_t stride, size_t head, int group) {
  uint32_t *offsets = (uint32_t *)table;
  size_t row = 0;
  for (int i = 0; i < TILE; row += stride) {
    size_t at = row;
    for (int h = 0; h < group && i < TILE; h++, i++, at += head) offsets[i] = (uint32_t)at;
  }
}

/** Byte offset of element i of a tile. */
INLINE size_t offset_of(const char *offsets, int i) {
  return ((const uint32_t *)offsets)[i];
}

/**
 * target[c][i] = scale · source[i][c] for i < count. From `count` to the next multiple of 16 the
 * last element is repeated.
 */
static inline void pack_transposed(
  const char *source, const char *offsets, int count, int headDim, float scale, char *target
) {
  const f32x16 s = scale;
  for (int i = 0; i < count; i += LANES) {
    const char *rows[LANES];
    for (int t = 0; t < LANES; t++) rows[t] = source + offset_of(offsets, min(i + t, count - 1));
    char *to = target + (size_t)i * 4;
    for (int c = 0; c < headDim; c += LANES) {
      const int columns = min(LANES, headDim - c);
      f32x16 r[LANES];
      if (columns == LANES) {
        UNROLL for (int t = 0; t < LANES; t++) r[t] = load16(rows[t] + (size_t)c * 4) * s;
      } else {
        UNROLL for (int t = 0; t < LANES; t++) {
          r[t] = load_lanes(rows[t] + (size_t)c * 4, columns) * s;
        }
      }
      TRANSPOSE16(r)
      UNROLL for (int t = 0; t < LANES; t++, to += TILE_ROW) {
        if (t < columns) store16(to, r[t]);
      }
    }
  }
}

/** Copies one row out of panels: target = scale · row. */
INLINE void unpack_row(const char *panel, char *target, int headDim, float scale) {
  const f32x16 s = scale;
  int c = headDim;
  for (; c >= LANES; c -= LANES, target += ROW, panel += PANEL) store16(target, load16(panel) * s);
  if (c > 0) store_lanes(target, load16(panel) * s, c);
}

/** Rows of scale · source, one after the other; each is padded with zeros to whole vectors. */
static inline void copy_rows(
  const char *source, const char *offsets, int count, int headDim, float scale, char *target
) {
  const f32x16 s = scale;
  for (int i = 0; i < count; i++) {
    const char *from = source + offset_of(offsets, i);
    int c = headDim;
    for (; c >= LANES; c -= LANES, from += ROW, target += ROW) store16(target, load16(from) * s);
    if (c > 0) {
      store16(target, load_lanes(from, c) * s);
      target += ROW;
    }
  }
}

/** The inverse of `copy_rows` without the padding: target = rows. */
static inline void put_rows(
  const char *rows, char *target, const char *offsets, int count, int headDim
) {
  for (int i = 0; i < count; i++) {
    char *to = target + offset_of(offsets, i);
    int c = headDim;
    for (; c >= LANES; c -= LANES, rows += ROW, to += ROW) store16(to, load16(rows));
    if (c > 0) {
      store_lanes(to, load16(rows), c);
      rows += ROW;
    }
  }
}

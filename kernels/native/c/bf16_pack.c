// Packing of the operands of products in bfloat16 (kernels/ops/matmul/bf16.ts). The packed forms
// differ from those of WASM; they need at most half as much memory.
#include "bf16.h"
#include "widen_columns.h"
#include "kernel.h"

/** Smaller magnitudes become zero (MIN_MAGNITUDE of bf16.ts). */
#define MIN_MAGNITUDE 0x1p-56f

INLINE __m512 without_tiny(__m512 x) {
  const __m512 least = _mm512_set1_ps(MIN_MAGNITUDE);
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(_mm512_abs_ps(x), least, _CMP_NLT_UQ), x);
}

/** 32 floats as words of two neighbours each, the first in the lower half. */
INLINE __m512i round_row(__m512 low, __m512 high) {
  return (__m512i)_mm512_cvtne2ps_pbh(without_tiny(high), without_tiny(low));
}

/**
 * Words of two floats: those of `low` in the lower halves. `tiny`: whether there may be magnitudes
 * below MIN_MAGNITUDE.
 */
INLINE __m512i round_pair(__m512 low, __m512 high, const int tiny) {
  const __m512i lanes = _mm512_set_epi32(
    0x001f000f, 0x001e000e, 0x001d000d, 0x001c000c, 0x001b000b, 0x001a000a, 0x00190009, 0x00180008,
    0x00170007, 0x00160006, 0x00150005, 0x00140004, 0x00130003, 0x00120002, 0x00110001, 0x00100000
  );
  const __m512i words = tiny ? round_row(low, high) : (__m512i)_mm512_cvtne2ps_pbh(high, low);
  return _mm512_permutexvar_epi16(lanes, words);
}

/** Words of 16 rows: r[i] holds the 16 pairs of terms of row i. */
INLINE void rows_of_floats(const char *from, size_t stride, int rows, int terms, f32x16 r[16]) {
  const __mmask16 low = first_mask(terms), high = first_mask(terms - LANES);
  UNROLL for (int i = 0; i < 16; i++) {
    const char *row = from + (size_t)i * stride;
    const __mmask16 a = i < rows ? low : 0, b = i < rows ? high : 0;
    r[i] = (f32x16)round_row(_mm512_maskz_loadu_ps(a, row), _mm512_maskz_loadu_ps(b, row + ROW));
  }
}

/** The same of halves in bfloat16, which are such words already; `terms` is even. */
INLINE void rows_of_halves(const char *from, size_t stride, int rows, int terms, f32x16 r[16]) {
  const __mmask16 mask = first_mask(terms / 2);
  const __m512i magnitude = _mm512_set1_epi16(0x7fff), least = _mm512_set1_epi16(0x2380);
  UNROLL for (int i = 0; i < 16; i++) {
    const __m512i x = _mm512_maskz_loadu_epi32(i < rows ? mask : 0, from + (size_t)i * stride);
    const __mmask32 keep = _mm512_cmpge_epu16_mask(_mm512_and_si512(x, magnitude), least);
    r[i] = (f32x16)_mm512_maskz_mov_epi16(keep, x);
  }
}

/** Words of 16 columns: r[q] holds the terms 2q and 2q + 1 of each column. */
INLINE void columns_of_floats(
  const char *from, size_t stride, int columns, int terms, const int tiny, f32x16 r[16]
) {
  const __mmask16 mask = first_mask(columns);
  UNROLL for (int q = 0; q < 16; q++) {
    const __mmask16 a = 2 * q < terms ? mask : 0, b = 2 * q + 1 < terms ? mask : 0;
    const char *row = from + (size_t)(2 * q) * stride;
    r[q] = (f32x16)round_pair(
      _mm512_maskz_loadu_ps(a, row), _mm512_maskz_loadu_ps(b, row + stride), tiny
    );
  }
}

/** The same of a whole tile of weights, which has no tiny magnitudes. */
INLINE void columns_of_weights(const char *from, f32x16 r[16]) {
  UNROLL for (int q = 0; q < 16; q++, from += 2 * ROW) {
    r[q] = (f32x16)round_pair((__m512)load16(from), (__m512)load16(from + ROW), 0);
  }
}

/** Fetches the rows of a tile that is read later; rows far apart are followed by no prefetcher. */
INLINE void fetch_rows(const char *from, size_t stride, int rows) {
  for (int i = 0; i < min(rows, TERMS); i++) __builtin_prefetch(from + i * stride);
}

/** The upper halves of a and of b, and their lower halves, in words with those of a above. */
INLINE u32x16 upper_pair(u32x16 a, u32x16 b) {
  return (a & 0xffff0000u) | (b >> 16);
}

INLINE u32x16 lower_pair(u32x16 a, u32x16 b) {
  return (a << 16) | (b & 0xffffu);
}

/** Stores a tile of rows. */
INLINE void put_rows(const int unit, const f32x16 r[16], char *to) {
  UNROLL for (int i = 0; i < 16; i++, to += ROW) {
    if (unit == UNIT_AMX) {
      store16(to, r[i]);
      continue;
    }
    const u32x16 w = (u32x16)r[i];
    const u32x16 a = __builtin_shufflevector(w, w, 0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8, 10, 12, 14);
    const u32x16 b = __builtin_shufflevector(w, w, 1, 3, 5, 7, 9, 11, 13, 15, 1, 3, 5, 7, 9, 11, 13, 15);
    const u32x16 even = lower_pair(a, b), odd = upper_pair(a, b);
    store16(to, (f32x16)__builtin_shufflevector(
      even, odd, 0, 1, 2, 3, 4, 5, 6, 7, 24, 25, 26, 27, 28, 29, 30, 31
    ));
  }
}

/** Stores a tile of columns. */
INLINE void put_columns(const int unit, const f32x16 r[16], char *to) {
  UNROLL for (int q = 0; q < 16; q++) {
    if (unit == UNIT_AMX) {
      store16(to + q * ROW, r[q]);
    } else if (q < 8) {
      const u32x16 a = (u32x16)r[2 * q], b = (u32x16)r[2 * q + 1];
      store16(to + q * ROW, (f32x16)lower_pair(a, b));
      store16(to + (q + 8) * ROW, (f32x16)upper_pair(a, b));
    }
  }
}

/** Tiles next to each other whose terms are read together, in the order of memory. */
#define TOGETHER 16

/**
 * Packs `tiles` tiles of neighbouring columns of a matrix [terms, columns] of floats; `asRows`: as
 * rows of its transpose. The terms of one tile by itself would be strides that no prefetcher
 * follows.
 */
INLINE void pack_strided(
  const int unit, const int asRows, const char *from, size_t stride, int columns, int terms, char *to
) {
  const int blocks = ceil_div(terms, TERMS), tiles = ceil_div(columns, LANES);
  for (int first = 0; first < tiles; first += TOGETHER) {
    for (int block = 0; block < blocks; block++) {
      const int done = block * TERMS, left = terms - done;
      const char *rows = from + (size_t)done * stride;
      for (int tile = first; tile < min(first + TOGETHER, tiles); tile++) {
        const char *at = rows + (size_t)tile * ROW;
        fetch_rows(at + TERMS * stride, stride, left - TERMS);
        f32x16 r[16];
        columns_of_floats(at, stride, columns - tile * LANES, left, 1, r);
        char *packed = to + ((size_t)tile * blocks + block) * TILE_BYTES;
        if (asRows) {
          TRANSPOSE16(r)
          put_rows(unit, r, packed);
        } else {
          put_columns(unit, r, packed);
        }
      }
    }
  }
}

INLINE void pack_rows_as(
  const int unit, const char *a, int m, int k, int transA, char *to, int begin, int end
) {
  const int blocks = ceil_div(k, TERMS), columns = min(end * LANES, m) - begin * LANES;
  if (transA) {
    pack_strided(unit, 1, a + (size_t)begin * ROW, (size_t)m * 4, columns, k, to);
    return;
  }
  const size_t step = (size_t)k * 4;
  for (int tile = begin; tile < end; tile++) {
    const int first = tile * LANES, rows = min(LANES, m - first);
    for (int block = 0; block < blocks; block++, to += TILE_BYTES) {
      const int kk = block * TERMS, terms = min(TERMS, k - kk);
      f32x16 r[16];
      rows_of_floats(a + (size_t)first * step + (size_t)kk * 4, step, rows, terms, r);
      put_rows(unit, r, to);
    }
  }
}

void pack_rows(
  int unit, const char *a, int m, int k, int transA, char *to, int begin, int end
) {
  if (unit == UNIT_AMX) pack_rows_as(UNIT_AMX, a, m, k, transA, to, begin, end);
  else pack_rows_as(UNIT_PAIRS, a, m, k, transA, to, begin, end);
}

KERNEL(bf16_pack_rows, a, m, k, transA, packed) {
  const int m = args->m, k = args->k, transA = args->transA;
  const int unit = UNIT(options);
  char *to = AT(packed) + (size_t)begin * packed_bytes(k);
  pack_rows(unit, AT(a), m, k, transA, to, begin, end);
}

/**
 * Whether a stored weight may have a magnitude below MIN_MAGNITUDE. Where the scales are halves, it
 * is a whole multiple of 2^−24.
 */
INLINE int may_be_tiny(int type) {
  return type >= INT8;
}

/** Number of blocks of weights that are fetched ahead. */
#define AHEAD 3

/** pack_columns for one unit, which is a constant where it is used. */
INLINE void pack_columns_as(
  const int unit, const Operand *b, int first, int columns, int kk, int depth, char *wide, char *to
) {
  const int blocks = ceil_div(depth, TERMS), stored = b->type >= 0, panelwise = b->transB;
  const size_t panelBytes = stored ? panel_bytes(b->type, b->k) : 0;
  if (b->type == FLOATS && !panelwise) {
    const size_t row = (size_t)b->n * 4;
    const char *from = b->at + (size_t)kk * row + (size_t)first * 4;
    pack_strided(unit, 0, from, row, columns, depth, to);
    return;
  }
  if (stored && !panelwise) {
    widen_columns(b->type, b->at, b->n, kk, depth, first, columns, wide);
  }
  const int weights = stored ? block_weights(b->type) : 1;
  for (int c = 0; c < columns; c += LANES) {
    const int width = min(LANES, columns - c);
    const char *panel = stored ? b->at + (size_t)((first + c) / LANES) * panelBytes : 0;
    const char *from = b->type == PACKED
      ? b->at + (size_t)(first + c) * b->k * 4 + (size_t)kk * ROW
      : wide + (size_t)(c / LANES) * depth * ROW;
    for (int block = 0; block < blocks; block++, to += TILE_BYTES) {
      const int done = block * TERMS, terms = min(TERMS, depth - done);
      f32x16 r[16];
      if (panelwise && b->type == BF16) {
        const size_t row = (size_t)b->k * 2;
        const char *at = b->at + (size_t)(first + c) * row + (size_t)(kk + done) * 2;
        rows_of_halves(at, row, width, terms, r);
        TRANSPOSE16(r)
      } else if (panelwise && stored) {
        // A block at a time is widened, which stays in the first-level cache.
        const int at = weights > TERMS ? done % weights : 0;
        if (at == 0) {
          const int wider = min(max(weights, TERMS), depth - done) / weights;
          const int missing = b->n - first - c;
          const size_t record = record_bytes(b->type);
          if (b->type > BF16) {
            prefetch(panel + ((kk + done) / weights + AHEAD * TERMS / weights + 1) * record, record);
          }
          widen_panel(b->type, panel, missing, b->k, (kk + done) / weights, wider, wide);
        }
        const char *block0 = wide + (size_t)at * ROW;
        if (terms == TERMS && !may_be_tiny(b->type)) columns_of_weights(block0, r);
        else columns_of_floats(block0, ROW, LANES, terms, 1, r);
      } else if (panelwise && !stored) {
        const size_t row = (size_t)b->k * 4;
        const char *at = b->at + (size_t)(first + c) * row + (size_t)(kk + done) * 4;
        rows_of_floats(at, row, width, terms, r);
        TRANSPOSE16(r)
      } else {
        columns_of_floats(from + (size_t)done * ROW, ROW, LANES, terms, 1, r);
      }
      put_columns(unit, r, to);
    }
  }
}

void pack_columns(
  int unit, const Operand *b, int first, int columns, int kk, int depth, char *wide, char *to
) {
  if (unit == UNIT_AMX) pack_columns_as(UNIT_AMX, b, first, columns, kk, depth, wide, to);
  else pack_columns_as(UNIT_PAIRS, b, first, columns, kk, depth, wide, to);
}

KERNEL(bf16_pack_columns, type, transB, b, n, k, unitColumns, packed) {
  char *const packed = AT(packed);
  const int type = args->type, transB = args->transB, n = args->n, k = args->k,
    unitColumns = args->unitColumns;
  const int unit = UNIT(options);
  const Operand operand = { type, transB, AT(b), n, k };
  for (int u = begin; u < end; u++) {
    const int first = u * unitColumns, columns = min(unitColumns, n - first);
    char *to = packed + (size_t)(first / LANES) * packed_bytes(k);
    pack_columns(unit, &operand, first, columns, 0, k, scratch, to);
  }
}

// Widens panels of stored weights (kernels/weights/types.ts) to floats.
#pragma once
#include "codes.h"

/** A block of 4-bit codes: 4 words of 8 codes each, s·q + m. */
INLINE char *widen_nibbles(const char *codes, f32x16 s, f32x16 m, char *to) {
  for (int word = 0; word < 4; word++, codes += ROW) {
    const u32x16 w = load_words(codes);
    UNROLL for (int i = 0; i < 8; i++, to += ROW) {
      store16(to, fma16(convert_nibble(w >> (4 * i)), s, m));
    }
  }
  return to;
}

/** Bytes in order, 4 in each word: s·2^24·q. */
INLINE char *widen_bytes(const char *codes, int words, f32x16 s, char *to) {
  for (; words > 0; words--, codes += ROW) {
    const u32x16 w = load_words(codes);
    UNROLL for (int i = 0; i < 4; i++, to += ROW) {
      store16(to, convert((w << (24 - 8 * i)) & 0xff000000u) * s);
    }
  }
  return to;
}

/** Codes of eight neighbours in a row, a byte each: the even ones, then the odd ones. */
INLINE char *widen_split(u32x16 even, u32x16 odd, f32x16 s, char *to) {
  UNROLL for (int i = 0; i < 4; i++, to += 2 * ROW) {
    store16(to, convert((even << (24 - 8 * i)) & 0xff000000u) * s);
    store16(to + ROW, convert((odd << (24 - 8 * i)) & 0xff000000u) * s);
  }
  return to;
}

/** q5_0: nibbles, high bits, the scales of the rows. */
INLINE char *widen_q5_0(const char *record, char *to) {
  const f32x16 s = halves16(record + 320, HALF_FACTOR_OF_BYTES);
  UNROLL for (int word = 0; word < 4; word++) {
    const Split codes = split_q5_0(record, word);
    to = widen_split(codes.even, codes.odd, s, to);
  }
  return to;
}

/** q4_k: 8 blocks of 32. */
INLINE char *widen_q4_k(const char *record, char *to) {
  for (int block = 0; block < 8; block++) {
    f32x16 s, m;
    scales_q4_k(record, block, &s, &m);
    to = widen_nibbles(record + block * 256, s, m, to);
  }
  return to;
}

/** q6_k: 16 parts of 16 with s = d·a·2^−24; low nibbles, high bits, scales. */
INLINE char *widen_q6_k(const char *record, char *to) {
  const char *scales = record + 3072;
  const f32x16 d = halves16(scales + 256, HALF_FACTOR_OF_BYTES);
  for (int part = 0; part < 16; part++) {
    const f32x16 s = scales_q6_k(scales, part, d);
    const u32x16 bits = load_words(record + 2048 + part * ROW);
    UNROLL for (int word = 0; word < 2; word++) {
      const Split codes = split_q6_k(record + part * 2 * ROW, bits, word);
      to = widen_split(codes.even, codes.odd, s, to);
    }
  }
  return to;
}

/** nf4 and mxfp4: words of nibbles of 8 neighbours. */
INLINE char *widen_levels(int type, const char *record, const char *group, char *to) {
  const f32x16 s = scales_of_levels(type, record, group);
  for (int word = 0; word < block_weights(type) / 8; word++, record += ROW) {
    const u32x16 w = load_words(record);
#ifdef BYTE_TABLES
    to = widen_split(level_bytes(type, w, 0), level_bytes(type, w, 1), s, to);
#else
    UNROLL for (int i = 0; i < 8; i++, to += ROW) store16(to, levels(type, w >> (4 * i)) * s);
#endif
  }
  return to;
}

/** Two columns of halves, the first in the lower halves of the words. */
INLINE void widen_words(int type, u32x16 words, char *to) {
  if (type == BF16) {
    store16(to, as_floats(words << 16));
    store16(to + ROW, as_floats(words & 0xffff0000u));
  } else {
    const f32x16 zero = 0.0f;
    store16(to, fma16(upper_half(words << 16), (f32x16)HALF_FACTOR, zero));
    store16(to + ROW, fma16(upper_half(words), (f32x16)HALF_FACTOR, zero));
  }
}

/** Widens 16 halves of a row, in order. */
INLINE f32x16 widen_row16(int type, const char *from) {
  typedef uint16_t u16x16 __attribute__((ext_vector_type(16), aligned(2)));
  const u32x16 words = __builtin_convertvector(*(const u16x16 *)from, u32x16) << 16;
  if (type == BF16) return as_floats(words);
  return fma16(upper_half(words), (f32x16)HALF_FACTOR, (f32x16)0.0f);
}

/** Widens `k` (even) columns of `rows` rows of halves, `stride` bytes apart; missing rows are 0. */
static void widen_halves(
  int type, const char *from, size_t stride, int rows, int k, char *to
) {
  rows = min(rows, LANES);
  int kk = 0;
  if (rows == LANES) {
    for (; kk + 32 <= k; kk += 32, to += 32 * ROW) {
      f32x16 r[16];
      UNROLL for (int i = 0; i < 16; i++) {
        r[i] = as_floats(load_words(from + (size_t)i * stride + (size_t)kk * 2));
      }
      TRANSPOSE16(r)
      UNROLL for (int i = 0; i < 16; i++) {
        widen_words(type, (u32x16)r[i], to + 2 * i * ROW);
      }
    }
  }
  for (; kk < k; kk += 2, to += 2 * ROW) {
    u32x16 words = 0;
    for (int i = 0; i < rows; i++) {
      words[i] = *(const uint32_t *)(from + (size_t)i * stride + (size_t)kk * 2);
    }
    widen_words(type, words, to);
  }
}

/**
 * Widens the blocks [first, first + blocks) of a panel with `rows` rows of k weights, to floats
 * [terms][16] at `to`; missing rows are zeros.
 */
static void widen_panel(
  int type, const char *panel, int rows, int k, int first, int blocks, char *to
) {
  if (type <= BF16) {
    widen_halves(type, panel + (size_t)first * 4, (size_t)k * 2, rows, 2 * blocks, to);
    return;
  }
  const size_t step = record_bytes(type);
  const char *record = panel + (size_t)first * step;
  const char *groups = panel + (size_t)(k / block_weights(type)) * step;
  for (int block = first; block < first + blocks; block++, record += step) {
    switch (type) {
      case Q8_0:
        to = widen_bytes(record, 8, halves16(record + 512, HALF_FACTOR_OF_BYTES), to);
        break;
      case INT8:
        to = widen_bytes(record, 16, load16(record + 1024) * 0x1p-24f, to);
        break;
      case Q4_0:
      case Q4_1: {
        f32x16 s, m;
        scales_q4(type, record, &s, &m);
        to = widen_nibbles(record, s, m, to);
        break;
      }
      case Q5_0: to = widen_q5_0(record, to); break;
      case Q4_K: to = widen_q4_k(record, to); break;
      case Q6_K: to = widen_q6_k(record, to); break;
      default: to = widen_levels(type, record, groups + (size_t)(block >> 4) * 16, to);
    }
  }
}

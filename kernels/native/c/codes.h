// Codes and scales of stored weights (kernels/weights/layout.ts). A panel holds 16 rows, and its
// codes are in words of 16 rows, so a word of all rows is one vector. The arithmetic of the scales
// is that of kernels/weights/layout.ts.
#pragma once
#include "vector.h"

/** The storage types by their numbers (kernels/weights/types.ts). */
enum { F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q4_K, Q6_K, INT8, NF4, MXFP4 };

/**
 * Of each type: weights of a row in a block (2 for halves), bytes of a record, which is a block of
 * 16 rows, and of a block in a GGUF file.
 */
static const struct {
  int weights, record, file;
} BLOCKS[] = {
  [F16] = { 2, 0, 0 },        [BF16] = { 2, 0, 0 },       [Q8_0] = { 32, 544, 34 },
  [Q4_0] = { 32, 288, 18 },   [Q4_1] = { 32, 320, 20 },   [Q5_0] = { 32, 352, 22 },
  [Q4_K] = { 256, 2368, 144 }, [Q6_K] = { 256, 3360, 210 }, [INT8] = { 64, 1088, 0 },
  [NF4] = { 64, 528, 0 },     [MXFP4] = { 32, 272, 17 },
};

INLINE int block_weights(int type) {
  return BLOCKS[type].weights;
}

INLINE size_t record_bytes(int type) {
  return (size_t)BLOCKS[type].record;
}

/** Bytes of a panel of 16 rows of k weights. */
INLINE size_t panel_bytes(int type, int k) {
  if (type <= BF16) return (size_t)k * 32;
  const size_t blocks = k / block_weights(type);
  return blocks * record_bytes(type) + (type == NF4 ? (blocks + 15) / 16 * 16 : 0);
}

/** Corrects the exponent of an f16 whose bits are in an f32: 2^112; and the same times 2^−24. */
#define HALF_FACTOR 0x1p112f
#define HALF_FACTOR_OF_BYTES 0x1p88f

/** An f16 in the upper half of each word, times 2^−112. */
INLINE f32x16 upper_half(u32x16 words) {
  return as_floats(shift_signed(words, 3) & 0x8fffe000u);
}

INLINE f32x8 upper_half8(u32x8 words) {
  return (f32x8)((u32x8)((i32x8)words >> 3) & 0x8fffe000u);
}

/**
 * The f16 of 16 rows, two in each of 8 words (rows 0 to 7 in the lower halves), times
 * `factor` · 2^−112.
 */
INLINE f32x16 halves16(const char *at, float factor) {
  const u32x8 w = (u32x8)load_half(at);
#ifdef __AVX512F__
  const u32x16 twice = __builtin_shufflevector(w, w, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7);
  const u32x16 words = twice << (u32x16)(first_lanes(8) & 16);
#else
  const union { u32x8 parts[2]; u32x16 all; } both = { { w << 16, w } };
  const u32x16 words = both.all;
#endif
  return upper_half(words) * factor;
}

/** Subtracts the bytes of `offset` from those of words. */
INLINE u32x16 minus_bytes(u32x16 words, uint32_t offset) {
  typedef uint8_t u8x64 __attribute__((ext_vector_type(64)));
  return (u32x16)((u8x64)words - (u8x64)(u32x16)offset);
}

/** Codes of eight neighbours of a row, as signed bytes: the even ones and the odd ones. */
typedef struct {
  u32x16 even, odd;
} Split;

/** Word `word` (0 to 3) of a record of q5_0: 4 words of low nibbles, and one of high bits. */
INLINE Split split_q5_0(const char *record, const int word) {
  const u32x16 w = load_words(record + word * ROW), high = load_words(record + 256);
  const u32x16 h = word < 2 ? high << (word == 0 ? 4 : 2) : high >> (word == 2 ? 0 : 2);
  const u32x16 g = word < 2 ? high << (word == 0 ? 3 : 1) : high >> (word == 2 ? 1 : 3);
  const u32x16 even = (w & 0x0f0f0f0fu) | (h & 0x10101010u);
  const u32x16 odd = ((w >> 4) & 0x0f0f0f0fu) | (g & 0x10101010u);
  return (Split){ minus_bytes(even, 0x10101010u), minus_bytes(odd, 0x10101010u) };
}

/** Word `word` (0 or 1) of a part of q6_k: low nibbles, and a word of high bits of both. */
INLINE Split split_q6_k(const char *low, u32x16 bits, const int word) {
  const u32x16 w = load_words(low + word * ROW);
  const u32x16 h = word == 0 ? bits << 4 : bits, g = word == 0 ? bits << 2 : bits >> 2;
  const u32x16 even = (w & 0x0f0f0f0fu) | (h & 0x30303030u);
  const u32x16 odd = ((w >> 4) & 0x0f0f0f0fu) | (g & 0x30303030u);
  return (Split){ minus_bytes(even, 0x20202020u), minus_bytes(odd, 0x20202020u) };
}

/** The scales of a part of q6_k, whose record's scales begin at `scales`; `d` is the record's. */
INLINE f32x16 scales_q6_k(const char *scales, int part, f32x16 d) {
  const u32x16 codes = load_words(scales + (part / 4) * ROW);
  return d * convert(shift_signed(codes << (24 - 8 * (part % 4)), 24));
}

/** Scales s and m of a record of q4_1, or of q4_0: m = −8s. */
INLINE void scales_q4(int type, const char *record, f32x16 *s, f32x16 *m) {
  if (type == Q4_0) {
    *s = halves16(record + 256, HALF_FACTOR);
    *m = *s * -8.0f;
    return;
  }
  const u32x16 halves = load_words(record + 256);
  *s = upper_half(halves << 16) * HALF_FACTOR;
  *m = upper_half(halves) * HALF_FACTOR;
}

/** Scales s = d·a and m = −e·b of block `block` (0 to 7) of a record of q4_k. */
INLINE void scales_q4_k(const char *record, int block, f32x16 *s, f32x16 *m) {
  const char *scales = record + 2048;
  const u32x16 halves = load_words(scales + 256), codes = load_words(scales + block / 2 * ROW);
  const int shift = 16 * (block % 2);
  *s = upper_half(halves << 16) * HALF_FACTOR * convert((codes >> shift) & 0xffu);
  *m = -(upper_half(halves) * HALF_FACTOR) * convert((codes >> (shift + 8)) & 0xffu);
}

/** The scales of the 8 blocks of a record of q4_k: 16 s and 16 m of each. */
INLINE void all_scales_q4_k(const char *record, char *to) {
  const char *codes = record + 2048;
  const u32x16 halves = load_words(codes + 256);
  const f32x16 d = upper_half(halves << 16) * HALF_FACTOR, e = -(upper_half(halves) * HALF_FACTOR);
  ONE_BY_ONE for (int word = 0; word < 4; word++, codes += ROW, to += 4 * ROW) {
    const u32x16 w = load_words(codes);
    UNROLL for (int i = 0; i < 4; i++) {
      store16(to + i * ROW, (i % 2 == 0 ? d : e) * convert((w >> (8 * i)) & 0xffu));
    }
  }
}

/** The levels of codes of nf4 and of mxfp4 (kernels/weights/types.ts). */
static const i8x16 LEVELS[] = {
  { -127, -88, -67, -50, -36, -23, -12, 0, 10, 20, 31, 43, 56, 71, 92, 127 },
  { 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12 },
};

#ifdef BYTE_TABLES
/** The levels of codes, a byte each: those of the even nibbles of words, or of the odd ones. */
INLINE u32x16 level_bytes(int type, u32x16 words, const int odd) {
  return pick_bytes(LEVELS[type == MXFP4], (odd ? words >> 4 : words) & 0x0f0f0f0fu);
}
#endif

/** The levels of index % 16, times 2^24. */
INLINE f32x16 levels(int type, u32x16 index) {
  const i8x16 table = LEVELS[type == MXFP4];
#ifdef BYTE_TABLES
  return convert(pick_bytes(table, (index & 15) | 0x80808000u) << 24);
#else
  return pick(__builtin_convertvector(table, f32x16) * 0x1p24f, index);
#endif
}

/** The scales of a block of levels: from a code of each row, in nf4 with slope and offset. */
INLINE f32x16 scales_of_levels(int type, const char *record, const char *group) {
  const u32x4 codes = (u32x4)*(const loose_f32x4 *)(record + (type == NF4 ? 512 : 256));
  // Byte i of word r is the code of row 4·i + r.
  union { u32x4 parts[4]; u32x16 all; } rows;
  UNROLL for (int i = 0; i < 4; i++) rows.parts[i] = (codes >> (8 * i)) & 0xffu;
  if (type == MXFP4) return as_floats(rows.all << 23) * 0x1p-25f;
  const f32x16 slope = load1(group), offset = load1(group + 4);
  return settled(fma16(slope, convert(rows.all), offset) * 0x1p-24f);
}

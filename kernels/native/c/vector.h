// Vectors of 16 lanes for the native kernels, in the vector language of clang: a vector is one
// register of AVX-512. All functions compute the bits of the WASM kernels: nothing is contracted or
// reordered (-ffp-contract=off), and fused multiply-adds are written out.
// Loads and stores need no alignment beyond that of their elements.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef int32_t i32x16 __attribute__((ext_vector_type(16)));
typedef uint32_t u32x16 __attribute__((ext_vector_type(16)));
typedef int32_t i32x8 __attribute__((ext_vector_type(8)));
typedef uint32_t u32x8 __attribute__((ext_vector_type(8)));
typedef uint32_t u32x4 __attribute__((ext_vector_type(4)));
typedef int8_t i8x16 __attribute__((ext_vector_type(16)));
typedef float f32x8 __attribute__((ext_vector_type(8)));
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef f32x16 loose_f32x16 __attribute__((aligned(4)));
typedef u32x16 loose_u32x16 __attribute__((aligned(4)));
typedef f32x8 loose_f32x8 __attribute__((aligned(4)));
typedef f32x4 loose_f32x4 __attribute__((aligned(4)));

#define LANES 16
/** Bytes of a vector of floats, which is also a row of a panel. */
#define ROW 64
/** Bytes that a cache fetches at once. */
#define CACHE_LINE 64

/** A function that the library exports. */
#define EXPORTED __attribute__((visibility("default"), used, noinline))
#define INLINE static inline __attribute__((always_inline))
/** Unrolls a loop with a constant number of iterations, so that arrays stay in registers. */
#define UNROLL _Pragma("clang loop unroll(full)")
#define ONE_BY_ONE _Pragma("clang loop unroll(disable) vectorize(disable)")

INLINE int min(int a, int b) {
  return a < b ? a : b;
}

INLINE int max(int a, int b) {
  return a > b ? a : b;
}

INLINE int ceil_div(int a, int b) {
  return (a + b - 1) / b;
}

INLINE f32x16 load16(const char *at);

INLINE u32x16 load_words(const char *at) {
  return (u32x16)load16(at);
}

INLINE void store16(char *at, f32x16 value);

INLINE float load1(const char *at) {
  return *(const float *)at;
}

INLINE void store1(char *at, float value) {
  *(float *)at = value;
}

/** Floats of the given bits. */
INLINE f32x16 as_floats(u32x16 words) {
  return (f32x16)words;
}

/** Signed numbers as floats. */
INLINE f32x16 convert(u32x16 words) {
  return __builtin_convertvector((i32x16)words, f32x16);
}

INLINE f32x8 convert8(u32x8 words) {
  return __builtin_convertvector((i32x8)words, f32x8);
}

/** A mask of the first `count` lanes. */
INLINE i32x16 first_lanes(int count) {
  const i32x16 lanes = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
  return lanes < (i32x16)count;
}

/** Shifts signed numbers to the right. */
INLINE u32x16 shift_signed(u32x16 words, int by) {
  return (u32x16)((i32x16)words >> by);
}

#include "target.h"

/** The sum of 16 running sums, in the order of sum_squares_row (sums.c). */
INLINE float sum_lanes(f32x16 s) {
  float t[4];
  s = settled(s);
  UNROLL for (int i = 0; i < 4; i++) t[i] = (s[i] + s[i + 4]) + (s[i + 8] + s[i + 12]);
  return (t[0] + t[1]) + (t[2] + t[3]);
}

/** Transposes 16 rows of 16 columns. */
#define TRANSPOSE16(r) \
  EXCHANGE(r, 1)       \
  EXCHANGE(r, 2)       \
  EXCHANGE(r, 4)       \
  EXCHANGE(r, 8)

/**
 * Brings `bytes` bytes into the caches. Neighbouring panels that are computed together are several
 * short streams, which the hardware's prefetchers do not follow. Any address is allowed.
 */
INLINE void prefetch(const char *at, size_t bytes) {
  for (size_t i = 0; i < bytes; i += CACHE_LINE) __builtin_prefetch(at + i, 0, 2);
}

/** Stores the first `columns` lanes, or adds them to what is there. */
INLINE void put_lanes(char *to, f32x16 value, int columns, int add) {
  store_lanes(to, add ? load_lanes(to, columns) + value : value, columns);
}

/** Sets `rows` rows of a panel to zero. */
INLINE void zero_rows(char *to, size_t rows) {
  ONE_BY_ONE for (; rows > 0; rows--, to += ROW) store16(to, (f32x16)0.0f);
}

// One stage of a transposition: the blocks of `size` lanes at odd places of a change places with
// those at even places of b.
#define LOW1 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30
#define HIGH1 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31
#define LOW2 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define HIGH2 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define LOW4 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define HIGH4 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define LOW8 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define HIGH8 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31
#define EXCHANGE(r, size)                                                       \
  UNROLL for (int i = 0; i < 16; i++) {                                         \
    if ((i & size) == 0) {                                                      \
      const f32x16 a = r[i], b = r[i + size];                                   \
      r[i] = __builtin_shufflevector(a, b, LOW##size);                          \
      r[i + size] = __builtin_shufflevector(a, b, HIGH##size);                  \
    }                                                                           \
  }

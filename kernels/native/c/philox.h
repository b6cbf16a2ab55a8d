// Philox4x32-10 (core/philox.ts).
#pragma once
#include "vector.h"

/**
 * The four words of a block. Word 0 of the counter is `c0`; `rest` has its other three, and `key`
 * the two words of the key.
 */
INLINE void philox(uint32_t c0, const uint32_t *rest, const uint32_t *key, uint32_t *to) {
  uint32_t c1 = rest[0], c2 = rest[1], c3 = rest[2], k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; round++) {
    const uint64_t p0 = 0xd2511f53ull * c0, p1 = 0xcd9e8d57ull * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)p0;
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  to[0] = c0;
  to[1] = c1;
  to[2] = c2;
  to[3] = c3;
}

typedef uint32_t u32x4 __attribute__((ext_vector_type(4)));
typedef uint64_t u64x4 __attribute__((ext_vector_type(4)));

/** The products of four words with one. */
INLINE u64x4 multiply_words(u32x4 words, u32x4 factor) {
#ifdef __wasm__
  // clang finds the instruction for the lower lanes of two vectors that it knows nothing about.
  typedef uint64_t u64x2 __attribute__((ext_vector_type(2)));
#define WIDE(x) __builtin_convertvector(__builtin_shufflevector(x, x, 0, 1), u64x2)
  u32x4 upper = __builtin_shufflevector(words, words, 2, 3, 0, 1);
  __asm__ volatile("" : "+r"(factor), "+r"(upper));
  return __builtin_shufflevector(
    WIDE(words) * WIDE(factor), WIDE(upper) * WIDE(factor), 0, 1, 2, 3
  );
#else
  return __builtin_convertvector(words, u64x4) * __builtin_convertvector(factor, u64x4);
#endif
}

/** The 16 words of the blocks c0 … c0 + 3, in order. */
INLINE u32x16 philox16(uint32_t c0, const uint32_t *rest, const uint32_t *key) {
  const u32x4 blocks = { 0, 1, 2, 3 };
  u32x4 x0 = c0 + blocks, x1 = rest[0], x2 = rest[1], x3 = rest[2];
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; round++) {
    const u64x4 p0 = multiply_words(x0, 0xd2511f53u), p1 = multiply_words(x2, 0xcd9e8d57u);
    x0 = __builtin_convertvector(p1 >> 32, u32x4) ^ x1 ^ k0;
    x1 = __builtin_convertvector(p1, u32x4);
    x2 = __builtin_convertvector(p0 >> 32, u32x4) ^ x3 ^ k1;
    x3 = __builtin_convertvector(p0, u32x4);
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  // Lane i of word w is word w of block i.
  const union { u32x4 words[4]; u32x16 all; } by_word = { { x0, x1, x2, x3 } };
  const u32x16 all = by_word.all;
  return __builtin_shufflevector(all, all, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
}

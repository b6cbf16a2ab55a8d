// What differs between the targets: AVX-512, AVX2, NEON and WebAssembly (relaxed SIMD). All of them
// give the same bits. It is a part of vector.h.
#pragma once
#ifdef __aarch64__
#include <arm_neon.h>
#endif

#ifdef __AVX512F__
// A vector is one register, of 32: the sums of 14 × 2, or of 6 × 4 vectors stay in registers.
/** Max rows of a tile of a product with one or two panels. */
#define MAX_ROWS 14
/** Max panels of a tile, and max rows of a tile with so many panels. */
#define MAX_PANELS 4
#define MAX_ROWS_OF_4 6
/** Max rows of a tile of a product of bytes (int8.c). */
#define MAX_INT8_ROWS 12
#else
// A vector is two registers of 16 (AVX2, and WebAssembly there), or four of 32 (NEON).
#define MAX_ROWS 6
#define MAX_PANELS 1
#define MAX_INT8_ROWS 4
#endif

/**
 * Hides from the compiler where a pointer comes from. Otherwise it makes one pointer of all, which
 * goes from row to row, and each load waits for the addition before it.
 */
#ifdef __x86_64__
#define OPAQUE(p) __asm__("" : "+r"(p))
#else
#define OPAQUE(p)
#endif

/** a·b + c, rounded once. */
INLINE f32x16 fma16(f32x16 a, f32x16 b, f32x16 c) {
#ifdef __wasm__
  union { f32x16 all; f32x4 parts[4]; } x = { a }, y = { b }, z = { c };
  UNROLL for (int i = 0; i < 4; i++) {
    z.parts[i] = __builtin_wasm_relaxed_madd_f32x4(x.parts[i], y.parts[i], z.parts[i]);
  }
  return z.all;
#else
  return __builtin_elementwise_fma(a, b, c);
#endif
}

#ifdef __AVX512F__
/** table[index % 16] in every lane. */
INLINE f32x16 pick(f32x16 table, u32x16 index) {
  return __builtin_ia32_permvarsf512(table, (i32x16)index);
}

/** index % 16 as a float: a table's number is one instruction, a mask and a conversion are two. */
INLINE f32x16 convert_nibble(u32x16 index) {
  const f32x16 numbers = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
  return pick(numbers, index);
}

/** Nibble i of each word, times 16^(i % 4). */
INLINE f32x16 nibble_in_place(u32x16 words, const int i) {
  const float one = (float)(1 << (4 * (i & 3)));
  const f32x16 numbers = {
    0, one, 2 * one, 3 * one, 4 * one, 5 * one, 6 * one, 7 * one, 8 * one, 9 * one, 10 * one,
    11 * one, 12 * one, 13 * one, 14 * one, 15 * one,
  };
  return pick(numbers, words >> (4 * i));
}

/** (index % 32 − 16)·2^24 in every lane; `low` and `high` hold these 32 numbers. */
INLINE f32x16 pick_five_bits(f32x16 low, f32x16 high, u32x16 index) {
  return __builtin_ia32_vpermi2varps512(low, (i32x16)index, high);
}

/** A bit for each of the first `count` lanes. */
INLINE uint16_t lane_bits(int count) {
  return (uint16_t)((1u << count) - 1);
}

/** The first `count` ≤ 16 lanes from memory, zeros behind. Memory behind them is not read. */
INLINE f32x16 load_lanes(const char *at, int count) {
  return __builtin_ia32_loadups512_mask((const float *)at, (f32x16)0.0f, lane_bits(count));
}

/** Stores the first `count` ≤ 16 lanes. */
INLINE void store_lanes(char *at, f32x16 value, int count) {
  __builtin_ia32_storeups512_mask((float *)at, value, lane_bits(count));
}
#else
#ifdef __aarch64__
/** The float of `table` whose first byte is `bytes`' in every lane; 0 beyond the table. */
INLINE f32x16 pick_bytes(f32x16 table, u32x16 index) {
  union { f32x16 floats; uint8x16x4_t bytes; } from = { table }, to;
  union { u32x16 words; uint8x16x4_t bytes; } at = { index * 0x04040404u + 0x03020100u };
  UNROLL for (int i = 0; i < 4; i++) to.bytes.val[i] = vqtbl4q_u8(from.bytes, at.bytes.val[i]);
  return to.floats;
}

INLINE f32x16 pick(f32x16 table, u32x16 index) {
  return pick_bytes(table, index & 15);
}

INLINE f32x16 pick_five_bits(f32x16 low, f32x16 high, u32x16 index) {
  const u32x16 first = (u32x16)pick_bytes(low, index & 31);
  return (f32x16)(first | (u32x16)pick_bytes(high, (index & 31) - 16));
}
#elif defined(__AVX2__)
typedef int32_t i32x8 __attribute__((ext_vector_type(8)));

INLINE f32x16 pick(f32x16 table, u32x16 index) {
  union { f32x16 all; f32x8 parts[2]; } from = { table }, to;
  union { u32x16 all; i32x8 parts[2]; } at = { index };
  UNROLL for (int i = 0; i < 2; i++) {
    const f32x8 low = __builtin_ia32_permvarsf256(from.parts[0], at.parts[i]);
    const f32x8 high = __builtin_ia32_permvarsf256(from.parts[1], at.parts[i]);
    to.parts[i] = __builtin_ia32_blendvps256(low, high, (f32x8)(at.parts[i] << 28));
  }
  return to.all;
}
#elif defined(__wasm__)
typedef int8_t i8x16 __attribute__((vector_size(16)));

INLINE f32x16 pick(f32x16 table, u32x16 index) {
  union { f32x16 all; i8x16 parts[4]; } from = { table }, to = { (f32x16)0.0f };
  union { u32x16 all; i8x16 parts[4]; } at = { (index & 15) * 0x04040404u + 0x03020100u };
  UNROLL for (int t = 0; t < 4; t++) {
    // An index beyond a table of 16 bytes gives 0.
    UNROLL for (int i = 0; i < 4; i++) {
      to.parts[i] |= __builtin_wasm_swizzle_i8x16(from.parts[t], at.parts[i] - (int8_t)(16 * t));
    }
  }
  return to.all;
}
#endif

#ifndef __aarch64__
INLINE f32x16 pick_five_bits(f32x16 low, f32x16 high, u32x16 index) {
  (void)low, (void)high;
  return convert(shift_signed((index << 27) ^ 0x80000000u, 3));
}
#endif

INLINE f32x16 convert_nibble(u32x16 index) {
  return convert(index & 0xfu);
}

INLINE f32x16 nibble_in_place(u32x16 words, const int i) {
  return convert((i < 4 ? words : words >> 16) & (0xfu << (4 * (i & 3))));
}

INLINE f32x16 load_lanes(const char *at, int count) {
  union { f32x16 all; f32x4 parts[4]; float lanes[LANES]; } to = { (f32x16)0.0f };
  UNROLL for (int i = 0; i < 4; i++) {
    if (count >= 4 * i + 4) to.parts[i] = *(const loose_f32x4 *)(at + i * 16);
  }
  ONE_BY_ONE for (int i = count & ~3; i < count; i++) to.lanes[i] = load1(at + i * 4);
  return to.all;
}

INLINE void store_lanes(char *at, f32x16 value, int count) {
  if (count == LANES) {
    store16(at, value);
    return;
  }
  char lanes[ROW];
  store16(lanes, value);
  ONE_BY_ONE for (int i = 0; i < count; i++) store1(at + i * 4, load1(lanes + i * 4));
}
#endif

// The sums of four products in every lane: the bytes of `codes`, which are below 16, times the four
// signed bytes of `four`.
#ifdef __AVX512VNNI__
INLINE u32x16 add_dots(u32x16 sums, u32x16 codes, int four) {
  return (u32x16)__builtin_ia32_vpdpbusd512(sums, codes, (i32x16)four);
}
#elif defined(__ARM_FEATURE_DOTPROD)
INLINE u32x16 add_dots(u32x16 sums, u32x16 codes, int four) {
  union { u32x16 words; int32x4x4_t parts; } to = { sums };
  const union { u32x16 words; int8x16x4_t parts; } from = { codes };
  const int8x16_t bytes = vreinterpretq_s8_s32(vdupq_n_s32(four));
  UNROLL for (int i = 0; i < 4; i++) {
    to.parts.val[i] = vdotq_s32(to.parts.val[i], from.parts.val[i], bytes);
  }
  return to.words;
}
#elif defined(__AVX2__) && !defined(__AVX512F__)
INLINE u32x16 add_dots(u32x16 sums, u32x16 codes, int four) {
  typedef char bytes __attribute__((vector_size(32)));
  typedef short pairs __attribute__((vector_size(32)));
  union { u32x16 all; bytes parts[2]; } from = { codes };
  union { u32x16 all; i32x8 parts[2]; } to = { sums };
  UNROLL for (int i = 0; i < 2; i++) {
    // No sum of two products exceeds 16 bits.
    const pairs two = __builtin_ia32_pmaddubsw256(from.parts[i], (bytes)(i32x8)four);
    to.parts[i] += (i32x8)__builtin_ia32_pmaddwd256(two, (pairs)(i32x8)0x00010001);
  }
  return to.all;
}
#endif

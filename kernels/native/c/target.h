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
/** Max panels of a tile of many rows, and of one of few. */
#define MAX_PANELS 4
#define FEW_ROWS_PANELS 4
/** Max rows of a tile with four panels, and with two. */
#define MAX_ROWS_OF_4 6
#define MAX_ROWS_OF_2 14
/** Max rows of a tile of a product of bytes (int8.c). */
#define MAX_INT8_ROWS 12
/** Vectors of running sums in few_rows.c. */
#define MAX_SUMS 16
#else
// A vector is two registers of 16 (AVX2, and WebAssembly there), or four of 32 (NEON).
#define MAX_ROWS 6
#define MAX_INT8_ROWS 5
#define MAX_PANELS 1
#ifdef __AVX2__
// A row or two leave registers for more panels, whose sums do not wait for each other.
#define FEW_ROWS_PANELS 4
#define MAX_ROWS_OF_4 1
#define MAX_ROWS_OF_2 2
#else
#define FEW_ROWS_PANELS 1
#endif
#define MAX_SUMS 4
#endif

/**
 * Hides from the compiler where a pointer comes from. Otherwise it makes one pointer of all, which
 * goes from row to row, and each load waits for the addition before it. (On WebAssembly it would
 * also add the offset of each load.)
 */
#ifdef __aarch64__
#define OPAQUE(p)
#else
#define OPAQUE(p) __asm__("" : "+r"(p))
#endif

#ifdef __wasm__
// V8 widens pairs of neighbouring 128-bit instructions to 256 bits
// (--experimental-wasm-revectorize). It begins at pairs of stores, of which the upper one must come
// first, and follows what they store back to pairs of loads whose addresses differ by an immediate
// offset of 16.

/** A vector in memory. Fields give the offsets. */
typedef struct {
  loose_f32x4 a, b, c, d;
} Quarters;

/** Keeps the compiler from moving loads and stores to the other side. */
#define IN_ORDER __asm__ volatile("" ::: "memory")

INLINE f32x16 load16(const char *at) {
  OPAQUE(at);
  const Quarters *from = (const Quarters *)at;
  const union { f32x4 parts[4]; f32x16 all; } x = { { from->a, from->b, from->c, from->d } };
  return x.all;
}

INLINE void store_quarters(char *at, f32x4 a, f32x4 b, f32x4 c, f32x4 d) {
  OPAQUE(at);
  Quarters *to = (Quarters *)at;
  IN_ORDER;
  to->b = b;
  IN_ORDER;
  to->a = a;
  IN_ORDER;
  to->d = d;
  IN_ORDER;
  to->c = c;
  IN_ORDER;
}

INLINE void store16(char *at, f32x16 value) {
  union { f32x16 all; f32x4 parts[4]; } x = { value };
  store_quarters(at, x.parts[0], x.parts[1], x.parts[2], x.parts[3]);
}
INLINE f32x8 load_half(const char *at) {
  OPAQUE(at);
  const Quarters *from = (const Quarters *)at;
  const union { f32x4 parts[2]; f32x8 all; } x = { { from->a, from->b } };
  return x.all;
}

INLINE void store_half(char *at, f32x8 value) {
  const union { f32x8 all; f32x4 parts[2]; } x = { value };
  OPAQUE(at);
  Quarters *to = (Quarters *)at;
  IN_ORDER;
  to->b = x.parts[1];
  IN_ORDER;
  to->a = x.parts[0];
  IN_ORDER;
}
#else
INLINE f32x8 load_half(const char *at) {
  return *(const loose_f32x8 *)at;
}

INLINE void store_half(char *at, f32x8 value) {
  *(loose_f32x8 *)at = value;
}

INLINE f32x16 load16(const char *at) {
  return *(const loose_f32x16 *)at;
}

INLINE void store16(char *at, f32x16 value) {
  *(loose_f32x16 *)at = value;
}
#endif

// V8 widens only what is stored in the end. Sums of lanes, and vectors that are put together from
// numbers, go through memory there, so that it widens what comes before and after.
#ifdef __wasm__
INLINE f32x16 settled(f32x16 x) {
  char memory[ROW];
  store16(memory, x);
  return load16(memory);
}

INLINE f32x8 settled8(f32x8 x) {
  union { f32x16 all; f32x8 parts[2]; } both = { .parts = { x, x } };
  both.all = settled(both.all);
  return both.parts[0];
}
#else
#define settled(x) (x)
#define settled8(x) (x)
#endif

// Written out for WebAssembly: clang takes relaxed_max and relaxed_min, whose result for NaN is
// another one.
/** The larger one; where one is NaN, or both are zeros, the second one. */
INLINE f32x4 max4(f32x4 a, f32x4 b) {
#ifdef __wasm__
  return __builtin_wasm_pmax_f32x4(b, a);
#else
  return a > b ? a : b;
#endif
}

INLINE f32x16 max16(f32x16 a, f32x16 b) {
#ifdef __wasm__
  union { f32x16 all; f32x4 parts[4]; } x = { a }, y = { b };
  UNROLL for (int i = 0; i < 4; i++) x.parts[i] = max4(x.parts[i], y.parts[i]);
  return x.all;
#else
  return a > b ? a : b;
#endif
}

/** The smaller one; where one is NaN, or both are zeros, the second one. */
INLINE f32x16 min16(f32x16 a, f32x16 b) {
#ifdef __wasm__
  union { f32x16 all; f32x4 parts[4]; } x = { a }, y = { b };
  UNROLL for (int i = 0; i < 4; i++) {
    x.parts[i] = __builtin_wasm_pmin_f32x4(y.parts[i], x.parts[i]);
  }
  return x.all;
#else
  return a < b ? a : b;
#endif
}

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

INLINE f32x4 fma4(f32x4 a, f32x4 b, f32x4 c) {
#ifdef __wasm__
  return __builtin_wasm_relaxed_madd_f32x4(a, b, c);
#else
  return __builtin_elementwise_fma(a, b, c);
#endif
}

INLINE f32x8 fma8(f32x8 a, f32x8 b, f32x8 c) {
#ifdef __wasm__
  union { f32x8 all; f32x4 parts[2]; } x = { a }, y = { b }, z = { c };
  UNROLL for (int i = 0; i < 2; i++) {
    z.parts[i] = __builtin_wasm_relaxed_madd_f32x4(x.parts[i], y.parts[i], z.parts[i]);
  }
  return z.all;
#else
  return __builtin_elementwise_fma(a, b, c);
#endif
}

/** Hides where a pointer comes from, on WebAssembly only. */
#ifdef __wasm__
#define KEEP(p) OPAQUE(p)
/** A loop over the words of a block: with all words at once V8 has too few registers. */
#define LOOP_OF_WORDS ONE_BY_ONE
#else
#define KEEP(p)
#define LOOP_OF_WORDS UNROLL
#endif

/**
 * The same word in every lane. V8 widens a constant only where all lanes have one node of its
 * graph, and keeps in a register what is no constant.
 */
INLINE u32x16 same16(uint32_t word) {
#ifdef __wasm__
  u32x4 four = word;
  OPAQUE(four);
  const union { u32x4 parts[4]; u32x16 all; } x = { { four, four, four, four } };
  return x.all;
#else
  return (u32x16)word;
#endif
}

INLINE u32x8 same8(uint32_t word) {
  const union { u32x16 all; u32x8 parts[2]; } x = { same16(word) };
  return x.parts[0];
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
INLINE f32x16 pick(f32x16 table, u32x16 index) {
  union { f32x16 floats; uint8x16x4_t bytes; } from = { table }, to;
  union { u32x16 words; uint8x16x4_t bytes; } at = { (index & 15) * 0x04040404u + 0x03020100u };
  UNROLL for (int i = 0; i < 4; i++) to.bytes.val[i] = vqtbl4q_u8(from.bytes, at.bytes.val[i]);
  return to.floats;
}
#else
#define BYTE_TABLES

/** levels[b] for every byte b of `index`, which is below 16; 0 for one from 128 on. */
INLINE u32x16 pick_bytes(i8x16 levels, u32x16 index) {
#ifdef __wasm__
  union { u32x16 all; i8x16 parts[4]; } at = { index };
  UNROLL for (int i = 0; i < 4; i++) at.parts[i] = __builtin_wasm_relaxed_swizzle_i8x16(levels, at.parts[i]);
#else
  typedef char i8x32 __attribute__((vector_size(32)));
  union { u32x16 all; i8x32 parts[2]; } at = { index };
  const union { i8x16 parts[2]; i8x32 all; } twice = { { levels, levels } };
  UNROLL for (int i = 0; i < 2; i++) at.parts[i] = __builtin_ia32_pshufb256(twice.all, at.parts[i]);
#endif
  return at.all;
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

// Products of bytes: the bytes of `codes`, which are below 16, times the four signed bytes of
// `four`.
// add_dots adds them to running sums, and sum_of_dots gives the sum of four products in every lane.
// Without an instruction for it the sums of a block have 16 bits, which no sum of 16 products
// exceeds.
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
typedef short i16x16 __attribute__((vector_size(32)));

INLINE u32x16 add_dots(u32x16 sums, u32x16 codes, int four) {
  typedef char i8x32 __attribute__((vector_size(32)));
  union { u32x16 all; i8x32 parts[2]; } from = { codes };
  union { u32x16 all; i16x16 parts[2]; } to = { sums };
  UNROLL for (int i = 0; i < 2; i++) {
    to.parts[i] += __builtin_ia32_pmaddubsw256(from.parts[i], (i8x32)(i32x8)four);
  }
  return to.all;
}

INLINE u32x16 sum_of_dots(u32x16 sums) {
  union { u32x16 all; i16x16 parts[2]; } at = { sums };
  const i16x16 ones = (i16x16)(i32x8)0x00010001;
  UNROLL for (int i = 0; i < 2; i++) {
    at.parts[i] = (i16x16)__builtin_ia32_pmaddwd256(at.parts[i], ones);
  }
  return at.all;
}

/** add_dots by AVX-VNNI, whose sums have 32 bits: sum_of_dots is not needed. */
INLINE u32x16 add_dots_vnni(u32x16 sums, u32x16 codes, int four) {
  const union { u32x16 all; u32x8 parts[2]; } from = { codes };
  union { u32x16 all; u32x8 parts[2]; } to = { sums };
  const u32x8 bytes = (uint32_t)four;
  UNROLL for (int i = 0; i < 2; i++) {
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(to.parts[i]) : "x"(from.parts[i]), "x"(bytes));
  }
  return to.all;
}
#define HAS_VNNI
#elif defined(__wasm__)
typedef short i16x8 __attribute__((vector_size(16)));

INLINE u32x16 add_dots(u32x16 sums, u32x16 codes, int four) {
  typedef int i32x4 __attribute__((vector_size(16)));
  union { u32x16 all; i8x16 parts[4]; } from = { codes };
  union { u32x16 all; i16x8 parts[4]; } to = { sums };
  const i8x16 bytes = (i8x16)(i32x4){ four, four, four, four };
  UNROLL for (int i = 0; i < 4; i++) {
    __asm__(
      "local.get %1\n local.get %2\n local.get %3\n i16x8.relaxed_dot_i8x16_i7x16_s\n"
      "i16x8.add\n local.set %0"
      : "=r"(to.parts[i]) : "r"(to.parts[i]), "r"(bytes), "r"(from.parts[i])
    );
  }
  return to.all;
}

INLINE u32x16 sum_of_dots(u32x16 sums) {
  typedef int i32x4 __attribute__((vector_size(16)));
  union { u32x16 all; i16x8 parts[4]; i32x4 words[4]; } at = { sums };
  const i16x8 ones = { 1, 1, 1, 1, 1, 1, 1, 1 };
  UNROLL for (int i = 0; i < 4; i++) at.words[i] = __builtin_wasm_dot_s_i32x4_i16x8(at.parts[i], ones);
  return at.all;
}
#endif
#if defined(__AVX512VNNI__) || defined(__ARM_FEATURE_DOTPROD)
#define sum_of_dots(sums) (sums)
#endif

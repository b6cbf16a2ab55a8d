// Rounding to bfloat16.
#pragma once
#include "vector.h"

/** The patterns of bfloat16: the upper halves of the nearest floats, ties to even. */
INLINE u32x16 halves_of(u32x16 bits) {
  const u32x16 isNan = (u32x16)((bits & 0x7fffffff) > 0x7f800000);
  const u32x16 quiet = (bits >> 16) | 0x40;
  const u32x16 nearest = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return (quiet & isNan) | (nearest & ~isNan);
}

typedef uint16_t u16x16 __attribute__((ext_vector_type(16)));
typedef u16x16 loose_u16x16 __attribute__((aligned(2)));

/** 16 patterns as floats, and the other way round. */
INLINE f32x16 load_bf16(const char *at) {
  return as_floats(__builtin_convertvector(*(const loose_u16x16 *)at, u32x16) << 16);
}

INLINE void store_bf16(char *at, u32x16 halves) {
  *(loose_u16x16 *)at = __builtin_convertvector(halves, u16x16);
}

/** Loads 16 patterns, of which memory behind the first `count` is not read. */
INLINE f32x16 load_some(const char *at, int count) {
  if (count == LANES) return load_bf16(at);
  uint16_t halves[LANES] = { 0 };
  ONE_BY_ONE for (int i = 0; i < count; i++) halves[i] = ((const uint16_t *)at)[i];
  return load_bf16((const char *)halves);
}

INLINE void store_some(char *at, u32x16 halves, int count) {
  if (count == LANES) {
    store_bf16(at, halves);
    return;
  }
  uint16_t all[LANES];
  store_bf16((char *)all, halves);
  ONE_BY_ONE for (int i = 0; i < count; i++) ((uint16_t *)at)[i] = all[i];
}

INLINE f32x16 load_floats(const char *at, int count) {
  return count == LANES ? load16(at) : load_lanes(at, count);
}

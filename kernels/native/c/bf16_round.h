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

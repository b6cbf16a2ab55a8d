// Halves of vectors, for sums that are made in eight lanes.
#pragma once
#include "vector.h"

/** The first eight lanes, and the others. */
INLINE f32x8 low8(f32x16 x) {
  return __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7);
}

INLINE f32x8 high8(f32x16 x) {
  return __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
}

/** Eight floats, twice. */
INLINE f32x16 load8(const char *at) {
  const f32x8 x = load_half(at);
  return __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7);
}

/** Stores the first eight lanes. */
INLINE void store8(char *at, f32x16 x) {
  store_half(at, low8(x));
}

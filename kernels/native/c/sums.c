// Arithmetic on the gradients that ranks sum, with the bits of the plain functions in
// core/vector_arithmetic.ts. Arguments are arrays and the number of their values. An output may be
// an input; arrays that overlap in part may not be given.
#include "vector.h"

typedef uint16_t u16x16 __attribute__((ext_vector_type(16)));
typedef u16x16 loose_u16x16 __attribute__((aligned(2)));

EXPORTED void add_values(float *out, const float *a, const float *b, size_t n) {
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    store16((char *)(out + i), load16((const char *)(a + i)) + load16((const char *)(b + i)));
  }
  ONE_BY_ONE
  for (; i < n; i++) out[i] = a[i] + b[i];
}

/** The patterns of bfloat16: the upper halves of the nearest floats, ties to even. */
INLINE u32x16 halves_of(u32x16 bits) {
  const u32x16 isNan = (u32x16)((bits & 0x7fffffff) > 0x7f800000);
  const u32x16 quiet = (bits >> 16) | 0x40;
  const u32x16 nearest = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return (quiet & isNan) | (nearest & ~isNan);
}

INLINE uint32_t half_of(uint32_t bits) {
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >> 16) | 0x40;
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

/** Rounds to bfloat16; the values stay floats. */
EXPORTED void round_values(uint32_t *values, size_t n) {
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    loose_u32x16 *at = (loose_u32x16 *)(values + i);
    *at = halves_of(*at) << 16;
  }
  ONE_BY_ONE
  for (; i < n; i++) values[i] = half_of(values[i]) << 16;
}

EXPORTED void narrow_values(const uint32_t *values, uint16_t *out, size_t n) {
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    const u32x16 halves = halves_of(load_words((const char *)(values + i)));
    *(loose_u16x16 *)(out + i) = __builtin_convertvector(halves, u16x16);
  }
  ONE_BY_ONE
  for (; i < n; i++) out[i] = half_of(values[i]);
}

EXPORTED void widen_values(const uint16_t *halves, uint32_t *out, size_t n) {
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    const u16x16 patterns = *(const loose_u16x16 *)(halves + i);
    *(loose_u32x16 *)(out + i) = __builtin_convertvector(patterns, u32x16) << 16;
  }
  ONE_BY_ONE
  for (; i < n; i++) out[i] = (uint32_t)halves[i] << 16;
}

// Arithmetic on the gradients that ranks sum, with the bits of the plain functions in
// core/vector_arithmetic.ts. Arguments are arrays and the number of their values. An output may be
// an input; arrays that overlap in part may not be given.
#include "bf16_round.h"

EXPORTED void add_values(float *out, const float *a, const float *b, size_t n) {
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    store16((char *)(out + i), load16((const char *)(a + i)) + load16((const char *)(b + i)));
  }
  ONE_BY_ONE
  for (; i < n; i++) out[i] = a[i] + b[i];
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
    store_bf16((char *)(out + i), halves_of(load_words((const char *)(values + i))));
  }
  ONE_BY_ONE
  for (; i < n; i++) out[i] = half_of(values[i]);
}

EXPORTED void widen_values(const uint16_t *halves, uint32_t *out, size_t n) {
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    store16((char *)(out + i), load_bf16((const char *)(halves + i)));
  }
  ONE_BY_ONE
  for (; i < n; i++) out[i] = (uint32_t)halves[i] << 16;
}

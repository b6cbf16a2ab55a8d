// The natural logarithm of a float.
#pragma once
#include "vector.h"

/**
 * 1/c and ln c for sixteen numbers c. The mantissas from 0x3f330000 on are divided into as many
 * intervals; c is near the middle of one.
 */
static const double LOG_TABLE[16][2] = {
  { 0x1.661ec79f8f3bep+0, -0x1.57bf7808caadep-2 }, { 0x1.571ed4aaf883dp+0, -0x1.2bef0a7c06ddbp-2 },
  { 0x1.49539f0f010bp+0, -0x1.01eae7f513a67p-2 }, { 0x1.3c995b0b80385p+0, -0x1.b31d8a68224e9p-3 },
  { 0x1.30d190c8864a5p+0, -0x1.6574f0ac07758p-3 }, { 0x1.25e227b0b8eap+0, -0x1.1aa2bc79c81p-3 },
  { 0x1.1bb4a4a1a343fp+0, -0x1.a4e76ce8c0e5ep-4 }, { 0x1.12358f08ae5bap+0, -0x1.1973c5a611cccp-4 },
  { 0x1.0953f419900a7p+0, -0x1.252f438e10c1ep-5 }, { 1, 0 },
  { 0x1.e608cfd9a47acp-1, 0x1.aa5aa5df25984p-5 }, { 0x1.ca4b31f026aap-1, 0x1.c5e53aa362eb4p-4 },
  { 0x1.b2036576afce6p-1, 0x1.526e57720db08p-3 }, { 0x1.9c2d163a1aa2dp-1, 0x1.bc2860d22477p-3 },
  { 0x1.886e6037841edp-1, 0x1.1058bc8a07ee1p-2 }, { 0x1.767dcf5534862p-1, 0x1.4043057b6ee09p-2 },
};

INLINE uint32_t bits_of(float x) {
  union { float x; uint32_t bits; } both = { .x = x };
  return both.bits;
}

INLINE float from_bits(uint32_t bits) {
  union { uint32_t bits; float x; } both = { .bits = bits };
  return both.x;
}

/** ln x. With x = 2^k·z it is ln c + k·ln 2 + ln(1 + r), r = z/c − 1, in float64. */
static inline float log1(float x) {
  uint32_t bits = bits_of(x);
  if (bits - 0x00800000 >= 0x7f000000) { // not a positive normal number
    if (bits << 1 == 0) return -__builtin_inff();
    if (bits == 0x7f800000) return x;
    if (bits >> 31 || bits << 1 >= 0xff000000) return (x - x) / (x - x);
    bits = bits_of(x * 0x1p23f) - (23u << 23);
  }
  const uint32_t from = bits - 0x3f330000;
  const double *entry = LOG_TABLE[from >> 19 & 15];
  const double k = (int32_t)from >> 23, z = from_bits(bits - (from & 0xff800000));
  const double r = z * entry[0] - 1, start = entry[1] + k * 0x1.62e42fefa39efp-1;
  const double r2 = r * r;
  const double tail = (0x1.5575b0be00b6ap-2 * r + -0x1.ffffef20a4123p-2) + -0x1.00ea348b88334p-2 * r2;
  return (float)(tail * r2 + (start + r));
}

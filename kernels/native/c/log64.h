// The natural logarithm of a float64, with an error below one unit in its last place.
#pragma once
#include <stdint.h>

/** ln x. With x = 2^k·z and √½ ≤ z < √2 it is k·ln 2 + ln z; of ln z a polynomial is taken. */
static inline double log64(double x) {
  union { double x; uint64_t bits; } z = { .x = x };
  int k = 0;
  if (!(x > 0)) return x == 0 ? -__builtin_inf() : (x - x) / (x - x);
  if (z.bits >= 0x7ff0000000000000) return x;
  if (z.bits < 0x0010000000000000) { // below the normal numbers
    z.x = x * 0x1p54;
    k = -54;
  }
  const uint64_t from = z.bits - 0x3fe6a09e00000000; // √½
  k += (int)((int64_t)from >> 52);
  z.bits = (from & 0x000fffffffffffff) + 0x3fe6a09e00000000;
  const double f = z.x - 1, half = 0.5 * f * f, s = f / (2 + f), t = s * s, w = t * t;
  const double even = w * (0x1.999999997fa04p-2 + w * (0x1.c71c51d8e78afp-3 + w * 0x1.39a09d078c69fp-3));
  const double odd = t * (0x1.5555555555593p-1 + w * (0x1.2492494229359p-2 +
    w * (0x1.7466496cb03dep-3 + w * 0x1.2f112df3e5244p-3)));
  return s * (half + (even + odd)) + k * 0x1.a39ef35793c76p-33 - half + f + k * 0x1.62e42feep-1;
}

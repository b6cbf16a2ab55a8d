// Trained weights in bfloat16 (kernels/ops/bf16_weights/spec.ts). Work unit: BLOCK elements.
#include "bf16_round.h"
#include "elements.h"
#include "philox.h"

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

/** out = weight, and + rest if it is not 0. */
KERNEL(widen_bf16, weight, rest, out, n) {
  const char *const weight = AT(weight), *const rest = AT(rest);
  char *const out = AT(out);
  const int last = min(end * BLOCK, (int)args->n), adds = args->rest != 0;
  for (int i = begin * BLOCK; i < last; i += LANES) {
    const int count = min(LANES, last - i);
    f32x16 x = load_some(weight + (size_t)i * 2, count);
    if (adds) x += load_some(rest + (size_t)i * 2, count);
    put_lanes(out + (size_t)i * 4, x, count, 0);
  }
}

/** weight = x, rounded to the nearest; rest = the rest, rounded to the nearest. */
KERNEL(round_bf16_kahan, x, weight, rest, n) {
  const char *const x = AT(x);
  char *const weight = AT(weight), *const rest = AT(rest);
  const int last = min(end * BLOCK, (int)args->n);
  for (int i = begin * BLOCK; i < last; i += LANES) {
    const int count = min(LANES, last - i);
    const f32x16 value = load_floats(x + (size_t)i * 4, count);
    const u32x16 nearest = halves_of((u32x16)value);
    store_some(weight + (size_t)i * 2, nearest, count);
    const f32x16 left = value - as_floats(nearest << 16);
    store_some(rest + (size_t)i * 2, halves_of((u32x16)left), count);
  }
}

/** weight = x, rounded stochastically. `firstBlock` is the Philox block of the first element. */
KERNEL(round_bf16_stochastic, x, weight, n, firstBlock, c1, c2, c3, seedLow, seedHigh) {
  const char *const x = AT(x);
  char *const weight = AT(weight);
  const uint32_t first = args->firstBlock, rest[3] = { args->c1, args->c2, args->c3 };
  const uint32_t key[2] = { args->seedLow, args->seedHigh };
  const int last = min(end * BLOCK, (int)args->n);
  for (int i = begin * BLOCK; i < last; i += LANES) {
    const int count = min(LANES, last - i);
    const u32x16 bits = (u32x16)load_floats(x + (size_t)i * 4, count);
    const u32x16 random = philox16(first + (uint32_t)i / 4, rest, key) & 0xffff;
    store_some(weight + (size_t)i * 2, (bits + random) >> 16, count);
  }
}

// Trained weights in bfloat16 (kernels/ops/bf16_weights/spec.ts). Work unit: BLOCK elements.
#include "bf16_round.h"
#include "elements.h"
#include "philox.h"

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

// Inverted dropout (kernels/ops/dropout/spec.ts). Work unit: one row. It is done 16 columns at a
// time: the words of four Philox blocks.
#include "kernel.h"
#include "philox.h"

KERNEL(dropout, x, keys, out, d, threshold, scale, site, seedLow, seedHigh, accumulate) {
  const char *const x = AT(x);
  char *const out = AT(out);
  const uint32_t *const keys = (const uint32_t *)AT(keys);
  const uint32_t key[2] = { args->seedLow, args->seedHigh }, site = args->site;
  const u32x16 threshold = (uint32_t)args->threshold;
  const f32x16 scale = args->scale;
  const int d = args->d, accumulate = args->accumulate;
  for (int row = begin; row < end; row++) {
    const size_t at = (size_t)row * d * 4;
    const char *from = x + at;
    char *to = out + at;
    uint32_t c0 = site << 18;
    for (int c = 0; c < d; c += LANES, c0 += 4, from += ROW, to += ROW) {
      const int count = min(LANES, d - c);
      const u32x16 kept = (u32x16)(philox16(c0, keys + 3 * row, key) >= threshold);
      const f32x16 value = (count == LANES ? load16(from) : load_lanes(from, count)) * scale;
      put_lanes(to, as_floats((u32x16)value & kept), count, accumulate);
    }
  }
}

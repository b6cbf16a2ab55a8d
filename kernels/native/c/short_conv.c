// A short causal convolution with a gate, and its gradients (kernels/ops/short_conv/spec.ts). Units
// are rows, and for the gradient of the weight vectors of channels. The taps of a channel are next
// to one another in the weight; the scratch has them tap by tap, [taps][WIDTH].
#include "pack.h"
#include "kernel.h"

/** A tap before the first row. */
#define NONE 0xffffffffu

/** Elements of a tap in the scratch. */
#define WIDTH(d) ((size_t)round_up16(d))

/** The lanes of a gate; without one they are 1. */
INLINE f32x16 load_gate(const char *gate, size_t at, int count) {
  return gate == NULL ? (f32x16)1.0f : load_lanes(gate + at, count);
}

static void arrange_taps(const float *weight, int d, int taps, float *to) {
  for (int t = 0; t < taps; t++) {
    float *tap = to + t * WIDTH(d);
    // The newest position has the last tap.
    ONE_BY_ONE for (int c = 0; c < d; c++) tap[c] = weight[(size_t)c * taps + (taps - 1 - t)];
    ONE_BY_ONE for (int c = d; c < (int)WIDTH(d); c++) tap[c] = 0;
  }
}

/** Σ_t w_t·x_t of the channels [c, c + 16) of a row, of which `count` exist. */
INLINE f32x16 convolved(
  const float *w, const char *x, const char *table, const uint32_t *before, int d, int taps, int c,
  int count
) {
  const size_t at = (size_t)c * 4;
  f32x16 sum = load_lanes(x + at, count) * load16((const char *)(w + c));
  for (int t = 1; t < taps; t++) {
    if (before[t - 1] == NONE) continue;
    const char *row = table + (size_t)before[t - 1] * d * 4;
    sum = fma16(load_lanes(row + at, count), load16((const char *)(w + t * WIDTH(d) + c)), sum);
  }
  return sum;
}

/** Scratch: taps · WIDTH floats. */
KERNEL(short_conv, x, table, before, weight, gate, out, d, taps) {
  const char *const x = AT(x), *const table = AT(table), *const gate = args->gate == 0 ? NULL : AT(gate);
  char *const out = AT(out);
  const uint32_t *const before = (const uint32_t *)AT(before);
  const int d = args->d, taps = args->taps;
  float *const w = (float *)scratch;
  arrange_taps((const float *)AT(weight), d, taps, w);
  for (int row = begin; row < end; row++) {
    const size_t from = (size_t)row * d * 4;
    const uint32_t *rows = before + (size_t)row * (taps - 1);
    for (int c = 0; c < d; c += LANES) {
      const int count = min(LANES, d - c);
      const size_t at = from + (size_t)c * 4;
      const f32x16 sum = convolved(w, x + from, table, rows, d, taps, c, count);
      store_lanes(out + at, load_gate(gate, at, count) * sum, count);
    }
  }
}

/** Scratch: taps · WIDTH floats. */
KERNEL(short_conv_backward, dout, x, before, after, users, weight, gate, dx, dgate, d, taps) {
  const char *const dout = AT(dout), *const x = AT(x), *const gate = args->gate == 0 ? NULL : AT(gate);
  char *const dx = AT(dx), *const dgate = AT(dgate);
  const uint32_t *const before = (const uint32_t *)AT(before);
  const uint32_t *const after = (const uint32_t *)AT(after), *const users = (const uint32_t *)AT(users);
  const int d = args->d, taps = args->taps;
  float *const w = (float *)scratch;
  arrange_taps((const float *)AT(weight), d, taps, w);
  for (int row = begin; row < end; row++) {
    const size_t from = (size_t)row * d * 4;
    for (int c = 0; c < d; c += LANES) {
      const int count = min(LANES, d - c);
      const size_t channel = (size_t)c * 4, at = from + channel;
      const uint32_t *rows = before + (size_t)row * (taps - 1);
      const f32x16 sum = convolved(w, x + from, x, rows, d, taps, c, count);
      const f32x16 own = load_lanes(dout + at, count);
      if (gate != NULL) store_lanes(dgate + at, own * sum, count);
      f32x16 slope = own * load_gate(gate, at, count) * load16((const char *)(w + c));
      for (int t = 1; t < taps; t++) {
        const uint32_t *range = after + (size_t)row * (taps - 1) + t - 1;
        const f32x16 tap = load16((const char *)(w + t * WIDTH(d) + c));
        for (uint32_t user = range[0]; user < range[1]; user++) {
          const size_t there = (size_t)users[user] * d * 4 + channel;
          slope = fma16(
            load_lanes(dout + there, count) * load_gate(gate, there, count), tap, slope
          );
        }
      }
      store_lanes(dx + at, slope, count);
    }
  }
}

/** dweight += Σ_i dout_i·gate_i·x(i, t). Unit: 16 channels, all rows in order. */
KERNEL(short_conv_weight, dout, x, before, gate, dweight, rows, d, taps) {
  const char *const dout = AT(dout), *const x = AT(x), *const gate = args->gate == 0 ? NULL : AT(gate);
  char *const dweight = AT(dweight);
  const uint32_t *const before = (const uint32_t *)AT(before);
  const int rows = args->rows, d = args->d, taps = args->taps;
  for (int unit = begin; unit < end; unit++) {
    const int c = unit * LANES, count = min(LANES, d - c);
    for (int t = 0; t < taps; t++) {
      f32x16 sum = 0.0f;
      for (int row = 0; row < rows; row++) {
        const uint32_t other = t == 0 ? (uint32_t)row : before[(size_t)row * (taps - 1) + t - 1];
        if (other == NONE) continue;
        const size_t at = ((size_t)row * d + c) * 4, there = ((size_t)other * d + c) * 4;
        const f32x16 slope = load_lanes(dout + at, count) * load_gate(gate, at, count);
        sum = fma16(slope, load_lanes(x + there, count), sum);
      }
      char lanes[ROW] __attribute__((aligned(64)));
      store16(lanes, sum);
      ONE_BY_ONE for (int i = 0; i < count; i++) {
        char *to = dweight + ((size_t)(c + i) * taps + (taps - 1 - t)) * 4;
        store1(to, load1(to) + load1(lanes + i * 4));
      }
    }
  }
}

// LayerNorm with the fused residual addition, and its gradient (kernels/ops/layernorm/spec.ts).
// Work unit of the forward and of dx: one row. Sums along a row are made in eight lanes, and a
// scalar tail. Work unit of dweight: 16 columns.
#include "elements.h"

INLINE float sum8(f32x8 x) {
  x = settled8(x);
  const f32x4 low = __builtin_shufflevector(x, x, 0, 1, 2, 3);
  const f32x4 high = __builtin_shufflevector(x, x, 4, 5, 6, 7), y = low + high;
  return (y[0] + y[1]) + (y[2] + y[3]);
}

/** Σ x. */
static float sum_row(const char *x, int d) {
  f32x8 s = 0.0f;
  for (; d >= 8; d -= 8, x += 32) s += load_half(x);
  float sum = sum8(s);
  ONE_BY_ONE for (; d > 0; d--, x += 4) sum += load1(x);
  return sum;
}

/** Σ (x − mean)². */
static float sum_squares(const char *x, float mean, int d) {
  f32x8 s = 0.0f;
  for (; d >= 8; d -= 8, x += 32) {
    const f32x8 h = load_half(x) - mean;
    s = fma8(h, h, s);
  }
  float sum = sum8(s);
  ONE_BY_ONE for (; d > 0; d--, x += 4) sum += (load1(x) - mean) * (load1(x) - mean);
  return sum;
}

/** `addend` and `sum` are 0 without a residual branch. */
KERNEL(layernorm, x, addend, sum, weight, bias, out, mean, rho, d, eps) {
  const char *const x = AT(x), *const addend = AT(addend), *const weight = AT(weight),
    *const bias = AT(bias);
  char *const sum = AT(sum), *const out = AT(out), *const mean = AT(mean), *const rho = AT(rho);
  const int d = args->d, adds = args->addend != 0;
  const float eps = args->eps;
  const size_t bytes = (size_t)d * 4;
  for (int row = begin; row < end; row++) {
    const size_t at = (size_t)row * bytes;
    const char *h = x + at;
    if (adds) {
      add_rows(h, addend + at, sum + at, bytes);
      h = sum + at;
    }
    const float mu = sum_row(h, d) / (float)d;
    const float r = 1.0f / __builtin_elementwise_sqrt(sum_squares(h, mu, d) / (float)d + eps);
    store1(mean + (size_t)row * 4, mu);
    store1(rho + (size_t)row * 4, r);
    char *y = out + at;
    EACH_OF_ROW(bytes, STORE(y, (LOAD(h) - mu) * r * LOAD(weight) + LOAD(bias));)
  }
}

/** Σ dout·weight, and in `along` Σ dout·weight·(x − mean). */
static float slope_row(
  const char *dout, const char *weight, const char *x, float mean, int d, float *along
) {
  f32x8 s = 0.0f, t = 0.0f;
  for (; d >= 8; d -= 8, dout += 32, weight += 32, x += 32) {
    const f32x8 g = load_half(dout) * load_half(weight);
    s += g;
    t = fma8(g, load_half(x) - mean, t);
  }
  float sum = sum8(s), weighted = sum8(t);
  ONE_BY_ONE for (; d > 0; d--, dout += 4, weight += 4, x += 4) {
    const float g = load1(dout) * load1(weight);
    sum += g;
    weighted += g * (load1(x) - mean);
  }
  *along = weighted;
  return sum;
}

/** dx = (accumulate ? dx : 0) + ρ·(dout·w − mean(dout·w) − x̂·mean(dout·w·x̂)). */
KERNEL(layernorm_backward, dout, x, weight, mean, rho, dx, accumulate, d) {
  const char *const dout = AT(dout), *const x = AT(x), *const w = AT(weight),
    *const mean = AT(mean), *const rho = AT(rho);
  char *const dx = AT(dx);
  const int accumulate = args->accumulate, d = args->d;
  const size_t bytes = (size_t)d * 4;
  for (int row = begin; row < end; row++) {
    const size_t offset = (size_t)row * bytes;
    const char *dy = dout + offset, *h = x + offset;
    char *to = dx + offset;
    const float mu = load1(mean + (size_t)row * 4), r = load1(rho + (size_t)row * 4);
    float weighted;
    const float slope = slope_row(dy, w, h, mu, d, &weighted) / (float)d;
    const float along = r * r * (weighted / (float)d);
    // Without `accumulate` the old values are not used at all: they may be NaN.
    EACH_OF_ROW(bytes, {
      const f32x16 g = LOAD(dy) * LOAD(w) - slope;
      const f32x16 t = r * (g - (LOAD(h) - mu) * along);
      STORE(to, accumulate ? LOAD(to) + t : t);
    })
  }
}

/** dweight += Σ_rows dout·(x − μ)·ρ. */
KERNEL(layernorm_dweight, dout, x, mean, rho, dweight, rows, d) {
  const char *const dout = AT(dout), *const x = AT(x), *const mean = AT(mean), *const rho = AT(rho);
  char *const dweight = AT(dweight);
  const int rows = args->rows, d = args->d;
  const size_t bytes = (size_t)d * 4;
  for (int unit = begin; unit < end; unit++) {
    const int count = min(LANES, d - unit * LANES);
    const char *a = dout + (size_t)unit * ROW, *b = x + (size_t)unit * ROW;
    SUM_OVER_ROWS(total, rows, {
      const float mu = load1(mean + (size_t)row * 4), r = load1(rho + (size_t)row * 4);
      sum = fma16(load_columns(a, count), (load_columns(b, count) - mu) * r, sum);
      a += bytes;
      b += bytes;
    })
    put_lanes(dweight + (size_t)unit * ROW, total, count, 1);
  }
}

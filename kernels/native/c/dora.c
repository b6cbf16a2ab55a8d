// The magnitudes of DoRA (kernels/ops/dora). Work unit of the scaling: one row. Work unit of the
// gains and of the gradient: 16 columns.
#include "elements.h"

KERNEL(dora_gain, squares, q, b, magnitude, rho, gain, r, d) {
  const int r = args->r, d = args->d;
  const float *const q = (const float *)AT(q), *const b = (const float *)AT(b);
  const float *const squares = (const float *)AT(squares);
  const float *const magnitude = (const float *)AT(magnitude);
  float *const rho = (float *)AT(rho), *const gain = (float *)AT(gain);
  for (int o = begin * LANES; o < min(end * LANES, d); o++) {
    float sum = squares[o];
    ONE_BY_ONE for (int k = 0; k < r; k++) sum += q[(size_t)k * d + o] * b[(size_t)o * r + k];
    const float inverse = sum > 0.0f ? 1.0f / __builtin_elementwise_sqrt(sum) : 0.0f;
    rho[o] = inverse;
    gain[o] = magnitude[o] * inverse;
  }
}

KERNEL(scale_columns, x, gain, out, d, byRow) {
  const size_t bytes = (size_t)args->d * 4;
  const char *const gain = AT(gain), *x = AT(x) + (size_t)begin * bytes;
  char *out = AT(out) + (size_t)begin * bytes;
  const int by_row = args->byRow;
  for (int row = begin; row < end; row++, x += bytes, out += bytes) {
    const float factor = by_row ? load1(gain + (size_t)row * 4) : 0.0f;
    EACH_OF_ROW(bytes, STORE(out, LOAD(x) * (by_row ? (f32x16)factor : LOAD(gain)));)
  }
}

KERNEL(scale_columns_backward, dout, x, rho, dmagnitude, rows, d) {
  const int rows = args->rows, d = args->d;
  const size_t bytes = (size_t)d * 4;
  for (int column = begin * LANES; column < min(end * LANES, d); column += LANES) {
    const int count = min(LANES, d - column);
    const size_t at = (size_t)column * 4;
    const char *a = AT(dout) + at, *b = AT(x) + at;
    SUM_OVER_ROWS(total, rows, {
      sum += load_columns(a, count) * load_columns(b, count);
      a += bytes;
      b += bytes;
    })
    total *= load_lanes(AT(rho) + at, count);
    put_lanes(AT(dmagnitude) + at, total, count, 1);
  }
}

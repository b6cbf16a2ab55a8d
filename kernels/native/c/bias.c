// A bias and its gradient (kernels/ops/bias). Work unit of the forward: one row. Work unit of the
// gradient: 16 columns.
#include "elements.h"

KERNEL(add_bias, x, bias, d, scale) {
  const char *const bias = AT(bias);
  const size_t bytes = (size_t)args->d * 4;
  const float scale = args->scale;
  char *to = AT(x) + (size_t)begin * bytes;
  for (int row = begin; row < end; row++, to += bytes) {
    EACH_OF_ROW(bytes, STORE(to, LOAD(to) + LOAD(bias) * scale);)
  }
}

KERNEL(add_bias_backward, dout, dbias, rows, d, scale) {
  const int rows = args->rows, d = args->d;
  const size_t bytes = (size_t)d * 4;
  const float scale = args->scale;
  for (int column = begin * LANES; column < min(end * LANES, d); column += LANES) {
    const int count = min(LANES, d - column);
    const char *a = AT(dout) + (size_t)column * 4;
    SUM_OVER_ROWS(total, rows, sum += load_columns(a, count); a += bytes;)
    put_lanes(AT(dbias) + (size_t)column * 4, total * scale, count, 1);
  }
}

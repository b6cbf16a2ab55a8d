// Rotary position embedding (kernels/ops/rope/spec.ts). Work unit: one row.
#include "kernel.h"
#include "rows.h"

/** Rotates the pairs (a, b) at byte j of both halves of a head. */
#define ROTATE(vector, load, store, a, b, c, sn, sign)                                      \
  const vector u = load(a), w = load(b), cosine = load(c), sine = load(sn) * (vector)sign;  \
  store(a, u * cosine - w * sine);                                                          \
  store(b, w * cosine + u * sine);
#define LOAD4(at) (*(const loose_f32x4 *)(at))
#define STORE4(at, value) (*(loose_f32x4 *)(at) = (value))

void rotate_rows(
  char *x, const char *cos, const char *sin, const uint32_t *positions, int heads, int headDim,
  int rotaryDim, float sign, int rows
) {
  const size_t half = (size_t)rotaryDim * 2, bytes = (size_t)headDim * 4;
  char *a = x;
  for (int row = 0; row < rows; row++) {
    const size_t table = positions[row] * half;
    const char *c = cos + table, *sn = sin + table;
    for (int head = 0; head < heads; head++) {
      char *b = a + half;
      size_t j = 0;
      for (; j + ROW <= half; j += ROW) {
        ROTATE(f32x16, load16, store16, a + j, b + j, c + j, sn + j, sign)
      }
      for (; j + 32 <= half; j += 32) {
        ROTATE(f32x8, load_half, store_half, a + j, b + j, c + j, sn + j, sign)
      }
      for (; j + 16 <= half; j += 16) {
        ROTATE(f32x4, LOAD4, STORE4, a + j, b + j, c + j, sn + j, sign)
      }
      ONE_BY_ONE for (; j < half; j += 4) {
        const float u = load1(a + j), w = load1(b + j);
        const float cosine = load1(c + j), sine = load1(sn + j) * sign;
        store1(a + j, u * cosine - w * sine);
        store1(b + j, w * cosine + u * sine);
      }
      a += bytes;
    }
  }
}

KERNEL(rope, x, cos, sin, positions, heads, headDim, rotaryDim, sign) {
  const int heads = args->heads, headDim = args->headDim, rotaryDim = args->rotaryDim;
  const float sign = args->sign;
  rotate_rows(
    AT(x) + (size_t)begin * heads * headDim * 4, AT(cos), AT(sin),
    (const uint32_t *)AT(positions) + begin, heads, headDim, rotaryDim, sign, end - begin
  );
}

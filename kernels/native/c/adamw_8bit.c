// AdamW with 8-bit moments (kernels/ops/adamw_8bit/spec.ts). Work unit: a block of BLOCK elements.
// The moments of a block are widened on the stack, updated there in vectors, and rounded again.
#include "kernel.h"

#define BLOCK 256
/** Code of 0 in the signed map, and the upper half of the first cell (dynamic_map.ts). */
#define SIGNED_ZERO 127
#define FIRST_CELL 0x3400

/** Half of the tables: where the numbers between two magnitudes begin, and where to look first. */
typedef struct {
  const float *bounds;
  const uint8_t *cells;
} Rounding;

/** Number of the magnitude nearest to x in [0, 1]. */
INLINE int magnitude(float x, const Rounding *r) {
  const union { float x; uint32_t bits; } both = { .x = x };
  const int k = r->cells[max(0, (int)(both.bits >> 16) - FIRST_CELL)];
  return k + (r->bounds[k] < x);
}

/** The largest of the first `count` magnitudes; NaN where one is. */
INLINE float largest(const float *x, int count) {
  f32x16 most = 0.0f, sum = 0.0f;
  for (int i = 0; i < count; i += LANES) {
    const f32x16 size = __builtin_elementwise_abs(load16((const char *)(x + i)));
    most = max16(size, most);
    sum += size;
  }
  float all = 0;
  for (int i = 0; i < LANES; i++) {
    // No sum of magnitudes is NaN unless one of them is.
    if (sum[i] != sum[i]) return sum[i];
    if (most[i] > all) all = most[i];
  }
  return all;
}

/**
 * The host computes decay = 1 − lr·weightDecay, rest1 = 1 − beta1, rest2 = 1 − beta2,
 * step = lr/correction1 and root = √correction2. The maps, bounds and cells are the parts of
 * `dynamicTables`.
 */
KERNEL(adamw_8bit,
  param, grad, m, v, mMax, vMax, n, decay, beta1, rest1, beta2, rest2, step, root, eps, gradScale,
  signed_, unsigned_, signedBounds, unsignedBounds, signedCells, unsignedCells
) {
  char *const param = AT(param);
  const char *const grad = AT(grad);
  uint8_t *const m = (uint8_t *)AT(m), *const v = (uint8_t *)AT(v);
  float *const mMax = (float *)AT(mMax), *const vMax = (float *)AT(vMax);
  const float *const map1 = (const float *)AT(signed_), *const map2 = (const float *)AT(unsigned_);
  const Rounding to1 = { (const float *)AT(signedBounds), (const uint8_t *)AT(signedCells) };
  const Rounding to2 = { (const float *)AT(unsignedBounds), (const uint8_t *)AT(unsignedCells) };
  const float decay = args->decay, beta1 = args->beta1, rest1 = args->rest1, beta2 = args->beta2,
    rest2 = args->rest2, step = args->step, root = args->root, eps = args->eps,
    gradScale = args->gradScale;
  float means[BLOCK] __attribute__((aligned(64))), squares[BLOCK] __attribute__((aligned(64)));
  for (int block = begin; block < end; block++) {
    const int first = block * BLOCK, count = min(BLOCK, (int)args->n - first);
    uint8_t *codes1 = m + first, *codes2 = v + first;
    for (int j = 0; j < count; j++) {
      means[j] = map1[codes1[j]];
      squares[j] = map2[codes2[j]];
    }
    // The last word's unused codes are those of 0.
    const int padded = (count + 3) & ~3, whole = (count + LANES - 1) & ~(LANES - 1);
    for (int j = count; j < whole; j++) means[j] = squares[j] = 0;
    const float old1 = mMax[block], old2 = vMax[block];
    for (int j = 0; j < count; j += LANES) {
      const int width = min(LANES, count - j);
      char *p = param + (size_t)(first + j) * 4, *mean = (char *)(means + j);
      char *square = (char *)(squares + j);
      const char *q = grad + (size_t)(first + j) * 4;
      const f32x16 g = (width == LANES ? load16(q) : load_lanes(q, width)) * gradScale;
      const f32x16 a = load16(mean) * old1 * beta1 + g * rest1;
      const f32x16 b = load16(square) * old2 * beta2 + g * g * rest2;
      store16(mean, a);
      store16(square, b);
      const f32x16 divisor = __builtin_elementwise_sqrt(b) / root + eps;
      const f32x16 kept = (width == LANES ? load16(p) : load_lanes(p, width)) * decay;
      put_lanes(p, kept - step * a / divisor, width, 0);
    }
    for (int j = count; j < whole; j++) means[j] = squares[j] = 0;
    const float large1 = largest(means, whole), large2 = largest(squares, whole);
    mMax[block] = large1;
    vMax[block] = large2;
    const float part1 = large1 > 0 ? large1 : 1, part2 = large2 > 0 ? large2 : 1;
    for (int j = 0; j < padded; j++) {
      const float x = means[j] / part1;
      const int k1 = magnitude(x < 0 ? -x : x, &to1), k2 = magnitude(squares[j] / part2, &to2);
      codes1[j] = (uint8_t)(x < 0 ? SIGNED_ZERO - min(k1, SIGNED_ZERO) : SIGNED_ZERO + k1);
      codes2[j] = (uint8_t)k2;
    }
  }
}

// AdamW over a flat block, and sums of squares (kernels/ops/optimizer). Work unit of adamw: BLOCK
// elements. Work unit of sum_squares: a chunk of SUM_CHUNK (spec.ts) elements.
#include "elements.h"

#define SUM_CHUNK 4096

/**
 * The host computes decay = 1 − lr·weightDecay, rest1 = 1 − beta1, rest2 = 1 − beta2,
 * step = lr/correction1 and root = √correction2, so that each is rounded once.
 */
KERNEL(adamw, param, grad, m, v, n, decay, beta1, rest1, beta2, rest2, step, root, eps, gradScale) {
  char *const param = AT(param), *const m = AT(m), *const v = AT(v);
  const char *const grad = AT(grad);
  const float decay = args->decay, beta1 = args->beta1, rest1 = args->rest1, beta2 = args->beta2,
    rest2 = args->rest2, step = args->step, root = args->root, eps = args->eps,
    gradScale = args->gradScale;
  EACH_OF_UNITS(args->n, {
    const f32x16 g = LOAD(grad) * gradScale;
    const f32x16 mean = LOAD(m) * beta1 + g * rest1;
    const f32x16 square = LOAD(v) * beta2 + g * g * rest2;
    const f32x16 kept = LOAD(param) * decay;
    STORE(m, mean);
    STORE(v, square);
    STORE(param, kept - step * mean / (__builtin_elementwise_sqrt(square) / root + eps));
  })
}

/** partial[c] = Σ x² of chunk c, which is summed in float64. */
KERNEL(sum_squares, x, partial, n) {
  typedef double f64x8 __attribute__((ext_vector_type(8)));
  for (int chunk = begin; chunk < end; chunk++) {
    const char *p = AT(x) + (size_t)chunk * SUM_CHUNK * 4;
    int left = min(SUM_CHUNK, (int)args->n - chunk * SUM_CHUNK);
    f64x8 s = 0;
    for (; left >= 8; left -= 8, p += 32) {
      const f64x8 a = __builtin_convertvector(load_half(p), f64x8);
      s += a * a;
    }
    double sum = ((s[0] + s[2]) + (s[4] + s[6])) + ((s[1] + s[3]) + (s[5] + s[7]));
    ONE_BY_ONE for (; left > 0; left--, p += 4) sum += (double)load1(p) * (double)load1(p);
    store1(AT(partial) + (size_t)chunk * 4, (float)sum);
  }
}

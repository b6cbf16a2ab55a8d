// Draws without a filter: sample_plain of kernels/ops/sample/wasm.as.ts, which explains the
// arguments and the order of the sums.
#include "eights.h"
#include "exp.h"
#include "kernel.h"

/** Tokens in a block. */
#define BLOCK 64

/** f32.max of WebAssembly: NaN if one is, and 0 of 0 and −0. */
INLINE float larger(float a, float b) {
  if (a == b) return a == 0 ? a + b : a;
  return a > b ? a : b > a ? b : a + b;
}

/** The largest element. */
static float maximum(const char *x, int n) {
  float best = load1(x);
  int c = 0;
  if (n >= LANES) {
    // Four maxima beside one another, since each comparison waits for the one before.
    const f32x16 first = load16(x);
    f32x16 many[4] = { first, first, first, first };
    for (c = LANES; c + 4 * LANES <= n; c += 4 * LANES) {
      UNROLL for (int i = 0; i < 4; i++) {
        many[i] = max16(load16(x + (size_t)(c + i * LANES) * 4), many[i]);
      }
    }
    for (; c + LANES <= n; c += LANES) many[0] = max16(load16(x + (size_t)c * 4), many[0]);
    const f32x16 most = settled(max16(max16(many[3], many[2]), max16(many[1], many[0])));
    f32x4 part[4];
    UNROLL for (int i = 0; i < 4; i++) {
      UNROLL for (int t = 0; t < 4; t++) part[i][t] = most[4 * i + t];
    }
    const f32x4 four = max4(max4(part[3], part[2]), max4(part[1], part[0]));
    best = larger(larger(four[0], four[1]), larger(four[2], four[3]));
  }
  ONE_BY_ONE for (; c < n; c++) best = larger(best, load1(x + (size_t)c * 4));
  return best;
}

/** The first element that equals `value`; 0 when there is none. */
static int first_equal(const char *x, int n, float value) {
  int c = 0;
  for (; c + LANES <= n; c += LANES) {
    if (__builtin_reduce_or(load16(x + (size_t)c * 4) == (f32x16)value) != 0) break;
  }
  for (; c < n; c++) {
    if (load1(x + (size_t)c * 4) == value) return c;
  }
  return 0;
}

/** The sum of the eight running sums of a block. */
INLINE double block_sum(f32x8 sums) {
  sums = settled8(sums);
  const f32x4 y = __builtin_shufflevector(sums, sums, 0, 1, 2, 3) +
    __builtin_shufflevector(sums, sums, 4, 5, 6, 7);
  return ((double)y[0] + (double)y[1]) + ((double)y[2] + (double)y[3]);
}

/** weights = e^((x − high)·inverse), and the sum of each block. Returns the sum of all. */
static double exponentials(
  const char *x, char *weights, double *sums, int n, float high, float inverse
) {
  const f32x16 most = high, scale = inverse;
  const int whole = n & ~7;
  double total = 0;
  int c = 0, block = 0;
  while (c < whole) {
    const int stop = min(c + BLOCK, whole);
    f32x8 running = 0.0f;
    for (; c + LANES <= stop; c += LANES) {
      const f32x16 e = exp16((load16(x + (size_t)c * 4) - most) * scale);
      store16(weights + (size_t)c * 4, e);
      running += low8(e);
      running += high8(e);
    }
    if (c < stop) {
      const f32x16 e = exp16((load8(x + (size_t)c * 4) - most) * scale);
      store8(weights + (size_t)c * 4, e);
      running += low8(e);
      c += 8;
    }
    sums[block++] = block_sum(running);
    total += sums[block - 1];
  }
  if (whole == n) return total;
  // The rest belongs to the last block, unless that is full.
  float rest[8];
  for (int i = 0; i < 8; i++) {
    rest[i] = whole + i < n ? load1(x + (size_t)(whole + i) * 4) : -__builtin_inff();
  }
  const f32x16 e = exp16((load8((const char *)rest) - most) * scale);
  store8(weights + (size_t)whole * 4, e);
  const double sum = block_sum(low8(e));
  if (whole % BLOCK == 0) sums[block++] = 0;
  sums[block - 1] += sum;
  return total + sum;
}

/** The first token whose cumulative weight exceeds `target`, or the last one with any weight. */
static int draw(const char *weights, const double *sums, int n, double target) {
  double cumulative = 0, before = 0;
  int last = 0;
  for (int c = 0, block = 0; c < n; c += BLOCK, block++) {
    if (sums[block] == 0) continue;
    before = cumulative;
    cumulative += sums[block];
    last = c;
    if (cumulative > target) break;
  }
  cumulative = before;
  for (int c = last, stop = min(last + BLOCK, n); c < stop; c++) {
    const float w = load1(weights + (size_t)c * 4);
    if (w == 0) continue;
    cumulative += (double)w;
    last = c;
    if (cumulative > target) break;
  }
  return last;
}

/** Word 0 of Philox4x32-10 at counter (0, c[0], c[1], c[2]) with the key c[3], c[4]. */
static uint32_t philox_word(const uint32_t *c) {
  uint32_t c0 = 0, c1 = c[0], c2 = c[1], c3 = c[2], k0 = c[3], k1 = c[4];
  for (int round = 0; round < 10; round++) {
    const uint64_t p0 = 0xd2511f53ull * c0, p1 = 0xcd9e8d57ull * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)p0;
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  return c0;
}

typedef struct {
  double logits, scored, counters, tokens, distances, vocab, temperature;
} SamplePlainArgs;

KERNEL(sample_plain, SamplePlainArgs) {
  char *const logits = AT(logits), *const scored = AT(scored), *const counters = AT(counters),
    *const tokens = AT(tokens), *const distances = AT(distances);
  const int vocab = args->vocab;
  const double temperature = args->temperature;
  const size_t bytes = (size_t)vocab * 4;
  char *weights = scratch;
  double *sums = (double *)(weights + ((bytes + 31) & ~(size_t)31));
  const double t = temperature == 0 ? 1 : temperature;
  const double inverted = 1 / t;
  const float inverse = (float)(inverted < 3e38 ? inverted : 3e38);
  for (int row = begin; row < end; row++) {
    const char *x = logits + (size_t)row * bytes, *y = scored + (size_t)row * bytes;
    float scoredBest = 0;
    double scoredTotal = 0;
    if (y != x) {
      scoredBest = maximum(y, vocab);
      scoredTotal = exponentials(y, weights, sums, vocab, scoredBest, inverse);
    }
    const float best = maximum(x, vocab);
    const double total = exponentials(x, weights, sums, vocab, best, inverse);
    if (y == x) {
      scoredBest = best;
      scoredTotal = total;
    }
    int token;
    if (temperature == 0) {
      token = first_equal(x, vocab, best);
    } else {
      const uint32_t word = philox_word((const uint32_t *)counters + (size_t)row * 5);
      const double u = ((double)(word >> 9) + 0.5) * (1.0 / 8388608.0);
      token = draw(weights, sums, vocab, u * total);
    }
    ((uint32_t *)(tokens))[row] = (uint32_t)token;
    double *to = (double *)(distances) + (size_t)row * 2;
    to[0] = (double)load1(y + (size_t)token * 4) / t - (double)scoredBest / t;
    to[1] = scoredTotal;
  }
}

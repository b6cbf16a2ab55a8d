// Draws one token for each row of logits (kernels/ops/sample/spec.ts). Work unit: one row.
// Which tokens are kept is decided from z = logit/temperature in float64, as in the reference, so
// that the keys and the comparison of min-p have the same bits. Weights e^(z − max) are float32.
// They are summed in float32 within blocks, and in float64 over the blocks. A draw first looks for
// its block. The thresholds of top-k and top-p are found with histograms of 8 bits of the key at a
// time: four passes and no sorting.
#include "eights.h"
#include "exp.h"
#include "kernel.h"
#include "log64.h"
#include "philox.h"

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

/**
 * The first token from `from` on whose cumulative weight exceeds `target`, or the last one with any
 * weight. `cumulative` is the weight before `from`.
 */
static int draw(const char *weights, int from, int stop, double cumulative, double target) {
  int last = from;
  for (int c = from; c < stop; c++) {
    const float w = load1(weights + (size_t)c * 4);
    if (w == 0) continue;
    cumulative += (double)w;
    last = c;
    if (cumulative > target) break;
  }
  return last;
}

/** The same over all tokens: first finds the block that contains the token. */
static int draw_by_blocks(const char *weights, const double *sums, int n, double target) {
  double cumulative = 0, before = 0;
  int first = 0;
  for (int c = 0, block = 0; c < n; c += BLOCK, block++) {
    if (sums[block] == 0) continue;
    before = cumulative;
    cumulative += sums[block];
    first = c;
    if (cumulative > target) break;
  }
  return draw(weights, first, min(first + BLOCK, n), before, target);
}

/** A row, and where its weights and the sums of their blocks are. */
typedef struct {
  const char *x, *scored;
  char *weights;
  double *sums;
  int vocab;
  double t;
  float inverse, best;
} Row;

/**
 * Makes the weights e^(z − max) of a row of logits; returns their sum. `distance` gets the largest
 * logit and the sum of the scored row: those of the logits, unless other ones are scored.
 */
static double weigh(Row *r, double *distance) {
  if (r->scored != r->x) {
    const float best = maximum(r->scored, r->vocab);
    distance[0] = best;
    distance[1] = exponentials(r->scored, r->weights, r->sums, r->vocab, best, r->inverse);
  }
  r->best = maximum(r->x, r->vocab);
  const double total = exponentials(r->x, r->weights, r->sums, r->vocab, r->best, r->inverse);
  if (r->scored == r->x) {
    distance[0] = r->best;
    distance[1] = total;
  }
  return total;
}

/** z − max of the token replaces the largest logit in `distance`. */
INLINE void note(const Row *r, int token, double *distance) {
  distance[0] = (double)load1(r->scored + (size_t)token * 4) / r->t - distance[0] / r->t;
}

/** 1/t, finite for every temperature, so that 0 times it is 0. */
INLINE float inverse_of(double t) {
  return (float)(1 / t < 3e38 ? 1 / t : 3e38);
}

/** The random number of a row, between 0 and 1, from its counter and key. */
INLINE double uniform(const uint32_t *counter) {
  uint32_t words[4];
  philox(0, counter, counter + 3, words);
  return ((double)(words[0] >> 9) + 0.5) * (1.0 / 8388608.0);
}

/**
 * Draws without a filter, or takes the most probable token where the temperature is 0. For each row
 * it leaves z − max of the token and Σ e^(z − max), both float64, in `distances`.
 * Scratch: weights [vocab], padded to a multiple of 8; the sums of each block and of one more.
 */
KERNEL(sample_plain, logits, scored, counters, tokens, distances, vocab, temperature) {
  const char *const logits = AT(logits), *const scored = AT(scored);
  const uint32_t *const counters = (const uint32_t *)AT(counters);
  uint32_t *const tokens = (uint32_t *)AT(tokens);
  double *const distances = (double *)AT(distances);
  const double temperature = args->temperature;
  Row r = { .weights = scratch, .vocab = args->vocab, .t = temperature == 0 ? 1 : temperature };
  const size_t bytes = (size_t)r.vocab * 4;
  r.sums = (double *)(scratch + ((bytes + 31) & ~(size_t)31));
  r.inverse = inverse_of(r.t);
  for (int row = begin; row < end; row++) {
    r.x = logits + (size_t)row * bytes;
    r.scored = scored + (size_t)row * bytes;
    double *distance = distances + (size_t)row * 2;
    const double total = weigh(&r, distance);
    const int token = temperature == 0
      ? first_equal(r.x, r.vocab, r.best)
      : draw_by_blocks(r.weights, r.sums, r.vocab, uniform(counters + (size_t)row * 5) * total);
    tokens[row] = (uint32_t)token;
    note(&r, token, distance);
  }
}

/** The key of each token: numbers in the order of the float nearest to z; −0 counts as 0. */
static void ordered_keys(const Row *r, uint32_t *keys) {
  for (int c = 0; c < r->vocab; c++) {
    const union { float z; uint32_t bits; } key = {
      (float)((double)load1(r->x + (size_t)c * 4) / r->t) + 0.0f
    };
    keys[c] = key.bits >> 31 ? ~key.bits : key.bits | 0x80000000;
  }
}

/** Numbers of keys, or sums of their weights, by 8 bits of the key. */
typedef union {
  int32_t count[256];
  double mass[256];
} Bins;

/** Whether a key begins with the bits of `prefix`, behind which `shift` + 8 bits follow. */
INLINE int is_inside(uint32_t key, uint32_t prefix, int shift) {
  return shift == 24 || key >> (shift + 8) == prefix;
}

/** The largest t with #{key ≥ t} ≥ wanted. */
static uint32_t count_threshold(const uint32_t *keys, int n, Bins *bins, int wanted) {
  uint32_t prefix = 0;
  int above = 0; // number of keys above the range that `prefix` selects
  for (int shift = 24; shift >= 0; shift -= 8) {
    for (int i = 0; i < 256; i++) bins->count[i] = 0;
    for (int c = 0; c < n; c++) {
      if (is_inside(keys[c], prefix, shift)) bins->count[keys[c] >> shift & 255]++;
    }
    int bin = 255;
    for (; bin > 0 && above + bins->count[bin] < wanted; bin--) above += bins->count[bin];
    prefix = prefix << 8 | (uint32_t)bin;
  }
  return prefix;
}

/** The largest t with Σ_{key ≥ t} weight ≥ wanted. */
static uint32_t mass_threshold(
  const uint32_t *keys, const float *weights, int n, Bins *bins, double wanted
) {
  uint32_t prefix = 0;
  double above = 0;
  for (int shift = 24; shift >= 0; shift -= 8) {
    for (int i = 0; i < 256; i++) bins->mass[i] = 0;
    for (int c = 0; c < n; c++) {
      if (is_inside(keys[c], prefix, shift)) bins->mass[keys[c] >> shift & 255] += weights[c];
    }
    // If rounding leaves the sum below `wanted`, the lowest bin with any mass is taken.
    int bin = 255, lowest = -1;
    double before = above;
    for (; bin >= 0; bin--) {
      const double mass = bins->mass[bin];
      if (mass > 0) {
        lowest = bin;
        before = above;
      }
      if (above + mass >= wanted) break;
      above += mass;
    }
    if (bin < 0) {
      if (lowest < 0) return shift == 24 ? 0 : prefix << (shift + 8);
      bin = lowest;
      above = before;
    }
    prefix = prefix << 8 | (uint32_t)bin;
  }
  return prefix;
}

/** Sets the weights of keys below the threshold to 0; returns the sum of the others. */
static double drop_below(const uint32_t *keys, float *weights, int n, uint32_t threshold) {
  double mass = 0;
  for (int c = 0; c < n; c++) {
    if (keys[c] < threshold) weights[c] = 0;
    else mass += (double)weights[c];
  }
  return mass;
}

/** Sets the weights of tokens with z < `lowest` to 0; returns the sum of the others. */
static double drop_unlikely(const Row *r, float *weights, double lowest) {
  double mass = 0;
  for (int c = 0; c < r->vocab; c++) {
    if ((double)load1(r->x + (size_t)c * 4) / r->t < lowest) weights[c] = 0;
    else mass += (double)weights[c];
  }
  return mass;
}

/**
 * Draws from the tokens that top-k, top-p and min-p keep.
 * Scratch: 256 bins of float64; weights and keys [vocab], each padded to a multiple of 8; the sums
 * of each block and of one more.
 */
KERNEL(sample_filtered,
  logits, scored, counters, tokens, distances, vocab, temperature, topK, topP, minP
) {
  const char *const logits = AT(logits), *const scored = AT(scored);
  const uint32_t *const counters = (const uint32_t *)AT(counters);
  uint32_t *const tokens = (uint32_t *)AT(tokens);
  double *const distances = (double *)AT(distances);
  const int vocab = args->vocab, topK = args->topK;
  const double t = args->temperature, topP = args->topP, minP = args->minP;
  const size_t bytes = (size_t)vocab * 4, padded = (bytes + 31) & ~(size_t)31;
  Bins *const bins = (Bins *)scratch;
  float *const weights = (float *)(scratch + sizeof(Bins));
  uint32_t *const keys = (uint32_t *)((char *)weights + padded);
  Row r = { .weights = (char *)weights, .sums = (double *)((char *)keys + padded), .vocab = vocab };
  r.t = t;
  r.inverse = inverse_of(t);
  const int some = topK > 0 && topK < vocab;
  for (int row = begin; row < end; row++) {
    r.x = logits + (size_t)row * bytes;
    r.scored = scored + (size_t)row * bytes;
    double *distance = distances + (size_t)row * 2;
    double mass = weigh(&r, distance);
    if (some || topP < 1) ordered_keys(&r, keys);
    if (some) mass = drop_below(keys, weights, vocab, count_threshold(keys, vocab, bins, topK));
    if (topP < 1) {
      const uint32_t threshold = mass_threshold(keys, weights, vocab, bins, topP * mass);
      mass = drop_below(keys, weights, vocab, threshold);
    }
    if (minP > 0) mass = drop_unlikely(&r, weights, (double)r.best / t + log64(minP));
    const double target = uniform(counters + (size_t)row * 5) * mass;
    const int token = draw(r.weights, 0, vocab, 0, target);
    tokens[row] = (uint32_t)token;
    note(&r, token, distance);
  }
}

/** logp = (z − max) − log Σ e^(z − max), for each row. */
KERNEL(sample_logp, distances, logp) {
  const double *const distances = (const double *)AT(distances);
  char *const logp = AT(logp);
  for (int row = begin; row < end; row++) {
    const double *distance = distances + (size_t)row * 2;
    store1(logp + (size_t)row * 4, (float)(distance[0] - log64(distance[1])));
  }
}

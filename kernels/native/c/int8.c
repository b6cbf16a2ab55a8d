// Products of 4-bit weights with rows of x that are rounded to bytes: matmul_int8 of
// kernels/ops/matmul/wasm/int8.as.ts. This file is compiled for processors with AVX512-VNNI or with
// NEON's dot products, which multiply bytes and add four products in one instruction, and for AVX2,
// which takes three. The sum of a block is exact, so its order does not matter.
#include "codes.h"
#include "kernel.h"

typedef struct {
  /** Rows of x in bytes, of every eight the even ones first. */
  const char *bytes;
  size_t byteStep;
  /** s and s·Σ(bytes) of each block of 32. */
  const char *scales;
  size_t scaleStep;
  const char *panel;
  int blocks;
  /** Whether it is the first tile of its panel. */
  int isFirst;
} Tile;

/** The scales of a block of 32, whose number is `block`, and the address of its codes. */
INLINE const char *block_at(const int type, const char *panel, int block, f32x16 *s, f32x16 *m) {
  if (type == Q4_K) {
    const char *record = panel + (size_t)(block / 8) * record_bytes(Q4_K);
    scales_q4_k(record, block % 8, s, m);
    return record + (size_t)(block % 8) * 256;
  }
  const char *record = panel + (size_t)block * record_bytes(type);
  if (type == Q4_0) scales_q4_0(record, s, m);
  else scales_q4_1(record, s, m);
  return record;
}

/**
 * Few rows wait for the weights' bytes: these are fetched so many bytes ahead, past the end of a
 * panel into the next one. Behind up to FEW_ROWS rows.
 */
#define AHEAD 12288
#define FEW_ROWS 4

/**
 * totals [rows][16] of a panel. One panel at a time, so that its bytes are read in the order of
 * memory, which the hardware's prefetchers follow; the blocks are independent but for the totals.
 */
INLINE void tile(const int type, const int rows, const Tile *t, f32x16 totals[MAX_INT8_ROWS]) {
  UNROLL for (int r = 0; r < rows; r++) totals[r] = (f32x16)0.0f;
  // One pointer serves three rows.
  const char *x[(MAX_INT8_ROWS + 2) / 3], *scales[(MAX_INT8_ROWS + 2) / 3];
  const size_t byteStep = t->byteStep, scaleStep = t->scaleStep;
  UNROLL for (int g = 0; 3 * g < rows; g++) {
    x[g] = t->bytes + 3 * g * byteStep;
    scales[g] = t->scales + 3 * g * scaleStep;
  }
  for (int block = 0; block < t->blocks; block++) {
    f32x16 s, m;
    const char *codes = block_at(type, t->panel, block, &s, &m);
    // Small tiles come one after the other, so only the first one fetches.
    if (rows <= FEW_ROWS && (MAX_INT8_ROWS > FEW_ROWS || t->isFirst)) {
      const int parts = block_weights(type) / 32;
      const size_t at = (size_t)block * record_bytes(type) / parts;
      prefetch(t->panel + at + AHEAD, record_bytes(type) / parts);
    }
    u32x16 sums[MAX_INT8_ROWS];
    UNROLL for (int r = 0; r < rows; r++) sums[r] = (u32x16)0u;
    UNROLL for (int word = 0; word < 4; word++) {
      const u32x16 w = load_words(codes + word * ROW);
      const u32x16 even = w & 0x0f0f0f0fu, odd = (w >> 4) & 0x0f0f0f0fu;
      UNROLL for (int r = 0; r < rows; r++) {
        const int *four = (const int *)(x[r / 3] + (r % 3) * byteStep + word * 8);
        sums[r] = add_dots(sums[r], even, four[0]);
        sums[r] = add_dots(sums[r], odd, four[1]);
      }
    }
    UNROLL for (int r = 0; r < rows; r++) {
      const char *at = scales[r / 3] + (r % 3) * scaleStep;
      const f32x16 step = load1(at), total = load1(at + 4);
      const f32x16 sum = convert(sum_of_dots(sums[r]));
      totals[r] = fma16(m, total, fma16(s * step, sum, totals[r]));
    }
    UNROLL for (int g = 0; 3 * g < rows; g++) {
      x[g] += 32;
      scales[g] += 8;
    }
  }
}

typedef struct {
  char *out;
  size_t outStep;
  int columns;
  float alpha;
  int add;
} Result;

/** A tile, of which the first `columns` columns are stored at (or added to) their place. */
INLINE void tile_to(const int type, const int rows, const Tile *t, const Result *to) {
  f32x16 totals[MAX_INT8_ROWS];
  tile(type, rows, t, totals);
  UNROLL for (int r = 0; r < rows; r++) {
    char *at = to->out + r * to->outStep;
    put_lanes(at, to->alpha * totals[r], to->columns, to->add);
  }
}

#define CASE(type, rows) \
  case rows: tile_to(type, rows, t, to); return;
#define CASES_TO_4(type) CASE(type, 1) CASE(type, 2) CASE(type, 3) CASE(type, 4)
#if MAX_INT8_ROWS == 4
#define CASES CASES_TO_4
#else
#define CASES(type)                                                                       \
  CASES_TO_4(type) CASE(type, 5) CASE(type, 6) CASE(type, 7) CASE(type, 8) CASE(type, 9)  \
  CASE(type, 10) CASE(type, 11) CASE(type, 12)
#endif
#define TILES(type)                                           \
  static __attribute__((noinline)) void tile_##type(          \
    int rows, const Tile *t, const Result *to                 \
  ) {                                                         \
    switch (rows) { CASES(type) }                             \
  }
TILES(Q4_0) TILES(Q4_1) TILES(Q4_K)

typedef struct {
  double type, bytes, scales, w, out, m, n, k, unitRows, alpha, accumulate;
} MatmulInt8Args;

KERNEL(matmul_int8, MatmulInt8Args) {
  char *const bytes = AT(bytes), *const scales = AT(scales), *const w = AT(w), *const out = AT(out);
  const int type = args->type, m = args->m, n = args->n, k = args->k, unitRows = args->unitRows;
  const int panels = ceil_div(n, LANES), blocks = k / 32;
  const size_t outStep = (size_t)n * 4;
  Tile t = { .byteStep = k, .scaleStep = (size_t)blocks * 8, .blocks = blocks };
  // Rows that are a multiple of 4 KB apart share one set of the first-level cache.
  const int max = k % 4096 == 0 ? MAX_INT8_ROWS / 2 : MAX_INT8_ROWS;
  Result to = { .outStep = outStep, .alpha = args->alpha, .add = args->accumulate };
  for (int unit = begin; unit < end; unit++) {
    const int panel = unit % panels, first = unit / panels * unitRows;
    const int count = min(unitRows, m - first);
    const int tiles = ceil_div(count, max), low = count / tiles, high = count % tiles;
    t.panel = w + (size_t)panel * panel_bytes(type, k);
    to.columns = min(LANES, n - panel * LANES);
    for (int i = 0, row = first; i < tiles; i++) {
      const int rows = i < high ? low + 1 : low;
      t.isFirst = i == 0;
      t.bytes = bytes + (size_t)row * t.byteStep;
      t.scales = scales + (size_t)row * t.scaleStep;
      to.out = out + (size_t)row * outStep + (size_t)panel * ROW;
      if (type == Q4_0) tile_Q4_0(rows, &t, &to);
      else if (type == Q4_1) tile_Q4_1(rows, &t, &to);
      else tile_Q4_K(rows, &t, &to);
      row += rows;
    }
  }
}

/** As in int8_rows.ts. */
#define MIN_MAGNITUDE 0x1p-118f

/** The largest magnitude of 32 floats, as bits; that of NaN if one of them is. */
INLINE int largest(f32x16 a, f32x16 b) {
  const i32x16 x = (i32x16)((u32x16)a & 0x7fffffff), y = (i32x16)((u32x16)b & 0x7fffffff);
  return __builtin_reduce_max(__builtin_elementwise_max(x, y));
}

typedef struct {
  double x, k, bytes, scales;
} MatmulInt8PrepareArgs;

/**
 * Rounds rows of x [m, k] to bytes [m, k], of every eight the even ones first; scales [m, k/32, 2]
 * are s and s·Σ(bytes) of each block. Unit: a row.
 */
KERNEL(matmul_int8_prepare, MatmulInt8PrepareArgs) {
  typedef int8_t i8x16 __attribute__((ext_vector_type(16), aligned(1)));
  const int k = args->k;
  const size_t first = (size_t)begin * k;
  const char *x = AT(x) + first * 4;
  char *bytes = AT(bytes) + first;
  float *scales = (float *)AT(scales) + first / 16;
  for (int block = (end - begin) * (k / 32); block > 0; block--, x += 2 * ROW, scales += 2) {
    const union { int bits; float x; } magnitude = { largest(load16(x), load16(x + ROW)) };
    const float inverse = magnitude.x >= MIN_MAGNITUDE ? 127.0f / magnitude.x : 0;
    i32x16 sum = 0;
    for (int half = 0; half < 2; half++, bytes += LANES) {
      // A product of 0 and an infinite number could not be converted.
      const f32x16 scaled = inverse == 0 ? (f32x16)0.0f : load16(x + half * ROW) * inverse;
      const i32x16 all = __builtin_convertvector(__builtin_elementwise_roundeven(scaled), i32x16);
      sum += all;
      *(i8x16 *)bytes = __builtin_convertvector(
        __builtin_shufflevector(all, all, 0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15), i8x16
      );
    }
    scales[0] = magnitude.x / 127.0f;
    scales[1] = scales[0] * (float)__builtin_reduce_add(sum);
  }
}

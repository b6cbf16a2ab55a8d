// Products of 4-bit weights with rows of x that are rounded to bytes
// (kernels/ops/matmul/int8_rows.ts). The sum of a block is exact, so its order does not matter;
// blocks are added in order. AVX512-VNNI and NEON's dot products multiply bytes and add four
// products in one instruction; AVX2 without AVX-VNNI and WebAssembly take three.
#include "codes.h"
#include "kernel.h"

typedef struct {
  /** Rows of x in bytes, of every eight the even ones first. */
  const char *bytes;
  size_t byteStep;
  /** s and s·Σ(bytes) of each block of 32. */
  const char *scales;
  size_t scaleStep;
  int type;
  const char *panel;
  /** s and m of the panel's blocks: 16 of each. */
  const char *panelScales;
  int blocks;
  /** Bytes of a record behind its codes. */
  size_t recordRest;
  /** Whether it is the first tile of its panel. */
  int isFirst;
} Tile;

typedef struct {
  char *out;
  size_t outStep;
  int columns;
  float alpha;
  int add;
} Result;

/** Bytes of a block's codes, and of its scales as floats. */
#define CODES_BYTES 256
#define SCALES_BYTES (2 * ROW)

INLINE size_t record_rest(int type) {
  return record_bytes(type) - (type == Q4_K ? 8 : 1) * CODES_BYTES;
}

/** The scales of block `block` of a panel. */
INLINE void block_scales(int type, const char *panel, int block, f32x16 *s, f32x16 *m) {
  const char *record = panel + (size_t)(type == Q4_K ? block / 8 : block) * record_bytes(type);
  if (type == Q4_K) scales_q4_k(record, block % 8, s, m);
  else scales_q4(type, record, s, m);
}

/** The scales of all blocks of a panel as floats. */
static UNUSED __attribute__((noinline)) void panel_scales(
  int type, const char *panel, int blocks, char *to
) {
  const size_t step = record_bytes(type);
  ONE_BY_ONE for (; type == Q4_K && blocks > 0; blocks -= 8, panel += step) {
    all_scales_q4_k(panel, to);
    to += 8 * SCALES_BYTES;
  }
  ONE_BY_ONE for (; blocks > 0; blocks--, panel += step, to += SCALES_BYTES) {
    f32x16 s, m;
    block_scales(type, panel, 0, &s, &m);
    store16(to, s);
    store16(to + ROW, m);
  }
}

/**
 * Few rows wait for the weights' bytes: these are fetched so many bytes ahead, past the end of a
 * panel into the next one. Behind up to FEW_ROWS rows.
 */
#define AHEAD 12288
#define FEW_ROWS 4

/** One pointer serves so many rows. */
/** Whether a panel's scales are made before its tiles, which pays without spare registers. */
#define SCALES_FIRST (MAX_INT8_ROWS <= 5)
/** A tile for all types, whose scales have been made; and the same with AVX-VNNI. */
enum { ANY = -1, ANY_VNNI = -2 };
#ifndef HAS_VNNI
#define add_dots_vnni add_dots
#endif
#define SHARING (MAX_INT8_ROWS > 8 ? 3 : 1)

/**
 * totals [rows][16] of a panel. One panel at a time, so that its bytes are read in the order of
 * memory, which the hardware's prefetchers follow; the blocks are independent but for the totals.
 */
INLINE void tile(const int type, const int rows, const Tile *t, const Result *to) {
  char totals[MAX_INT8_ROWS * ROW]; // where there are enough registers, these
  const char *x[MAX_INT8_ROWS], *scales[MAX_INT8_ROWS];
  const size_t byteStep = t->byteStep, scaleStep = t->scaleStep;
  UNROLL for (int r = 0; r < rows; r++) store16(totals + r * ROW, (f32x16)0.0f);
  UNROLL for (int g = 0; SHARING * g < rows; g++) {
    x[g] = t->bytes + SHARING * g * byteStep;
    scales[g] = t->scales + SHARING * g * scaleStep;
  }
  const char *panelScales = t->panelScales;
  const int any = type < 0, vnni = type == ANY_VNNI;
  for (int block = 0; block < t->blocks; block++, panelScales += SCALES_BYTES) {
    const int record = (any ? t->type : type) == Q4_K ? block / 8 : block;
    const size_t rest = any ? t->recordRest : record_rest(type);
    const char *codes = t->panel + (size_t)block * CODES_BYTES + record * rest;
    // Small tiles come one after the other, so only the first one fetches.
    if (rows <= FEW_ROWS && (MAX_INT8_ROWS > FEW_ROWS + 1 || t->isFirst)) {
      prefetch(codes + AHEAD, CODES_BYTES + 64);
    }
    u32x16 sums[MAX_INT8_ROWS];
    const u32x16 zeros = same16(0), nibbles = same16(0x0f0f0f0f);
    UNROLL for (int r = 0; r < rows; r++) sums[r] = zeros;
    LOOP_OF_WORDS for (int word = 0; word < 4; word++, codes += ROW) {
      const u32x16 w = load_words(codes);
      UNROLL for (int odd = 0; odd < 2; odd++) {
        const u32x16 four = (w >> (4 * odd)) & nibbles;
        UNROLL for (int r = 0; r < rows; r++) {
          const int *bytes = (const int *)(x[r / SHARING] + (r % SHARING) * byteStep);
          const int b = bytes[odd];
          sums[r] = vnni ? add_dots_vnni(sums[r], four, b) : add_dots(sums[r], four, b);
        }
      }
      UNROLL for (int g = 0; SHARING * g < rows; g++) {
        x[g] += 8;
        KEEP(x[g]);
      }
    }
    f32x16 s, m;
    if (any) s = load16(panelScales), m = load16(panelScales + ROW);
    else block_scales(type, t->panel, block, &s, &m);
    UNROLL for (int r = 0; r < rows; r++) {
      const char *at = scales[r / SHARING] + (r % SHARING) * scaleStep;
      const f32x16 step = load1(at), total = load1(at + 4);
      const f32x16 sum = convert(vnni ? sums[r] : sum_of_dots(sums[r]));
      char *const to = totals + r * ROW;
      store16(to, fma16(m, total, fma16(s * step, sum, load16(to))));
    }
    UNROLL for (int g = 0; SHARING * g < rows; g++) {
      scales[g] += 8;
      KEEP(scales[g]);
    }
  }
  UNROLL for (int r = 0; r < rows; r++) {
    put_lanes(to->out + r * to->outStep, to->alpha * load16(totals + r * ROW), to->columns, to->add);
  }
}

#define TILE(type, rows)                                                                   \
  static __attribute__((noinline)) void tile_##type##_##rows(const Tile *t, const Result *to) { \
    tile(type, rows, t, to);                                                          \
  }
#define CASE(type, rows) case rows: tile_##type##_##rows(t, to); return;
#if MAX_INT8_ROWS == 5
#define EACH(DO, type) DO(type, 1) DO(type, 2) DO(type, 3) DO(type, 4) DO(type, 5)
#else
#define EACH(DO, type)                                                                     \
  DO(type, 1) DO(type, 2) DO(type, 3) DO(type, 4) DO(type, 5) DO(type, 6) DO(type, 7)      \
  DO(type, 8) DO(type, 9) DO(type, 10) DO(type, 11) DO(type, 12)
#endif
#define TILES(type)                                                                        \
  EACH(TILE, type)                                                                         \
  static void tile_##type(int rows, const Tile *t, const Result *to) {                         \
    switch (rows) { EACH(CASE, type) }                                                     \
  }
#if SCALES_FIRST
TILES(ANY)
#ifdef HAS_VNNI
TILES(ANY_VNNI)
#define TILE_OF(type) (VNNI(options) ? tile_ANY_VNNI : tile_ANY)
#else
#define TILE_OF(type) tile_ANY
#endif
#else
TILES(Q4_0)
TILES(Q4_1)
TILES(Q4_K)
#define TILE_OF(type) (type == Q4_0 ? tile_Q4_0 : type == Q4_1 ? tile_Q4_1 : tile_Q4_K)
#endif

/** Scratch: SCALES_BYTES for each block of k. */
KERNEL(matmul_int8, type, bytes, scales, w, out, m, n, k, unitRows, alpha, accumulate) {
  char *const bytes = AT(bytes), *const scales = AT(scales), *const w = AT(w), *const out = AT(out);
  const int type = args->type, m = args->m, n = args->n, k = args->k, unitRows = args->unitRows;
  const int panels = ceil_div(n, LANES), blocks = k / 32;
  const size_t outStep = (size_t)n * 4;
  Tile t = {
    .byteStep = k, .scaleStep = (size_t)blocks * 8, .blocks = blocks, .panelScales = scratch,
    .type = type, .recordRest = record_rest(type),
  };
  Result to = { .outStep = outStep, .alpha = args->alpha, .add = args->accumulate };
  // Rows that are a multiple of 4 KB apart share one set of the first-level cache.
  const int max = k % 4096 == 0 ? MAX_INT8_ROWS / 2 : MAX_INT8_ROWS;
  for (int unit = begin; unit < end; unit++) {
    const int panel = unit % panels, first = unit / panels * unitRows;
    const int count = min(unitRows, m - first);
    const int tiles = ceil_div(count, max), low = count / tiles, high = count % tiles;
    to.columns = min(LANES, n - panel * LANES);
    t.panel = w + (size_t)panel * panel_bytes(type, k);
    if (SCALES_FIRST) panel_scales(type, t.panel, blocks, scratch);
    for (int i = 0, row = first; i < tiles; i++) {
      const int rows = i < high ? low + 1 : low;
      t.isFirst = i == 0;
      t.bytes = bytes + (size_t)row * t.byteStep;
      t.scales = scales + (size_t)row * t.scaleStep;
      to.out = out + (size_t)row * outStep + (size_t)panel * ROW;
      TILE_OF(type)(rows, &t, &to);
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

/**
 * Rounds rows of x [m, k] to bytes [m, k], of every eight the even ones first; scales [m, k/32, 2]
 * are s and s·Σ(bytes) of each block. Unit: a row.
 */
KERNEL(matmul_int8_prepare, x, k, bytes, scales) {
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

// Stored weights when they are loaded, and single rows of them: kernels/weights/layout.ts and
// quantize.ts, with the same bits.
#include "blocks.h"
#include "kernel.h"
#include "rows.h"
#include "widen.h"

/** Number of weights of a row that are widened at once, with those of the panel's 15 other rows. */
#define ROW_CHUNK 512

void widen_row(int type, const char *w, int k, int row, char *to, char *work) {
  if (type <= BF16) {
    const char *from = w + (size_t)row * k * 2;
    for (; k >= LANES; k -= LANES, from += 2 * LANES, to += ROW) {
      store16(to, widen_row16(type, from));
    }
    char halves[2 * LANES] = { 0 };
    ONE_BY_ONE for (int i = 0; i < 2 * k; i++) halves[i] = from[i];
    store_lanes(to, widen_row16(type, halves), k);
    return;
  }
  const int weights = block_weights(type);
  const char *panel = w + (size_t)(row / LANES) * panel_bytes(type, k);
  for (int kk = 0; kk < k; kk += ROW_CHUNK) {
    const int count = min(ROW_CHUNK, k - kk);
    widen_panel(type, panel, LANES, k, kk / weights, count / weights, work);
    const char *from = work + (size_t)(row % LANES) * 4;
    ONE_BY_ONE for (int i = 0; i < count; i++, from += ROW, to += 4) store1(to, load1(from));
  }
}

/** gather_rows of a stored weight. Unit: a row. */
KERNEL(gather_stored_rows, type, table, index, out, d) {
  const char *const table = AT(table);
  const uint32_t *const index = (const uint32_t *)AT(index);
  char *const out = AT(out);
  const int type = args->type, d = args->d;
  for (int row = begin; row < end; row++) {
    widen_row(type, table, d, (int)index[row], out + (size_t)row * d * 4, scratch);
  }
}

// Quantising. The lanes of vectors are 16 rows of W, so that the largest magnitude of a block, its
// codes and its words are computed without exchange between lanes.
// Where quantize.ts divides in float64 and rounds, there is no division here. The results are the
// same, because a quotient of two float32 is a tie or at least 2^−25 away from one.

typedef double f64x16 __attribute__((ext_vector_type(16)));
typedef int64_t i64x16 __attribute__((ext_vector_type(16)));

/** Weights in a block of int8 and of nf4, and blocks of nf4 that share step and offset. */
#define BLOCK 64
#define GROUP 16
/** Number of sums of neighbouring levels. */
#define SUMS 15

/** Sums of neighbouring levels of nf4. The code of x is the number of those with sum·scale < 2x. */
static const float LEVEL_SUMS[SUMS] = {
  -215, -155, -117, -86, -59, -35, -12, 10, 30, 51, 74, 99, 127, 163, 219,
};

INLINE u32x16 chosen(i32x16 mask, u32x16 yes, u32x16 no) {
  return (yes & (u32x16)mask) | (no & ~(u32x16)mask);
}

/** The bits of the largest magnitudes of the rows of a block [64][16]. */
static u32x16 largest_magnitudes(const char *x) {
  i32x16 most = 0;
  for (int i = 0; i < BLOCK; i++, x += ROW) {
    const i32x16 size = (i32x16)(load_words(x) & 0x7fffffff);
    most = (i32x16)chosen(size > most, (u32x16)size, (u32x16)most);
  }
  return (u32x16)most;
}

/** Stores a record of int8 from a block [64][16] and its scales. */
static void put_int8(const char *x, f32x16 scales, char *record) {
  // Makes ties round up; 1.5·2^52 puts an integer into the lower word.
  const f64x16 above = 9.094947017729282e-13, magic = 6755399441055744.0;
  const f64x16 s = __builtin_convertvector(scales, f64x16);
  const f64x16 inverse = (f64x16)((i64x16)(1.0 / s) & (i64x16)(s != (f64x16)0.0));
  store16(record + BLOCK * 16, scales);
  for (int i = 0; i < BLOCK; i += 4, record += ROW) {
    u32x16 word = 0;
    for (int j = 0; j < 4; j++, x += ROW) {
      const f64x16 q = __builtin_convertvector(load16(x), f64x16) * inverse + above + magic;
      i32x16 code = __builtin_convertvector((i64x16)q, i32x16);
      code = (i32x16)chosen(code < 127, (u32x16)code, (u32x16)(i32x16)127);
      code = (i32x16)chosen(code > -127, (u32x16)code, (u32x16)(i32x16)-127);
      word |= ((u32x16)code & 255) << (8 * j);
    }
    store16(record, as_floats(word));
  }
}

/**
 * The thresholds for 2x: sums of levels times the scales. A product is rounded. Where that made it
 * larger than the exact product, the next smaller float is taken instead: 2x is larger than this
 * float exactly where it is larger than the exact product. For a scale of 0 the thresholds give the
 * code of 0.
 */
static void make_thresholds(f32x16 scales, f32x16 to[SUMS]) {
  const f32x16 upper = as_floats((u32x16)scales & 0xffffff00), rest = scales - upper;
  const i32x16 none = scales == (f32x16)0.0f;
  for (int t = 0; t < SUMS; t++) {
    const f32x16 high = LEVEL_SUMS[t] * upper, low = LEVEL_SUMS[t] * rest, product = high + low;
    const u32x16 above = (u32x16)(low - (product - high) < (f32x16)0.0f);
    const u32x16 below = t < 7 ? (u32x16)product - above : (u32x16)product + above;
    const f32x16 end = t < 7 ? -__builtin_inff() : __builtin_inff();
    to[t] = as_floats(chosen(none, (u32x16)end, below));
  }
}

/** Stores a record of nf4 from a block [64][16] and its scales; codes of missing rows are 0. */
static void put_nf4(const char *x, f32x16 scales, int rows, char *record) {
  f32x16 thresholds[SUMS];
  make_thresholds(scales, thresholds);
  const u32x16 present = (u32x16)first_lanes(rows);
  for (int word = 0; word < 8; word++, record += ROW) {
    u32x16 codes = 0;
    for (int i = 0; i < 8; i++, x += ROW) {
      const f32x16 twice = load16(x) + load16(x);
      u32x16 code = 0;
      for (int t = 0; t < SUMS; t++) code -= (u32x16)(twice > thresholds[t]);
      codes |= code << (4 * i);
    }
    store16(record, as_floats(codes & present));
  }
}

/** Stores step, offset and codes of the scales of blocks; replaces the scales by their values. */
static void code_scales(f32x16 *scales, int rows, int blocks, char *record, char *group) {
  float smallest = __builtin_inff(), largest = 0;
  for (int b = 0; b < blocks; b++) {
    for (int r = 0; r < rows; r++) {
      const float s = scales[b][r];
      if (s < smallest) smallest = s;
      if (s > largest) largest = s;
    }
  }
  // The step gets 16 significant bits, so that its product with a code is exact.
  union { float x; uint32_t bits; } step = {
    (float)(((double)largest - (double)smallest) / 255.0)
  };
  step.bits = (step.bits + 0xff) & 0xffffff00;
  const double slope = step.x, offset = smallest;
  store1(group, step.x);
  store1(group + 4, smallest);
  store1(group + 8, 0);
  store1(group + 12, 0);
  for (int b = 0; b < blocks; b++, record += 528) {
    uint8_t *codes = (uint8_t *)record + 512;
    for (int r = 0; r < LANES; r++) codes[r] = 0;
    for (int r = 0; r < rows; r++) {
      int code = 0;
      if (step.bits != 0) {
        // Not negative, so that a cast rounds down.
        const double value = ((double)scales[b][r] - offset) / slope;
        code = (int)value + (value - (int)value >= 0.5);
      }
      codes[4 * (r % 4) + r / 4] = (uint8_t)code;
      scales[b][r] = (float)(slope * code + offset);
    }
  }
}

/**
 * Panels of a weight from `rows` rows of k values, in f32 (`source` = −1) or in halves (their
 * type). Unit: a panel. Where a magnitude is at least `limit` (bits of an f32), the word at
 * `unusual` becomes 1, and the panel is not made. Scratch: QUANTIZE_BYTES of
 * kernels/weights/wasm.ts.
 */
KERNEL(quantize_panels, type, source, x, rows, k, to, limit, unusual) {
  const char *const x = AT(x);
  char *const to = AT(to);
  uint32_t *const unusual = (uint32_t *)AT(unusual);
  const int type = args->type, source = args->source, k = args->k, blocks = k / BLOCK;
  const u32x16 limit = (uint32_t)args->limit;
  const size_t size = source < 0 ? 4 : 2, stride = (size_t)k * size, record = record_bytes(type);
  f32x16 scales[GROUP];
  for (int p = begin; p < end; p++) {
    const int count = min(LANES, (int)args->rows - p * LANES);
    char *const panel = to + (size_t)p * panel_bytes(type, k);
    char *group = panel + (size_t)blocks * record;
    for (int first = 0; first < blocks; first += GROUP, group += 16) {
      const int width = min(GROUP, blocks - first), columns = width * BLOCK;
      const char *from = x + (size_t)p * LANES * stride + (size_t)first * BLOCK * size;
      if (source < 0) transpose_panels(from, stride, count, columns, scratch, 0, 1);
      else widen_halves(source, from, stride, count, columns, scratch);
      u32x16 found = 0;
      for (int b = 0; b < width; b++) {
        const u32x16 most = largest_magnitudes(scratch + (size_t)b * BLOCK * ROW);
        found |= (u32x16)(most >= limit);
        scales[b] = as_floats(most) / 127.0f;
      }
      if (__builtin_reduce_or(found) != 0) {
        *unusual = 1;
        break;
      }
      char *records = panel + (size_t)first * record;
      if (type != INT8) code_scales(scales, count, width, records, group);
      for (int b = 0; b < width; b++, records += record) {
        const char *block = scratch + (size_t)b * BLOCK * ROW;
        if (type == INT8) put_int8(block, scales[b], records);
        else put_nf4(block, scales[b], count, records);
      }
    }
  }
}

// Converts blocks of a GGUF file to the layout of the devices (types.ts), with the same bits as
// blocks.ts and layout.ts. Eight codes at a time are the bytes of a 64-bit number. The rows of a
// panel are done one after the other; their words are stored 16 words apart.

typedef uint64_t loose_u64 __attribute__((aligned(1)));
typedef uint32_t loose_u32 __attribute__((aligned(1)));
typedef uint16_t loose_u16 __attribute__((aligned(1)));

INLINE uint64_t eight_bytes(const uint8_t *from) {
  return *(const loose_u64 *)from;
}

INLINE uint32_t four_bytes(const uint8_t *from) {
  return *(const loose_u32 *)from;
}

/** Moves the lower halves of eight bytes together; the upper ones must be zero. */
INLINE uint32_t squeeze(uint64_t x) {
  x = (x | x >> 4) & 0x00ff00ff00ff00ff;
  x = (x | x >> 8) & 0x0000ffff0000ffff;
  return (uint32_t)(x | x >> 16);
}

/**
 * Moves the two low bits of eight bytes: those of bytes 2·j and 2·j + 1 to the bits 8·j and 8·j +
 * 2.
 */
INLINE uint32_t spread(uint64_t x) {
  x = (x | x >> 6) & 0x000f000f000f000f;
  x = (x | x >> 8) & 0x0000ffff0000ffff;
  return (uint32_t)(x | x >> 16);
}

/** Stores word `word` of a row whose first word is at `to`. */
INLINE void put(char *to, int word, uint32_t value) {
  *(uint32_t *)(to + (size_t)word * ROW) = value;
}

/** Stores the lower (with shift 4 the upper) nibbles of `count` bytes as words from `word` on. */
INLINE void put_nibbles(const uint8_t *from, int count, int shift, char *to, int word) {
  for (int i = 0; i < count; i += 8, word++) {
    put(to, word, squeeze(eight_bytes(from + i) >> shift & 0x0f0f0f0f0f0f0f0f));
  }
}

/** Stores the nibbles of 16 bytes, which are the elements j and j + 16. */
INLINE void put_halves(const uint8_t *from, char *to) {
  put_nibbles(from, 16, 0, to, 0);
  put_nibbles(from, 16, 4, to, 2);
}

/** Moves bit 8·i + 2·j + o to 8·j + 2·i + o. */
static uint32_t fifth_bits(uint32_t bits) {
  uint32_t out = 0;
  for (int i = 0; i < 4; i++) {
    const uint32_t byte = bits >> 8 * i;
    out |= ((byte & 3) | (byte & 12) << 6 | (byte & 48) << 12 | (byte & 192) << 18) << 2 * i;
  }
  return out;
}

static void put_q4_k(const uint8_t *from, char *to) {
  for (int j = 0; j < 8; j++) put_nibbles(from + 16 + 32 * (j / 2), 32, 4 * (j % 2), to, 4 * j);
  for (int j = 0; j < 8; j += 2) {
    uint32_t word = 0;
    for (int i = 0; i < 2; i++) {
      // Scales and minima have 6 bits: see blocks.ts.
      const uint8_t *c = from + 4 + j + i;
      const uint32_t x = c[0], y = c[4];
      const uint32_t a = j < 4 ? x & 63 : (y & 15) | (uint32_t)c[-4] >> 6 << 4;
      const uint32_t m = j < 4 ? y & 63 : y >> 4 | x >> 6 << 4;
      word |= (a | m << 8) << (16 * i);
    }
    put(to, 32 + j / 2, word);
  }
  put(to, 36, four_bytes(from));
}

static void put_q6_k(const uint8_t *from, char *to) {
  const uint64_t pairs = 0x0303030303030303;
  for (int g = 0; g < 8; g++) {
    const int half = g / 4, quarter = g % 4;
    const uint8_t *high = from + 128 + 32 * half;
    put_nibbles(from + 64 * half + 32 * (quarter & 1), 32, quarter < 2 ? 0 : 4, to, 4 * g);
    for (int i = 0; i < 32; i += 16) {
      const uint64_t low = eight_bytes(high + i) >> 2 * quarter & pairs;
      const uint64_t up = eight_bytes(high + i + 8) >> 2 * quarter & pairs;
      put(to, 32 + 2 * g + i / 16, spread(low) | spread(up) << 4);
    }
  }
  for (int w = 0; w < 4; w++) put(to, 48 + w, four_bytes(from + 192 + 4 * w));
}

/** Stores a row of a block without its tail: words 64 bytes apart, from `to` on. */
static void put_row(int type, const uint8_t *from, char *to) {
  switch (type) {
    case Q8_0:
      for (int w = 0; w < 8; w++) put(to, w, four_bytes(from + 2 + 4 * w));
      return;
    case Q4_0: put_halves(from + 2, to); return;
    case Q4_1:
      put_halves(from + 4, to);
      put(to, 4, four_bytes(from));
      return;
    case Q5_0:
      put_halves(from + 6, to);
      put(to, 4, fifth_bits(four_bytes(from + 2)));
      return;
    case Q4_K: put_q4_k(from, to); return;
    case Q6_K: put_q6_k(from, to); return;
    default: put_halves(from + 1, to);
  }
}

/** Panels of a weight from `rows` rows of k weights in a file's blocks. Unit: a panel. */
KERNEL(pack_panels, type, x, rows, k, to) {
  const uint8_t *const x = (const uint8_t *)AT(x);
  char *const to = AT(to);
  const int type = args->type, k = args->k, blocks = k / block_weights(type);
  const size_t size = (size_t)BLOCKS[type].file, record = record_bytes(type), step = panel_bytes(type, k);
  // The tails are behind the words, a half (of mxfp4 a byte) for each row; some types have none.
  const int tailBytes = type == MXFP4 ? 16 : 32;
  const size_t tail = type == Q4_1 || type == Q4_K ? 0 : record - tailBytes, half = type == Q6_K ? 208 : 0;
  for (int p = begin; p < end; p++) {
    const int count = min(LANES, (int)args->rows - p * LANES);
    char *const panel = to + (size_t)p * step;
    if (count < LANES) {
      zero_rows(panel, step / ROW);
      for (size_t i = step / ROW * ROW; i < step; i += 4) store1(panel + i, 0);
    }
    for (int r = 0; r < count; r++) {
      const uint8_t *from = x + (size_t)(p * LANES + r) * blocks * size;
      char *at = panel;
      for (int b = 0; b < blocks; b++, from += size, at += record) {
        put_row(type, from, at + (size_t)r * 4);
        // Lower rows are in the lower parts of the words.
        if (tail == 0) continue;
        if (type == MXFP4) *(at + tail + (r % 4) * 4 + r / 4) = (char)*from;
        else *(uint16_t *)(at + tail + (r % 8) * 4 + r / 8 * 2) = *(const loose_u16 *)(from + half);
      }
    }
  }
}

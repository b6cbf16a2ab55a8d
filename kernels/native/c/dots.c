// Products of one or two rows of x with the codes of stored weights (kernels/ops/matmul), which
// are not widened in memory. Each of the 16 rows of a panel has its lane. A single panel would wait
// for its chains of multiply-adds, so several panels are computed together; the order of the sums
// within each is the same. WebAssembly has another form (dots_wasm.h).
#include "codes.h"
#include "kernel.h"

/** Max number of rows of x, and of panels that are computed together. */
#define MAX_X 2
#define MAX_TOGETHER 4
/**
 * Panels of nibbles that are computed together with one row of x. With AVX2 one panel's sums and
 * masks fill the registers, and the processor itself goes on to the next panel.
 */
#if defined(__AVX2__) && !defined(__AVX512F__)
#define NIBBLE_PANELS 1
#else
#define NIBBLE_PANELS 4
#endif
/** A block of nibbles has four running sums, a block of bytes two. */
#define CHAINS 4
/** Each panel is fetched about this number of bytes ahead, in whole records. */
#define AHEAD 2048

typedef struct {
  const char *x;
  size_t xStep;
  /** Sums of blocks of 32 of x (for 4-bit codes), and bytes between those of two rows. */
  const char *sums;
  size_t sumStep;
} Prepared;

typedef struct {
  char *w, *out;
  int m, n, k;
  float alpha;
  int accumulate;
  Prepared prepared;
} Dots;

#ifdef __wasm__
#include "dots_wasm.h"
#else
/** Fetches one of `parts` parts of the record that is `ahead` bytes behind this one; 0 = none. */
INLINE void fetch_part(
  size_t ahead, const char *record, int part, const int parts, const int type
) {
  const size_t bytes = (record_bytes(type) + parts - 1) / parts;
  if (ahead != 0) prefetch(record + ahead + (size_t)part * bytes, bytes);
}

/** Adds element `at` of each row of x times q to running sum `chain` of the row. */
INLINE void add_term(
  const int m, f32x16 q, const Prepared *p, int at, const int chain, f32x16 c[MAX_X][CHAINS]
) {
  UNROLL for (int r = 0; r < m; r++) {
    const f32x16 x = load1(p->x + r * p->xStep + (size_t)at * 4);
    c[r][chain] = fma16(x, q, c[r][chain]);
  }
}

/** Adds four bytes of codes times four of x to two running sums of each row. */
INLINE void add_bytes(
  const int m, u32x16 word, const Prepared *p, int at, f32x16 c[MAX_X][CHAINS]
) {
  UNROLL for (int i = 0; i < 4; i++) {
    add_term(m, convert((word << (24 - 8 * i)) & 0xff000000u), p, at + i, i & 1, c);
  }
}

/** The sums of 32 nibbles times x, which has been divided by the nibbles' places. */
INLINE void add_nibbles(
  const int m, const char *codes, const Prepared *p, int at, f32x16 c[MAX_X][CHAINS]
) {
  UNROLL for (int word = 0; word < 4; word++) {
    const u32x16 w = load_words(codes + word * ROW);
    UNROLL for (int i = 0; i < 8; i++) {
      add_term(m, nibble_in_place(w, i), p, at + word * 8 + i, i & 3, c);
    }
  }
}

/** Adds a block of 32 with scales s and m to the totals. */
INLINE void add_q4(
  const int m, const char *codes, f32x16 s, f32x16 offset, const Prepared *p, int at,
  f32x16 totals[MAX_X]
) {
  f32x16 c[MAX_X][CHAINS] = { { 0 } };
  add_nibbles(m, codes, p, at, c);
  UNROLL for (int r = 0; r < m; r++) {
    const f32x16 sum = (c[r][0] + c[r][1]) + (c[r][2] + c[r][3]);
    const f32x16 y = load1(p->sums + r * p->sumStep + (size_t)at / 32 * 4);
    totals[r] = fma16(offset, y, fma16(s, sum, totals[r]));
  }
}

INLINE void add_scaled(const int m, f32x16 s, f32x16 c[MAX_X][CHAINS], f32x16 totals[MAX_X]) {
  UNROLL for (int r = 0; r < m; r++) totals[r] = fma16(s, c[r][0] + c[r][1], totals[r]);
}

/** Adds block `block` of a panel, whose first record is `panel`, to the totals. */
INLINE void add_block(
  const int type, const int m, const char *panel, int k, int block, size_t ahead,
  const Prepared *p, f32x16 totals[MAX_X]
) {
  const int weights = block_weights(type), at = block * weights;
  const char *record = panel + (size_t)block * record_bytes(type);
  f32x16 c[MAX_X][CHAINS] = { { 0 } };
  switch (type) {
    case Q4_0:
    case Q4_1: {
      f32x16 s, offset;
      scales_q4(type, record, &s, &offset);
      add_q4(m, record, s, offset, p, at, totals);
      return;
    }
    case Q4_K:
      for (int part = 0; part < 8; part++) {
        fetch_part(ahead, record, part, 8, Q4_K);
        f32x16 s, offset;
        scales_q4_k(record, part, &s, &offset);
        add_q4(m, record + part * 256, s, offset, p, at + part * 32, totals);
      }
      return;
    case Q8_0:
      for (int word = 0; word < 8; word++) {
        add_bytes(m, load_words(record + word * ROW), p, at + word * 4, c);
      }
      add_scaled(m, halves16(record + 512, HALF_FACTOR_OF_BYTES), c, totals);
      return;
    case INT8:
      for (int word = 0; word < 16; word++) {
        add_bytes(m, load_words(record + word * ROW), p, at + word * 4, c);
      }
      add_scaled(m, load16(record + 1024) * 0x1p-24f, c, totals);
      return;
    case Q5_0:
      UNROLL for (int word = 0; word < 4; word++) {
        const Split codes = split_q5_0(record, word);
        add_bytes(m, codes.even, p, at + word * 8, c);
        add_bytes(m, codes.odd, p, at + word * 8 + 4, c);
      }
      add_scaled(m, halves16(record + 320, HALF_FACTOR_OF_BYTES), c, totals);
      return;
    case Q6_K: {
      const char *scales = record + 3072;
      const f32x16 d = halves16(scales + 256, HALF_FACTOR_OF_BYTES);
      for (int part = 0; part < 16; part++) {
        fetch_part(ahead, record, part, 16, Q6_K);
        f32x16 sums[MAX_X][CHAINS] = { { 0 } };
        const u32x16 bits = load_words(record + 2048 + part * ROW);
        UNROLL for (int word = 0; word < 2; word++) {
          const Split codes = split_q6_k(record + part * 2 * ROW, bits, word);
          add_bytes(m, codes.even, p, at + part * 16 + word * 8, sums);
          add_bytes(m, codes.odd, p, at + part * 16 + word * 8 + 4, sums);
        }
        add_scaled(m, scales_q6_k(scales, part, d), sums, totals);
      }
      return;
    }
    default: {
      for (int word = 0; word < weights / 8; word++) {
        const u32x16 w = load_words(record + word * ROW);
        // Of every eight of x the even ones come first.
#ifdef BYTE_TABLES
        add_bytes(m, level_bytes(type, w, 0), p, at + word * 8, c);
        add_bytes(m, level_bytes(type, w, 1), p, at + word * 8 + 4, c);
#else
        UNROLL for (int i = 0; i < 8; i++) {
          const int nibble = i < 4 ? 2 * i : 2 * i - 7;
          add_term(m, levels(type, w >> (4 * nibble)), p, at + word * 8 + i, i & 1, c);
        }
#endif
      }
      const char *groups = panel + (size_t)(k / weights) * record_bytes(type);
      add_scaled(m, scales_of_levels(type, record, groups + (size_t)(block >> 4) * 16), c, totals);
    }
  }
}

/** Records of a panel that are fetched ahead. */
INLINE int records_ahead(int type) {
  return (int)(AHEAD / record_bytes(type)) + 1;
}

/**
 * totals [panels][m] = `count` neighbouring panels, `step` bytes apart, times m rows of x. The
 * first records have been fetched. With `more`, those of the next `count` panels are fetched.
 */
INLINE void dot_panels(
  const int type, const int m, const int count, const char *panel, size_t step, int more, int k,
  const Prepared *p, f32x16 totals[MAX_TOGETHER][MAX_X]
) {
  const int blocks = k / block_weights(type), early = records_ahead(type);
  const size_t record = record_bytes(type), within = early * record;
  const size_t beyond = more ? within + count * step - blocks * record : 0;
  const int parts = type == Q4_K || type == Q6_K; // these fetch part by part
  UNROLL for (int j = 0; j < count; j++) {
    UNROLL for (int r = 0; r < m; r++) totals[j][r] = (f32x16)0.0f;
  }
  for (int block = 0; block < blocks; block++) {
    const size_t ahead = block + early < blocks ? within : beyond;
    UNROLL for (int j = 0; j < count; j++) {
      if (ahead != 0 && !parts) prefetch(panel + j * step + block * record + ahead, record);
      add_block(type, m, panel + j * step, k, block, ahead, p, totals[j]);
    }
  }
}

/** The panels [begin, end), `together` at a time. */
INLINE void dots_of(const int type, const int m, const int together, Dots *g, int begin, int end) {
  const size_t step = panel_bytes(type, g->k), outStep = (size_t)g->n * 4;
  f32x16 totals[MAX_TOGETHER][MAX_X];
  for (int panel = begin, count, last = 0; panel < end; panel += count) {
    count = end - panel >= together ? together : 1;
    const char *from = g->w + (size_t)panel * step;
    if (count != last) { // nothing has fetched the first records of these panels
      const size_t bytes = records_ahead(type) * record_bytes(type);
      for (int j = 0; j < count; j++) prefetch(from + j * step, bytes);
    }
    last = count;
    const int more = end - panel >= 2 * count;
    const Prepared *p = &g->prepared;
    if (count == together) dot_panels(type, m, together, from, step, more, g->k, p, totals);
    else dot_panels(type, m, 1, from, step, more, g->k, p, totals);
    for (int j = 0; j < count; j++) {
      const int columns = min(LANES, g->n - (panel + j) * LANES);
      for (int r = 0; r < m; r++) {
        char *to = g->out + r * outStep + (size_t)(panel + j) * ROW;
        put_lanes(to, g->alpha * totals[j][r], columns, g->accumulate);
      }
    }
  }
}

#define DOTS(type, together)                                                                \
  static __attribute__((noinline)) void dots_##type(Dots *g, int begin, int end) {          \
    if (g->m == 1) dots_of(type, 1, together, g, begin, end);                               \
    else dots_of(type, 2, 2, g, begin, end);                                                \
  }
DOTS(Q8_0, 4) DOTS(Q4_0, NIBBLE_PANELS) DOTS(Q4_1, NIBBLE_PANELS) DOTS(Q5_0, 4)
DOTS(Q4_K, NIBBLE_PANELS) DOTS(Q6_K, 4) DOTS(INT8, 4) DOTS(NF4, 4)
DOTS(MXFP4, 4)

static void dots(int type, Dots *g, int begin, int end) {
  switch (type) {
    case Q8_0: dots_Q8_0(g, begin, end); return;
    case Q4_0: dots_Q4_0(g, begin, end); return;
    case Q4_1: dots_Q4_1(g, begin, end); return;
    case Q5_0: dots_Q5_0(g, begin, end); return;
    case Q4_K: dots_Q4_K(g, begin, end); return;
    case Q6_K: dots_Q6_K(g, begin, end); return;
    case INT8: dots_INT8(g, begin, end); return;
    case NF4: dots_NF4(g, begin, end); return;
    default: dots_MXFP4(g, begin, end);
  }
}
#endif

KERNEL(matmul_stored_dot, type, x, sums, w, out, m, n, k, alpha, accumulate) {
  const int type = args->type, k = args->k;
  Dots g = {
    .w = AT(w), .out = AT(out), .m = args->m, .n = args->n, .k = k, .alpha = args->alpha,
    .accumulate = args->accumulate,
    .prepared = {
      .x = AT(x), .xStep = (size_t)k * 4, .sums = AT(sums), .sumStep = (size_t)(k / 32) * 4,
    },
  };
  dots(type, &g, begin, end);
}

/** x for codes that are not in the order of a row: of every eight elements the even ones first. */
INLINE void even_first(const char *from, char *to, int k) {
  for (int i = 0; i < k; i += LANES, from += ROW, to += ROW) {
    const f32x16 x = load16(from);
    store16(
      to,
      __builtin_shufflevector(x, x, 0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15)
    );
  }
}

/**
 * Prepares rows of x for matmul_stored_dot. For 4-bit codes element i is multiplied by
 * 16^−(i mod 4), and `sums` gets the sums of blocks of 32. For split codes, of every eight elements
 * the even ones come first. Unit: a row.
 */
KERNEL(matmul_stored_prepare, type, x, k, to, sums) {
  const int type = args->type, k = args->k;
  const f32x4 factors = { 1, 0x1p-4f, 0x1p-8f, 0x1p-12f };
  for (int row = begin; row < end; row++) {
    const char *from = AT(x) + (size_t)row * k * 4;
    char *to = AT(to) + (size_t)row * k * 4, *sums = AT(sums) + (size_t)row * (k / 32) * 4;
    if (type != Q4_0 && type != Q4_1 && type != Q4_K) {
      even_first(from, to, k);
      continue;
    }
    for (int block = 0; block < k / 32; block++, sums += 4) {
      f32x4 sum = 0.0f;
      for (int i = 0; i < 8; i++, from += 16, to += 16) {
        const f32x4 x = *(const loose_f32x4 *)from;
        sum += x;
        *(loose_f32x4 *)to = x * factors;
      }
      store1(sums, (sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
  }
}

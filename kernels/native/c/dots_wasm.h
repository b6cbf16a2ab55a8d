// Products of one or two rows of x with stored weights on WebAssembly. A vector is two or four of
// 16 registers there, so a panel is multiplied by itself, nibbles even in halves of eight rows.
// Codes that are in several places, and their scales, are first written to memory, for up to CHUNK
// weights of a row. The order of the sums is that of the other targets.
#pragma once
#include "codes.h"

#define CHUNK 256
#define ALONE static __attribute__((noinline)) // V8 widens no function that is too large

/**
 * Nibbles of `blocks` blocks of 32. Of q4_0 and q4_1, s·sum + offset·y is added to totals [m][16];
 * of q4_k, whose scales are elsewhere, only the sums are stored: [m][16] for each block.
 */
INLINE void dot_nibbles(
  const int type, const int m, const char *record, const Prepared *p, char *totals, int blocks
) {
  const char *x = p->x, *sums = p->sums;
  const size_t xStep = p->xStep, sumStep = p->sumStep;
  u32x8 masks[4];
  UNROLL for (int i = 0; i < 4; i++) masks[i] = same8(0xfu << (4 * i));
  ONE_BY_ONE for (; blocks > 0; blocks--) {
    ONE_BY_ONE for (size_t half = 0; half < ROW; half += ROW / 2) {
      const char *codes = record + half, *xs[MAX_X];
      f32x8 c[MAX_X][CHAINS] = { { 0 } };
      UNROLL for (int r = 0; r < m; r++) xs[r] = x + r * xStep;
      ONE_BY_ONE for (int word = 0; word < 4; word++, codes += ROW) {
        u32x8 w = (u32x8)load_half(codes);
        UNROLL for (int i = 0; i < 8; i++) {
          if (i == 4) w >>= 16;
          const f32x8 q = convert8(w & masks[i & 3]);
          UNROLL for (int r = 0; r < m; r++) {
            c[r][i & 3] = fma8((f32x8)load1(xs[r] + i * 4), q, c[r][i & 3]);
          }
        }
        UNROLL for (int r = 0; r < m; r++) {
          xs[r] += 32;
          KEEP(xs[r]);
        }
      }
      f32x8 s, offset;
      if (type == Q4_1) {
        const u32x8 halves = (u32x8)load_half(record + 256 + half);
        s = upper_half8(halves << 16) * HALF_FACTOR;
        offset = upper_half8(halves) * HALF_FACTOR;
      } else if (type == Q4_0) {
        // Eight words have 16 scales. From two bytes lower, the lower ones are in the upper halves.
        s = upper_half8((u32x8)load_half(record + 254 + half / 16)) * HALF_FACTOR;
        offset = s * -8.0f;
      }
      UNROLL for (int r = 0; r < m; r++) {
        char *const to = totals + half + r * ROW;
        f32x8 sum = (c[r][0] + c[r][1]) + (c[r][2] + c[r][3]);
        if (type != Q4_K) {
          const f32x8 y = load1(sums + r * sumStep);
          sum = fma8(offset, y, fma8(s, sum, load_half(to)));
        }
        store_half(to, sum);
      }
    }
    record += type == Q4_K ? 256 : record_bytes(type);
    x += 128;
    if (type == Q4_K) totals += m * ROW;
    else sums += 4;
  }
}

/**
 * Adds `blocks` blocks of bytes, `words` words each, to totals [m][16]. Of q8_0 and int8 the scales
 * are behind the codes of a block; of SPLIT codes they are at `scales`.
 */
enum { SPLIT = -1 };
INLINE void dot_bytes(
  const int type, const int m, const char *codes, const char *scales, const Prepared *p,
  char *totals, int blocks, int words
) {
  const u32x16 mask = same16(0xff000000);
  const char *x[MAX_X];
  f32x16 t[MAX_X];
  UNROLL for (int r = 0; r < m; r++) {
    x[r] = p->x + r * p->xStep;
    t[r] = load16(totals + r * ROW);
  }
  ONE_BY_ONE for (; blocks > 0; blocks--) {
    f32x16 c[MAX_X][2] = { { 0 } };
    ONE_BY_ONE for (int word = 0; word < words; word++, codes += ROW) {
      const u32x16 w = load_words(codes);
      UNROLL for (int i = 0; i < 4; i++) {
        const u32x16 byte = i == 3 ? w : w << (24 - 8 * i);
        const f32x16 q = convert(i == 0 ? byte : byte & mask);
        UNROLL for (int r = 0; r < m; r++) {
          c[r][i & 1] = fma16((f32x16)load1(x[r] + i * 4), q, c[r][i & 1]);
        }
      }
      UNROLL for (int r = 0; r < m; r++) {
        x[r] += 16;
        KEEP(x[r]);
      }
    }
    f32x16 s;
    if (type == Q8_0) s = halves16(codes, HALF_FACTOR_OF_BYTES);
    else if (type == INT8) s = load16(codes) * 0x1p-24f;
    else s = load16(scales);
    if (type == SPLIT) scales += ROW;
    else codes += type == Q8_0 ? ROW / 2 : ROW;
    UNROLL for (int r = 0; r < m; r++) t[r] = fma16(s, c[r][0] + c[r][1], t[r]);
  }
  UNROLL for (int r = 0; r < m; r++) store16(totals + r * ROW, t[r]);
}

#define DOT_NIBBLES(type, m)                                                              \
  ALONE void dot_##type##_##m(const char *from, const Prepared *p, char *to, int blocks) { \
    dot_nibbles(type, m, from, p, to, blocks);                                            \
  }
DOT_NIBBLES(Q4_0, 1) DOT_NIBBLES(Q4_0, 2) DOT_NIBBLES(Q4_1, 1) DOT_NIBBLES(Q4_1, 2)
DOT_NIBBLES(Q4_K, 1) DOT_NIBBLES(Q4_K, 2)
#define DOT_BYTES(type, m)                                                                \
  ALONE void dot_##type##_##m(                                                            \
    const char *from, const char *scales, const Prepared *p, char *to, int blocks, int words \
  ) {                                                                                     \
    dot_bytes(type, m, from, scales, p, to, blocks, words);                               \
  }
DOT_BYTES(Q8_0, 1) DOT_BYTES(Q8_0, 2) DOT_BYTES(INT8, 1) DOT_BYTES(INT8, 2)
DOT_BYTES(SPLIT, 1) DOT_BYTES(SPLIT, 2)

/** Adds the 8 blocks of a record of q4_k, whose sums [8][m][16] are made, to totals [m][16]. */
ALONE void add_q4_k(const char *record, const char *sums, const Prepared *p, int m, char *totals) {
  char scales[8 * 2 * ROW];
  all_scales_q4_k(record, scales);
  ONE_BY_ONE for (int r = 0; r < m; r++, sums += ROW, totals += ROW) {
    f32x16 t = load16(totals);
    const char *part = sums, *s = scales, *y = p->sums + r * p->sumStep;
    ONE_BY_ONE for (int i = 0; i < 8; i++, part += m * ROW, s += 2 * ROW, y += 4) {
      t = fma16(load16(s + ROW), (f32x16)load1(y), fma16(load16(s), load16(part), t));
    }
    store16(totals, t);
  }
}

INLINE char *store_split(char *to, u32x16 even, u32x16 odd) {
  store16(to, as_floats(even));
  store16(to + ROW, as_floats(odd));
  return to + 2 * ROW;
}

ALONE void split_q5_0_to(const char *record, char *to, char *scales) {
  UNROLL for (int word = 0; word < 4; word++) {
    const Split codes = split_q5_0(record, word);
    to = store_split(to, codes.even, codes.odd);
  }
  store16(scales, halves16(record + 320, HALF_FACTOR_OF_BYTES));
}

ALONE void split_q6_k_to(const char *record, char *to, char *scales) {
  // Low and high bits are in two places, which no hardware prefetcher follows.
  for (size_t at = 0; at < record_bytes(Q6_K); at += CACHE_LINE) {
    (void)*(const volatile int *)(record + at);
  }
  const f32x16 d = halves16(record + 3072 + 256, HALF_FACTOR_OF_BYTES);
  ONE_BY_ONE for (int part = 0; part < 16; part++) {
    const u32x16 bits = load_words(record + 2048 + part * ROW);
    UNROLL for (int word = 0; word < 2; word++) {
      const Split codes = split_q6_k(record + part * 2 * ROW, bits, word);
      to = store_split(to, codes.even, codes.odd);
    }
  }
  UNROLL for (int part = 0; part < 16; part++) {
    store16(scales + part * ROW, scales_q6_k(record + 3072, part, d));
  }
}

ALONE void split_levels_to(
  int type, const char *record, const char *group, char *to, char *scales
) {
  ONE_BY_ONE for (int word = 0; word < block_weights(type) / 8; word++) {
    const u32x16 w = load_words(record + word * ROW);
    to = store_split(to, level_bytes(type, w, 0), level_bytes(type, w, 1));
  }
  store16(scales, scales_of_levels(type, record, group));
}

/** totals [m][16] = a panel times m rows of x. */
static void dot_panel(int type, const char *panel, int k, const int m, Prepared p, char *totals) {
#define ONE_OR_TWO(name, ...) (m == 1 ? name##_1(__VA_ARGS__) : name##_2(__VA_ARGS__))
  const int weights = block_weights(type), blocks = k / weights;
  const size_t step = record_bytes(type);
  zero_rows(totals, m);
  switch (type) {
    case Q4_0: ONE_OR_TWO(dot_Q4_0, panel, &p, totals, blocks); return;
    case Q4_1: ONE_OR_TWO(dot_Q4_1, panel, &p, totals, blocks); return;
    case Q8_0: ONE_OR_TWO(dot_Q8_0, panel, NULL, &p, totals, blocks, 8); return;
    case INT8: ONE_OR_TWO(dot_INT8, panel, NULL, &p, totals, blocks, 16); return;
  }
  char codes[CHUNK * LANES], scales[CHUNK / 16 * ROW];
  const char *const groups = panel + (size_t)blocks * step;
  for (int first = 0; first < blocks; first += CHUNK / weights, p.x += CHUNK * 4, p.sums += 32) {
    const int count = min(blocks - first, CHUNK / weights);
    const char *record = panel + (size_t)first * step;
    if (type == Q4_K) {
      ONE_OR_TWO(dot_Q4_K, record, &p, codes, 8);
      add_q4_k(record, codes, &p, m, totals);
      continue;
    }
    for (int i = 0; i < count; i++, record += step) {
      char *const to = codes + i * weights * LANES, *const s = scales + i * ROW;
      const char *group = groups + (size_t)((first + i) / 16) * 16;
      if (type == Q5_0) split_q5_0_to(record, to, s);
      else if (type == Q6_K) split_q6_k_to(record, to, s);
      else split_levels_to(type, record, group, to, s);
    }
    const int parts = type == Q6_K ? 16 : count, words = (type == Q6_K ? 16 : weights) / 4;
    ONE_OR_TWO(dot_SPLIT, codes, scales, &p, totals, parts, words);
  }
}

static void dots(int type, const Dots *g, int begin, int end) {
  const size_t step = panel_bytes(type, g->k), outStep = (size_t)g->n * 4;
  for (int panel = begin; panel < end; panel++) {
    char totals[MAX_X * ROW];
    dot_panel(type, g->w + (size_t)panel * step, g->k, g->m, g->prepared, totals);
    const int columns = min(LANES, g->n - panel * LANES);
    for (int r = 0; r < g->m; r++) {
      char *to = g->out + r * outStep + (size_t)panel * ROW;
      put_lanes(to, g->alpha * load16(totals + r * ROW), columns, g->accumulate);
    }
  }
}

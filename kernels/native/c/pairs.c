// Products of bfloat16 by AVX512-BF16, whose instruction adds the product of the upper halves of
// two words and then that of the lower halves to a float. The packed words hold two successive even
// terms, or two successive odd ones, of which the first is in the upper half. So the sums have the
// order of AMX (amx.c) and its bits.
#include "bf16.h"

/** Max rows of a tile. */
#define PAIR_ROWS 4

INLINE __m512bh words_at(const char *at) {
  return (__m512bh)_mm512_loadu_si512(at);
}

/** Rows of a packed tile are 64 bytes apart; `rows` rows may not cross its end. */
INLINE void pair_tile(const int rows, const int panels, const Bf16Tiles *t, const char *a, char *c) {
  __m512 sums[PAIR_ROWS][2];
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int j = 0; j < panels; j++) {
      sums[i][j] = t->add ? _mm512_loadu_ps(c + i * t->cRow + j * ROW) : _mm512_setzero_ps();
    }
  }
  const char *b = t->b;
  for (int block = t->blocks; block > 0; block--, a += TILE_BYTES, b += TILE_BYTES) {
    __m512 even[PAIR_ROWS][2], odd[PAIR_ROWS][2];
    UNROLL for (int i = 0; i < rows; i++) {
      UNROLL for (int j = 0; j < panels; j++) even[i][j] = odd[i][j] = _mm512_setzero_ps();
    }
    UNROLL for (int p = 0; p < 8; p++) {
      UNROLL for (int j = 0; j < panels; j++) {
        const char *at = b + j * t->bPanel + p * ROW;
        const __m512bh e = words_at(at), o = words_at(at + 8 * ROW);
        UNROLL for (int i = 0; i < rows; i++) {
          const int32_t *x = (const int32_t *)(a + i * ROW) + p;
          even[i][j] = _mm512_dpbf16_ps(even[i][j], (__m512bh)_mm512_set1_epi32(x[0]), e);
          odd[i][j] = _mm512_dpbf16_ps(odd[i][j], (__m512bh)_mm512_set1_epi32(x[8]), o);
        }
      }
    }
    UNROLL for (int i = 0; i < rows; i++) {
      UNROLL for (int j = 0; j < panels; j++) {
        sums[i][j] = _mm512_add_ps(sums[i][j], _mm512_add_ps(even[i][j], odd[i][j]));
      }
    }
  }
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int j = 0; j < panels; j++) _mm512_storeu_ps(c + i * t->cRow + j * ROW, sums[i][j]);
  }
}

#define PAIR_TILE(rows, panels)                                                             \
  static __attribute__((noinline)) void pair_##rows##_##panels(                             \
    const Bf16Tiles *t, const char *a, char *c                                              \
  ) {                                                                                       \
    pair_tile(rows, panels, t, a, c);                                                       \
  }
PAIR_TILE(1, 1) PAIR_TILE(2, 1) PAIR_TILE(3, 1) PAIR_TILE(4, 1)
PAIR_TILE(1, 2) PAIR_TILE(2, 2) PAIR_TILE(3, 2) PAIR_TILE(4, 2)

void pair_tiles(const Bf16Tiles *t, int rows, int panels) {
  for (int row = 0; row < rows; row += PAIR_ROWS) {
    const char *a = t->a + (size_t)(row / LANES) * t->aTile + (size_t)(row % LANES) * ROW;
    char *c = t->c + (size_t)row * t->cRow;
    switch (min(PAIR_ROWS, rows - row) + (panels > 1 ? 4 : 0)) {
      case 1: pair_1_1(t, a, c); break;
      case 2: pair_2_1(t, a, c); break;
      case 3: pair_3_1(t, a, c); break;
      case 4: pair_4_1(t, a, c); break;
      case 5: pair_1_2(t, a, c); break;
      case 6: pair_2_2(t, a, c); break;
      case 7: pair_3_2(t, a, c); break;
      default: pair_4_2(t, a, c);
    }
  }
}

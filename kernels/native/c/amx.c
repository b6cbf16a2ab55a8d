// Products of bfloat16 by the tile registers of AMX. An instruction adds the products of 16 × 16
// elements and 32 terms: a sum of the even terms and one of the odd terms for each element, each in
// order, and then their sum to the element. It treats subnormal numbers as zeros, of which bf16.ts
// leaves none. This file is compiled for processors with AMX.
#include "bf16.h"

typedef struct __attribute__((packed)) {
  uint8_t palette, start, reserved[14];
  uint16_t rowBytes[16];
  uint8_t rows[16];
} Config;

void amx_begin(void) {
  // Eight registers of 16 rows of 64 bytes.
  Config config __attribute__((aligned(64)));
  _mm512_store_si512(&config, _mm512_setzero_si512());
  config.palette = 1;
  for (int i = 0; i < 8; i++) {
    config.rowBytes[i] = 64;
    config.rows[i] = 16;
  }
  __asm__ volatile("" ::: "memory");
  _tile_loadconfig(&config);
}

void amx_end(void) {
  _tile_release();
}

void amx_tiles(const Bf16Tiles *t, int rowTiles, int panels) {
  const char *a0 = t->a, *a1 = a0 + t->aTile, *b0 = t->b, *b1 = b0 + t->bPanel;
  char *c0 = t->c, *c1 = c0 + 16 * t->cRow;
  const size_t step = t->cRow;
  if (t->add) {
    _tile_loadd(0, c0, step);
    if (panels > 1) _tile_loadd(1, c0 + ROW, step);
    if (rowTiles > 1) _tile_loadd(2, c1, step);
    if (rowTiles > 1 && panels > 1) _tile_loadd(3, c1 + ROW, step);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  if (rowTiles > 1 && panels > 1) {
    for (int i = t->blocks; i > 0; i--) {
      _tile_loadd(4, a0, 64);
      _tile_loadd(6, b0, 64);
      _tile_dpbf16ps(0, 4, 6);
      _tile_loadd(5, a1, 64);
      _tile_dpbf16ps(2, 5, 6);
      _tile_loadd(7, b1, 64);
      _tile_dpbf16ps(1, 4, 7);
      _tile_dpbf16ps(3, 5, 7);
      a0 += TILE_BYTES;
      a1 += TILE_BYTES;
      b0 += TILE_BYTES;
      b1 += TILE_BYTES;
    }
  } else if (panels > 1) {
    for (int i = t->blocks; i > 0; i--, a0 += TILE_BYTES, b0 += TILE_BYTES, b1 += TILE_BYTES) {
      _tile_loadd(4, a0, 64);
      _tile_loadd(6, b0, 64);
      _tile_dpbf16ps(0, 4, 6);
      _tile_loadd(7, b1, 64);
      _tile_dpbf16ps(1, 4, 7);
    }
  } else {
    for (int i = t->blocks; i > 0; i--, a0 += TILE_BYTES, a1 += TILE_BYTES, b0 += TILE_BYTES) {
      _tile_loadd(6, b0, 64);
      _tile_loadd(4, a0, 64);
      _tile_dpbf16ps(0, 4, 6);
      if (rowTiles == 1) continue;
      _tile_loadd(5, a1, 64);
      _tile_dpbf16ps(2, 5, 6);
    }
  }
  _tile_stored(0, c0, step);
  if (panels > 1) _tile_stored(1, c0 + ROW, step);
  if (rowTiles > 1) _tile_stored(2, c1, step);
  if (rowTiles > 1 && panels > 1) _tile_stored(3, c1 + ROW, step);
}

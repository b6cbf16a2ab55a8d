// Products in bfloat16 (kernels/ops/matmul/bf16.ts): what the instruction sets have in common.
// Operands are packed in tiles of 16 rows (of a) or 16 columns (of b) × 32 terms, 1 KB each, in the
// order that the instructions of the processor want.
#pragma once
#include <immintrin.h>

#include "vector.h"

/** Number of terms in a block. */
#define TERMS 32
/** Bytes of a packed tile. */
#define TILE_BYTES 1024

/** The instructions that multiply: tiles of AMX, or dot products of pairs (AVX512-BF16). */
enum { UNIT_AMX = 1, UNIT_PAIRS = 2 };

/** c[rows][columns] = (with `add` +=) a·b of one or two tiles of rows and of columns. */
typedef struct {
  const char *a;
  /** Bytes from a tile of rows to the next one. */
  size_t aTile;
  const char *b;
  /** Bytes from a panel of 16 columns to the next one. */
  size_t bPanel;
  int blocks;
  char *c;
  size_t cRow;
  int add;
} Bf16Tiles;

/** Sets up the tile registers of this thread, and gives them back. */
void amx_begin(void);
void amx_end(void);
void amx_tiles(const Bf16Tiles *t, int rowTiles, int panels);
/** The first `rows` (1 to 32) rows. */
void pair_tiles(const Bf16Tiles *t, int rows, int panels);

/** Bytes of 16 rows or 16 columns of k terms. */
INLINE size_t packed_bytes(int k) {
  return (size_t)ceil_div(k, TERMS) * TILE_BYTES;
}

/** The first `count` lanes. */
INLINE __mmask16 first_mask(int count) {
  return count >= LANES ? 0xffff : count <= 0 ? 0 : (__mmask16)((1u << count) - 1);
}

/** Kinds of the second operand besides storage types. */
enum { FLOATS = -1, PACKED = -2 };

/** The second operand of a product. */
typedef struct {
  /** Its storage type, or floats, or floats in panels [k][16]. */
  int type;
  /** Whether it is [n, k], not [k, n]. */
  int transB;
  const char *at;
  int n, k;
} Operand;

/** Packs the tiles [begin, end) of rows of a, one behind the other from `to` on. */
void pack_rows(int unit, const char *a, int m, int k, int transA, char *to, int begin, int end);

/**
 * Packs the terms [kk, kk + depth) of `columns` columns from `first` on, in panels of 16 columns.
 * `wide` is memory for weights of a storage type as floats.
 */
void pack_columns(
  int unit, const Operand *b, int first, int columns, int kk, int depth, char *wide, char *to
);

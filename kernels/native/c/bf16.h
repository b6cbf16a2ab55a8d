// Products in bfloat16 (kernels/ops/matmul/bf16.ts): what the instruction sets have in common.
// Operands are packed in tiles of 16 rows (of a) or 16 columns (of b) × 32 terms, 1 KB each, in the
// order that the instructions of the processor want.
#pragma once
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

// The blocked product: out [rows, columns] = (with `accumulate` +=) alpha · S · V.
#pragma once
#include "tiles.h"

/** Max number of rows of a row block: MAX_BLOCK_TILES tiles of TILE_ROWS rows (tiling.ts). */
#define BLOCK_ROWS 96
#define TILE_ROWS 6

/** Layouts of S: row-major, transposed, or in tiles of the height of the WASM tiles. */
enum { S_ROWS = 0, S_COLUMNS = 1, S_TILES = 2 };

typedef struct {
  const char *s;
  size_t sStep;
  int sLayout;
  /** The first `directPanels` panels of V are read in place, the others packed. */
  const char *vDirect;
  size_t vDirectStep;
  int directPanels;
  const char *vPacked;
  char *out;
  size_t outStep;
  int rows, columns, k, kBlock, blockTiles;
  float alpha;
  int accumulate;
  /** The result is the transpose of out [columns, rows]. */
  int swapped;
  /** What the tiles of all units fetch, or NULL. */
  Fetch *next;
} Blocks;

/** The units [begin, end): a row block × a panel each; the panel varies fastest. */
void multiply_blocks(const Blocks *g, int begin, int end);

/**
 * The panels [begin, end) of the transpose of source [columns, k], whose rows are `stride` bytes
 * apart: [k][16]; columns beyond the last one are zero.
 */
void transpose_panels(
  const char *source, size_t stride, int columns, int k, char *panels, int begin, int end
);

/**
 * Panels [k][16] of the columns of source [k, columns], whose rows are `stride` bytes apart;
 * columns beyond the last one are zero. It is read in the order of memory, which the prefetchers
 * follow.
 */
void columns_to_panels(const char *source, size_t stride, int columns, int k, char *panels);

/**
 * out [rows, columns] = (with `accumulate` +=) alpha · S · V, all of it, with S [rows, k] row-major
 * and V [k, columns] packed. Its tiles fetch `next`, which may be NULL; its number of tiles is set
 * here.
 */
void multiply_packed(
  const char *s, size_t sStep, const char *packed, char *out, size_t outStep, int rows, int columns,
  int k, int kBlock, int blockTiles, float alpha, int accumulate, Fetch *next
);

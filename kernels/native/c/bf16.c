// Products in bfloat16 (kernels/ops/matmul/bf16.ts): the division of a product into tiles. The
// kernels here and in bf16_pack.c have the names and arguments of those in rounded.c.
#include "bf16.h"
#include "kernel.h"

/** out [rows, columns] = (with `accumulate` +=) alpha · sums. */
static void put_sums(
  const char *sums, size_t sumStep, char *out, size_t outStep, int rows, int columns, float alpha,
  int accumulate
) {
  const __m512 scale = _mm512_set1_ps(alpha);
  for (int i = 0; i < rows; i++, sums += sumStep, out += outStep) {
    for (int j = 0; j < columns; j += LANES) {
      const __mmask16 mask = first_mask(columns - j);
      char *to = out + (size_t)j * 4;
      __m512 x = _mm512_mul_ps(scale, _mm512_loadu_ps(sums + (size_t)j * 4));
      if (accumulate) x = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, to), x);
      _mm512_mask_storeu_ps(to, mask, x);
    }
  }
}

/** Rows and columns that are multiplied at once: two tiles each. */
#define PAIR (2 * LANES)

/** Multiplies up to two tiles of rows by up to two of columns; t says where the sums are. */
static void multiply_tiles(int unit, const Bf16Tiles *t, int height, int width) {
  if (unit == UNIT_AMX) amx_tiles(t, ceil_div(height, LANES), ceil_div(width, LANES));
  else pair_tiles(t, height, ceil_div(width, LANES));
}

/** out [height, width] = (with `accumulate` +=) alpha · the product t. */
static void multiply_pair(
  int unit, Bf16Tiles *t, char *out, size_t outStep, int height, int width, float alpha,
  int accumulate
) {
  char edge[PAIR * PAIR * 4] __attribute__((aligned(64)));
  // Whole tiles are stored directly, unless there is more to do with the sums.
  const int direct = alpha == 1.0f && !accumulate && height % LANES == 0 && width % LANES == 0;
  t->c = direct ? out : edge;
  t->cRow = direct ? outStep : PAIR * 4;
  multiply_tiles(unit, t, height, width);
  if (!direct) put_sums(edge, PAIR * 4, out, outStep, height, width, alpha, accumulate);
}

/** A part of a product: rows × columns of out, which has n columns. */
typedef struct {
  char *out;
  int n, row, rows, first, columns;
  /** Columns that there is scratch for, and terms that are packed at once. */
  int unitColumns, slice;
} Part;

/** A part = (with `accumulate` +=) alpha · a · b; a is packed. */
static void multiply_part(
  int unit, const Part *part, const char *a, const Operand *b, float alpha, int accumulate,
  char *packed
) {
  const int k = b->k, slice = part->slice, unitColumns = part->unitColumns, depth0 = min(slice, k);
  const int row = part->row, rows = part->rows, first = part->first, columns = part->columns;
  const size_t outStep = (size_t)part->n * 4;
  // Scratch: packed columns, these columns as floats, and sums where there are several slices.
  char *wide = packed + (size_t)unitColumns * ceil_div(depth0, TERMS) * TERMS * 2;
  char *sums = packed + (size_t)unitColumns * ceil_div(depth0, TERMS) * TERMS * 8;
  const size_t sumStep = (size_t)unitColumns * 4;
  const int several = k > slice;
  int kk = 0;
  do {
    const int depth = min(slice, k - kk), last = kk + depth >= k;
    const size_t blocks = ceil_div(depth, TERMS);
    pack_columns(unit, b, first, columns, kk, depth, wide, packed);
    Bf16Tiles t = { .aTile = packed_bytes(k), .bPanel = blocks * TILE_BYTES };
    t.blocks = (int)blocks;
    t.add = kk > 0;
    for (int j = 0; j < columns; j += PAIR) {
      const int width = min(PAIR, columns - j);
      t.b = packed + (size_t)(j / LANES) * t.bPanel;
      for (int i = 0; i < rows; i += PAIR) {
        const int height = min(PAIR, rows - i);
        char *to = part->out + (size_t)(row + i) * outStep + (size_t)(first + j) * 4;
        t.a = a + (size_t)((row + i) / LANES) * t.aTile + (size_t)(kk / TERMS) * TILE_BYTES;
        if (!several) {
          multiply_pair(unit, &t, to, outStep, height, width, alpha, accumulate);
          continue;
        }
        t.c = sums + (size_t)i * sumStep + (size_t)j * 4;
        t.cRow = sumStep;
        multiply_tiles(unit, &t, height, width);
        if (last) put_sums(t.c, sumStep, to, outStep, height, width, alpha, accumulate);
      }
    }
    kk += slice;
  } while (kk < k);
}

KERNEL(matmul_bf16,
  type, transB, a, b, out, m, n, k, unitRows, unitColumns, slice, alpha, accumulate, xa, loraB, r,
  loraScale
) {
  char *const a = AT(a), *const xa = AT(xa);
  const int type = args->type, transB = args->transB, m = args->m, n = args->n, k = args->k,
    unitRows = args->unitRows, unitColumns = args->unitColumns, accumulate = args->accumulate,
    r = args->r;
  const float alpha = args->alpha, loraScale = args->loraScale;
  const int unit = UNIT(options);
  const Operand operand = { type, transB, AT(b), n, k };
  const Operand adapter = { FLOATS, 1, AT(loraB), n, r };
  const int groups = ceil_div(n, unitColumns);
  Part part = { .out = AT(out), .n = n, .unitColumns = unitColumns, .slice = args->slice };
  if (unit == UNIT_AMX) amx_begin();
  for (int u = begin; u < end; u++) {
    part.row = u / groups * unitRows;
    part.rows = min(unitRows, m - part.row);
    part.first = u % groups * unitColumns;
    part.columns = min(unitColumns, n - part.first);
    multiply_part(unit, &part, a, &operand, alpha, accumulate, scratch);
    if (r > 0) multiply_part(unit, &part, xa, &adapter, loraScale, 1, scratch);
  }
  if (unit == UNIT_AMX) amx_end();
}

KERNEL(matmul_bf16_rows,
  a, transA, b, out, m, n, k, unitColumns, alpha, accumulate, xa, loraB, r, loraScale
) {
  char *const a = AT(a), *const b = AT(b), *const out = AT(out), *const xa = AT(xa),
    *const loraB = AT(loraB);
  const int transA = args->transA, m = args->m, n = args->n, k = args->k,
    unitColumns = args->unitColumns, accumulate = args->accumulate, r = args->r;
  const float alpha = args->alpha, loraScale = args->loraScale;
  const int unit = UNIT(options);
  const size_t tile = packed_bytes(k), low = packed_bytes(r), outStep = (size_t)n * 4;
  const int chunks = ceil_div(m, PAIR);
  char *rows = scratch, *lowRows = rows + 2 * tile;
  Bf16Tiles product = { .a = rows, .aTile = tile, .bPanel = tile, .blocks = ceil_div(k, TERMS) };
  Bf16Tiles adapter = { .a = lowRows, .aTile = low, .bPanel = low, .blocks = ceil_div(r, TERMS) };
  if (unit == UNIT_AMX) amx_begin();
  for (int u = begin; u < end; u++) {
    const int row = u % chunks * PAIR, height = min(PAIR, m - row);
    const int first = u / chunks * unitColumns, last = min(n, first + unitColumns);
    const int firstTile = row / LANES, lastTile = ceil_div(row + height, LANES);
    pack_rows(unit, a, m, k, transA, rows, firstTile, lastTile);
    if (r > 0) pack_rows(unit, xa, m, r, 0, lowRows, firstTile, lastTile);
    for (int column = first; column < last; column += PAIR) {
      const int width = min(PAIR, last - column), panel = column / LANES;
      char *to = out + (size_t)row * outStep + (size_t)column * 4;
      product.b = b + (size_t)panel * tile;
      multiply_pair(unit, &product, to, outStep, height, width, alpha, accumulate);
      if (r == 0) continue;
      adapter.b = loraB + (size_t)panel * low;
      multiply_pair(unit, &adapter, to, outStep, height, width, loraScale, 1);
    }
  }
  if (unit == UNIT_AMX) amx_end();
}

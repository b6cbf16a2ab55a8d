// Products of rows with the matrices of their experts (kernels/ops/experts/wasm.ts). All experts
// are one job, so no thread waits for the others after each of them. A unit packs its part of a
// matrix in the scratch of the thread, where it serves all rows of the expert.
#include "blocks.h"
#include "kernel.h"

/** Max number of terms that are summed in order (K_BLOCK of tiling.ts). */
#define MAX_TERMS 320

/**
 * out = (with `accumulate` +=) alpha · a · W_e for the rows of each expert e, which are those from
 * at[e] to at[e + 1]; W_e is [k, n], or with `transB` [n, k]. Unit: an expert × `unitColumns`
 * columns, which vary fastest. `slice` terms, whole blocks of `kBlock`, are packed at once;
 * `blockTiles` is that of matmul_blocks. Scratch: 4 · slice · unitColumns bytes.
 */
KERNEL(expert_matmul,
  a, b, out, at, n, k, transB, unitColumns, slice, kBlock, blockTiles, alpha, accumulate
) {
  const uint32_t *const at = (const uint32_t *)AT(at);
  const int n = args->n, k = args->k, transB = args->transB, unitColumns = args->unitColumns,
    slice = args->slice, accumulate = args->accumulate, groups = ceil_div(n, unitColumns);
  const size_t aStep = (size_t)k * 4, outStep = (size_t)n * 4, wStep = transB ? aStep : outStep;
  for (int unit = begin; unit < end; unit++) {
    const int expert = unit / groups, rows = (int)(at[expert + 1] - at[expert]);
    if (rows == 0) continue;
    const int first = unit % groups * unitColumns, columns = min(unitColumns, n - first);
    const char *const a = AT(a) + at[expert] * aStep;
    char *const out = AT(out) + at[expert] * outStep + (size_t)first * 4;
    const char *const matrix = AT(b) + (size_t)expert * n * aStep;
    const char *const w = matrix + (size_t)first * (transB ? aStep : 4);
    for (int kk = 0; kk < k; kk += slice) {
      const int depth = min(slice, k - kk), isLast = kk + depth >= k;
      // The tiles fetch what is packed next: the next slice, or the next columns.
      Fetch next = { .lines = depth * columns / LANES };
      if (transB) {
        const char *const from = w + (size_t)kk * 4;
        transpose_panels(from, wStep, columns, depth, scratch, 0, ceil_div(columns, LANES));
        const size_t all = (size_t)columns * aStep;
        next.at = w + all + all * (size_t)kk / (size_t)k;
      } else {
        columns_to_panels(w + (size_t)kk * wStep, wStep, columns, depth, scratch);
        const int behind = first + columns < n ? first + columns : k * n;
        next.at = isLast ? matrix + (size_t)behind * 4 : w + (size_t)(kk + depth) * wStep;
        next.width = columns / LANES;
        next.step = wStep;
      }
      multiply_packed(
        a + (size_t)kk * 4, aStep, scratch, out, outStep, rows, columns, depth, args->kBlock,
        args->blockTiles, args->alpha, kk > 0 || accumulate, &next
      );
    }
  }
}

/** The number of terms of a sum of k that are summed in order (tiling.ts). */
static int terms_in_order(int k) {
  return ceil_div(k, max(k < 17 ? 1 : 2, ceil_div(k, MAX_TERMS)));
}

/**
 * out[e] += alpha · aᵀ·b over the rows of each expert e; a [rows, m], b [rows, n], out[e] [m, n].
 * Unit: an expert × `unitRows` rows × `unitColumns` columns of out; the columns vary fastest.
 * Scratch: 4 · MAX_TERMS · (16 + unitColumns) bytes.
 */
KERNEL(expert_gradient, a, b, out, at, m, n, unitRows, unitColumns, alpha) {
  const uint32_t *const at = (const uint32_t *)AT(at);
  const int m = args->m, n = args->n, unitRows = args->unitRows, unitColumns = args->unitColumns,
    groups = ceil_div(n, unitColumns), units = ceil_div(m, unitRows) * groups;
  const size_t aStep = (size_t)m * 4, bStep = (size_t)n * 4;
  char *const s = scratch, *const v = s + (size_t)MAX_TERMS * ROW;
  for (int unit = begin; unit < end; unit++) {
    const int expert = unit / units, rows = (int)(at[expert + 1] - at[expert]);
    if (rows == 0) continue;
    const int firstRow = unit % units / groups * unitRows, lastRow = min(m, firstRow + unitRows);
    const int first = unit % groups * unitColumns, kBlock = terms_in_order(rows);
    const int slice = kBlock * (MAX_TERMS / kBlock);
    const char *const a = AT(a) + at[expert] * aStep;
    const char *const b = AT(b) + at[expert] * bStep + (size_t)first * 4;
    char *const out = AT(out) + (size_t)expert * m * bStep + (size_t)first * 4;
    Blocks g = {
      .s = s, .sStep = ROW, .sLayout = S_COLUMNS, .vPacked = v, .outStep = bStep,
      .columns = min(unitColumns, n - first), .kBlock = kBlock, .blockTiles = MAX_ROWS,
      .alpha = args->alpha, .accumulate = 1,
    };
    for (int kk = 0; kk < rows; kk += slice) {
      g.k = min(slice, rows - kk);
      columns_to_panels(b + (size_t)kk * bStep, bStep, g.columns, g.k, v);
      for (int row = firstRow; row < lastRow; row += MAX_ROWS) {
        const char *const from = a + (size_t)kk * aStep + (size_t)row * 4;
        columns_to_panels(from, aStep, min(LANES, m - row), g.k, s);
        g.rows = min(MAX_ROWS, lastRow - row);
        g.out = out + (size_t)row * bStep;
        multiply_blocks(&g, 0, ceil_div(g.columns, LANES));
      }
    }
  }
}

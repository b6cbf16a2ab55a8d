// Moves and sums of whole rows (kernels/ops/rows/spec.ts). Work unit: one row. Rows of stored
// weights are in weights.c.
#include "bf16_round.h"
#include "elements.h"
#include "rows.h"

INLINE void copy_row(const char *from, char *to, size_t bytes) {
  EACH_OF_ROW(bytes, STORE(to, LOAD(from));)
}

void scatter(const char *source, const uint32_t *index, char *table, int rows, int d) {
  const size_t bytes = (size_t)d * 4;
  for (int row = 0; row < rows; row++) {
    copy_row(source + (size_t)row * bytes, table + index[row] * bytes, bytes);
  }
}

KERNEL(scatter_rows, src, index, table, d) {
  const int d = args->d;
  const uint32_t *to = (const uint32_t *)AT(index) + begin;
  scatter(AT(src) + (size_t)begin * d * 4, to, AT(table), end - begin, d);
}

/** The same, rounded to bfloat16. */
KERNEL(scatter_bf16_rows, src, index, table, d) {
  const int d = args->d;
  const uint32_t *const to = (const uint32_t *)AT(index);
  for (int row = begin; row < end; row++) {
    const char *const from = AT(src) + (size_t)row * d * 4;
    char *const halves = AT(table) + (size_t)to[row] * d * 2;
    for (int c = 0; c < d; c += LANES) {
      const int count = min(LANES, d - c);
      const f32x16 x = load_floats(from + (size_t)c * 4, count);
      store_some(halves + (size_t)c * 2, halves_of((u32x16)x), count);
    }
  }
}

KERNEL(gather_rows, table, index, out, d) {
  char *const table = AT(table), *const out = AT(out);
  const int d = args->d;
  const size_t bytes = (size_t)d * 4;
  const uint32_t *from = (const uint32_t *)AT(index);
  for (int row = begin; row < end; row++) {
    copy_row(table + from[row] * bytes, out + (size_t)row * bytes, bytes);
  }
}

/** Columns of a work unit of scatter_add_rows, so that several threads share a long run. */
#define SLICE 64

/** Units: runs · ⌈d / SLICE⌉; the slice varies fastest. */
KERNEL(scatter_add_rows, src, order, runs, target, table, d) {
  const uint32_t *const order = (const uint32_t *)AT(order);
  const uint32_t *const runs = (const uint32_t *)AT(runs);
  const uint32_t *const target = (const uint32_t *)AT(target);
  const int d = args->d, slices = ceil_div(d, SLICE);
  const size_t bytes = (size_t)d * 4;
  for (int unit = begin; unit < end; unit++) {
    const int run = unit / slices, slice = unit % slices * SLICE;
    char *const to = AT(table) + target[run] * bytes;
    for (int c = slice; c < min(slice + SLICE, d); c += LANES) {
      const int count = min(LANES, d - c);
      const char *const from = AT(src) + (size_t)c * 4;
      f32x16 sum = 0.0f;
      for (uint32_t i = runs[run]; i < runs[run + 1]; i++) {
        const char *const row = from + order[i] * bytes;
        sum += count == LANES ? load16(row) : load_lanes(row, count);
      }
      put_lanes(to + (size_t)c * 4, sum, count, 1);
    }
  }
}

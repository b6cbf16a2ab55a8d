// Work on single elements: the statements are written once, for 16 of them and for the last ones.
#pragma once
#include "kernel.h"

/** Elements in a work unit (byElements of kernels/ops/common/wasm_jobs.ts). */
#define BLOCK 1024

/**
 * Runs the statements for the bytes from `at` to `last`, for 16 elements and then for each of those
 * that are left. LOAD and STORE touch only them; a loaded element is in every lane.
 */
#define EACH(at, last, ...)                         \
  for (; (at) + ROW <= (last); at += ROW) {         \
    const int one = 0;                              \
    __VA_ARGS__                                     \
  }                                                 \
  ONE_BY_ONE for (; (at) < (last); at += 4) {       \
    const int one = 1;                              \
    __VA_ARGS__                                     \
  }

/** EACH of the n elements of a tensor that are in the units [begin, end). Their byte is `at`. */
#define EACH_OF_UNITS(n, ...)                                       \
  size_t at = (size_t)begin * BLOCK * 4;                            \
  const size_t last = (size_t)min(end * BLOCK, (int)(n)) * 4;       \
  EACH(at, last, __VA_ARGS__)

/** EACH of the elements of a row of so many bytes. */
#define EACH_OF_ROW(bytes, ...)               \
  {                                           \
    size_t at = 0;                            \
    EACH(at, bytes, __VA_ARGS__)              \
  }

#define LOAD(from) (one ? (f32x16)load1((from) + at) : load16((from) + at))
#define STORE(to, x) store_elements((to) + at, x, one)

INLINE void store_elements(char *to, f32x16 x, const int one) {
  if (one) store1(to, x[0]);
  else store16(to, x);
}

/** Rows that are summed before they are added to the sum of all, which loses fewer digits. */
#define SUM_ROWS 256

/** total = the sum of `sum` over all rows in order; the statements add the row `row` to it. */
#define SUM_OVER_ROWS(total, rows, ...)                                       \
  f32x16 total = 0.0f;                                                        \
  for (int row = 0; row < (rows);) {                                          \
    f32x16 sum = 0.0f;                                                        \
    for (const int stop = min(row + SUM_ROWS, rows); row < stop; row++) {     \
      __VA_ARGS__                                                             \
    }                                                                         \
    total += sum;                                                             \
  }

/** The first `count` lanes from memory; mostly that is all of them. */
INLINE f32x16 load_columns(const char *at, int count) {
  return count == LANES ? load16(at) : load_lanes(at, count);
}

/** sum = a + b, for a row of so many bytes. */
INLINE void add_rows(const char *a, const char *b, char *sum, size_t bytes) {
  EACH_OF_ROW(bytes, STORE(sum, LOAD(a) + LOAD(b));)
}

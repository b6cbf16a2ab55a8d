// Operations on rows, as parts of kernels.
#pragma once
#include "vector.h"

/**
 * out = x·ρ·(weight + offset) with ρ = 1/√(mean(x²) + eps), for `rows` rows of d floats; stores ρ.
 */
void norm_rows(
  const char *x, const char *weight, char *out, char *rho, int rows, int d, float eps, float offset
);

/**
 * Rotates the first `rotaryDim` elements of the heads of `rows` rows in place. `sign`: 1, or −1 for
 * the inverse rotation.
 */
void rotate_rows(
  char *x, const char *cos, const char *sin, const uint32_t *positions, int heads, int headDim,
  int rotaryDim, float sign, int rows
);

/** out = silu(gate)·up, n elements. */
void gate_elements(const char *gate, const char *up, char *out, size_t n);

/** Copies each row of `source` to row index[row] of `table`. */
void scatter(const char *source, const uint32_t *index, char *table, int rows, int d);

/**
 * Widens row `row` of a weight [*, k] in any storage type. `work`: ROW_BYTES of
 * kernels/weights/wasm.ts.
 */
void widen_row(int type, const char *w, int k, int row, char *to, char *work);

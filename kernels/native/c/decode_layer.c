// One decoding layer for some branches: decode_layer of kernels/ops/decode_layer/wasm.as.ts, which
// explains the arguments and the parts of the scratch.
#include "blocks.h"
#include "decode.h"
#include "rows.h"

/** The address behind `floats` floats, whose bytes are rounded up to a multiple of 64. */
INLINE char *after(char *at, int floats) {
  return at + (((size_t)floats * 4 + 63) & ~(size_t)63);
}

/** out[rows, n] = (with `add` +=) a[rows, k] · a packed weight [n, k]. */
static void project(
  const char *a, const char *packed, char *out, int rows, int n, int k, int kBlock, int add
) {
  const int tiles = ceil_div(rows, TILE_ROWS);
  multiply_packed(
    a, (size_t)k * 4, packed, out, (size_t)n * 4, rows, n, k, kBlock, tiles, 1, add, NULL
  );
}

/**
 * Copies rows to the rows `index` of a table, if there is one. It is read much later, so whole
 * lines pass by the caches, which weights and keys need.
 */
static void keep(
  char *base, const char *from, const uint32_t *index, uint32_t table, int rows, int d
) {
  if (table == 0) return;
  const size_t bytes = (size_t)d * 4;
  if (bytes % ROW != 0 || table % ROW != 0) {
    scatter(from, index, base + table, rows, d);
    return;
  }
  for (int row = 0; row < rows; row++, from += bytes) {
    char *to = base + table + index[row] * bytes;
    for (size_t c = 0; c < bytes; c += ROW) {
      __builtin_nontemporal_store(load16(from + c), (f32x16 *)(to + c));
    }
  }
}

static void decode_rows(
  char *base, int prefetches, uint32_t x, uint32_t inputNorm, uint32_t wq, uint32_t wk,
  uint32_t wv, uint32_t wo, uint32_t postNorm, uint32_t wGate, uint32_t wUp, uint32_t wDown, uint32_t cos, uint32_t sin,
  uint32_t positions, uint32_t cacheRow, uint32_t branches, uint32_t prefixK,
  uint32_t packedPrefixK, uint32_t prefixV, uint32_t branchK, uint32_t branchV, uint32_t keptRow,
  uint32_t keptH, uint32_t keptQ, uint32_t keptK, uint32_t keptV, uint32_t keptMid,
  uint32_t keptGate, uint32_t keptUp, int count, int maxNew, int d, int f, int heads, int kvHeads,
  int headDim, float scale, float eps, int kBlockD, int kBlockQ, int kBlockF, int unitRows,
  int blockBranches, uint32_t attentionBytes, int begin, int end, uint32_t scratch
) {
  const int width = heads * headDim, kv = kvHeads * headDim;
  char *edge = base + scratch + attentionBytes;
  char *rho = after(edge, LANES * (unitRows + TILE_ROWS));
  char *normed = after(rho, unitRows);
  char *q = after(normed, unitRows * d);
  char *attn = after(q, unitRows * width);
  char *k = after(attn, unitRows * width);
  char *v = after(k, unitRows * kv);
  char *gate = after(v, unitRows * kv);
  char *up = after(gate, unitRows * f);
  for (int unit = begin; unit < end; unit++) {
    const int first = unit * unitRows, rows = min(unitRows, count - first);
    char *h = base + x + (size_t)first * d * 4;
    const uint32_t *kept = (const uint32_t *)(base + keptRow) + first;
    keep(base, h, kept, keptH, rows, d);
    norm_rows(h, base + inputNorm, normed, rho, rows, d, eps);
    project(normed, base + wq, q, rows, width, d, kBlockD, 0);
    project(normed, base + wk, k, rows, kv, d, kBlockD, 0);
    project(normed, base + wv, v, rows, kv, d, kBlockD, 0);
    keep(base, q, kept, keptQ, rows, width);
    keep(base, k, kept, keptK, rows, kv);
    keep(base, v, kept, keptV, rows, kv);
    const uint32_t *at = (const uint32_t *)(base + positions) + first;
    rotate_rows(q, base + cos, base + sin, at, heads, headDim, 1, rows);
    rotate_rows(k, base + cos, base + sin, at, kvHeads, headDim, 1, rows);
    const uint32_t *row = (const uint32_t *)(base + cacheRow) + first;
    scatter(k, row, base + branchK, rows, kv);
    scatter(v, row, base + branchV, rows, kv);
    const Decode decode = {
      .q = q, .prefixK = base + prefixK,
      .packedPrefixK = packedPrefixK == 0 ? NULL : base + packedPrefixK,
      .prefixV = base + prefixV, .branchK = base + branchK, .branchV = base + branchV, .out = attn,
      .branches = (const Branch *)(base + branches) + first, .branchCount = rows, .maxNew = maxNew,
      .heads = heads, .kvHeads = kvHeads, .headDim = headDim, .scale = scale,
      .blockBranches = blockBranches, .width = heads / kvHeads, .prefetches = prefetches,
    };
    decode_attention(&decode, 0, ceil_div(rows, blockBranches) * kvHeads, base + scratch);
    project(attn, base + wo, h, rows, d, width, kBlockQ, 1);
    keep(base, h, kept, keptMid, rows, d);
    norm_rows(h, base + postNorm, normed, rho, rows, d, eps);
    project(normed, base + wGate, gate, rows, f, d, kBlockD, 0);
    project(normed, base + wUp, up, rows, f, d, kBlockD, 0);
    keep(base, gate, kept, keptGate, rows, f);
    keep(base, up, kept, keptUp, rows, f);
    gate_elements(gate, up, gate, (size_t)rows * f);
    project(gate, base + wDown, h, rows, d, f, kBlockF, 1);
  }
  // Stores that pass by the caches are not in the order of others.
  if (keptH != 0) __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/**
 * The arguments are in memory, in the order of the WASM kernel: V8 cannot compile a call of native
 * code with so many.
 */
KERNEL void decode_layer(char *base, int prefetches, const double *a) {
  decode_rows(
    base, prefetches,
    a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13],
    a[14], a[15], a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23], a[24], a[25], a[26],
    a[27], a[28], a[29], a[30], a[31], a[32], a[33], a[34], a[35], a[36], a[37], a[38], a[39],
    a[40], a[41], a[42], a[43], a[44], a[45]
  );
}

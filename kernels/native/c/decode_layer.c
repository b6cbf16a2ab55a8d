// One decoding layer (kernels/ops/decode_layer/spec.ts). Work unit: some branches, for which one
// thread computes the whole layer with all intermediate results in its scratch. So no thread waits
// for others between the operations.
#include "blocks.h"
#include "decode.h"
#include "rows.h"
#include "kernel.h"

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

/**
 * Unit: `unitRows` branches, which attend in blocks of `blockBranches` (attention_decode).
 * `kBlockD`, `kBlockQ` and `kBlockF` are the terms that are summed in order in products over d,
 * heads·headDim and f (matmul_blocks).
 * Scratch, in this order, each rounded up to 64 bytes: `attentionBytes` for attention_decode; 64
 * bytes per row, for unitRows + TILE_ROWS rows, for matmul_blocks; ρ [rows]; normed [rows, d]; q
 * and attention [rows, heads·headDim]; k and v [rows, kvHeads·headDim]; gate and up [rows, f].
 */
KERNEL(decode_layer,
  x, inputNorm, wq, wk, wv, wo, postNorm, wGate, wUp, wDown, cos, sin, positions, cacheRow,
  branches, prefixK, packedPrefixK, prefixV, branchK, branchV, keptRow, keptH, keptQ, keptK,
  keptV, keptMid, keptGate, keptUp, count, maxNew, d, f, heads, kvHeads, headDim, scale, eps,
  kBlockD, kBlockQ, kBlockF, unitRows, blockBranches, attentionBytes
) {
  char *const x = AT(x), *const inputNorm = AT(inputNorm), *const wq = AT(wq), *const wk = AT(wk),
    *const wv = AT(wv), *const wo = AT(wo), *const postNorm = AT(postNorm),
    *const wGate = AT(wGate), *const wUp = AT(wUp), *const wDown = AT(wDown), *const cos = AT(cos),
    *const sin = AT(sin), *const positions = AT(positions), *const cacheRow = AT(cacheRow),
    *const branches = AT(branches), *const prefixK = AT(prefixK),
    *const packedPrefixK = AT(packedPrefixK), *const prefixV = AT(prefixV),
    *const branchK = AT(branchK), *const branchV = AT(branchV), *const keptRow = AT(keptRow);
  const uint32_t keptH = args->keptH, keptQ = args->keptQ, keptK = args->keptK, keptV = args->keptV,
    keptMid = args->keptMid, keptGate = args->keptGate, keptUp = args->keptUp,
    attentionBytes = args->attentionBytes;
  const int count = args->count, maxNew = args->maxNew, d = args->d, f = args->f,
    heads = args->heads, kvHeads = args->kvHeads, headDim = args->headDim, kBlockD = args->kBlockD,
    kBlockQ = args->kBlockQ, kBlockF = args->kBlockF, unitRows = args->unitRows,
    blockBranches = args->blockBranches;
  const float scale = args->scale, eps = args->eps;
  const int prefetches = PREFETCHES(options);
  const int width = heads * headDim, kv = kvHeads * headDim;
  char *edge = scratch + attentionBytes;
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
    char *h = x + (size_t)first * d * 4;
    const uint32_t *kept = (const uint32_t *)keptRow + first;
    keep(base, h, kept, keptH, rows, d);
    norm_rows(h, inputNorm, normed, rho, rows, d, eps, 0);
    project(normed, wq, q, rows, width, d, kBlockD, 0);
    project(normed, wk, k, rows, kv, d, kBlockD, 0);
    project(normed, wv, v, rows, kv, d, kBlockD, 0);
    keep(base, q, kept, keptQ, rows, width);
    keep(base, k, kept, keptK, rows, kv);
    keep(base, v, kept, keptV, rows, kv);
    const uint32_t *at = (const uint32_t *)positions + first;
    rotate_rows(q, cos, sin, at, heads, headDim, headDim, 1, rows);
    rotate_rows(k, cos, sin, at, kvHeads, headDim, headDim, 1, rows);
    const uint32_t *row = (const uint32_t *)cacheRow + first;
    scatter(k, row, branchK, rows, kv);
    scatter(v, row, branchV, rows, kv);
    const Decode decode = {
      .q = q, .prefixK = prefixK,
      .packedPrefixK = args->packedPrefixK == 0 ? NULL : packedPrefixK,
      .prefixV = prefixV, .branchK = branchK, .branchV = branchV, .out = attn,
      .branches = (const Branch *)branches + first, .branchCount = rows, .maxNew = maxNew,
      .heads = heads, .kvHeads = kvHeads, .headDim = headDim, .scale = scale,
      .blockBranches = blockBranches, .width = heads / kvHeads, .prefetches = prefetches,
    };
    decode_attention(&decode, 0, ceil_div(rows, blockBranches) * kvHeads, scratch);
    project(attn, wo, h, rows, d, width, kBlockQ, 1);
    keep(base, h, kept, keptMid, rows, d);
    norm_rows(h, postNorm, normed, rho, rows, d, eps, 0);
    project(normed, wGate, gate, rows, f, d, kBlockD, 0);
    project(normed, wUp, up, rows, f, d, kBlockD, 0);
    keep(base, gate, kept, keptGate, rows, f);
    keep(base, up, kept, keptUp, rows, f);
    gate_elements(gate, up, gate, (size_t)rows * f);
    project(gate, wDown, h, rows, d, f, kBlockF, 1);
  }
  // Stores that pass by the caches are not in the order of others.
  if (keptH != 0) __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

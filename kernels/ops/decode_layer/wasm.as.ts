// One decoding layer (kernels/ops/decode_layer/spec.ts). Work unit: some branches, for which one
// thread computes the whole layer with all intermediate results in its scratch. So no thread waits
// for others between the operations.

import { attention_decode, BRANCH_BYTES } from "../attention_decode/wasm.as";
import { multiply_packed } from "../matmul/wasm/packed.as";
import { rmsnorm } from "../rmsnorm/wasm.as";
import { rope } from "../rope/wasm.as";
import { scatter_rows } from "../rows/wasm.as";
import { swiglu } from "../swiglu/wasm.as";

const LANES = 16;
const TILE_ROWS = 6;
/** Elements in a work unit of swiglu. */
const SWIGLU_BLOCK = 1024;

/** out[rows, n] = (with `add` +=) a[rows, k] · a packed weight [n, k]. `edge`: 64 bytes per row. */
function project(
  a: usize, packed: usize, out: usize, rows: i32, n: i32, k: i32, kBlock: i32, add: bool,
  edge: usize,
): void {
  const tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
  multiply_packed(
    a, (k as usize) * 4, packed, out, (n as usize) * 4, rows, n, k, kBlock, tiles, 1, add ? 1 : 0,
    (n + LANES - 1) / LANES, edge,
  );
}

/**
 * Unit: `unitRows` branches, which attend in blocks of `blockBranches` (attention_decode).
 * `kBlockD`, `kBlockQ` and `kBlockF` are the terms that are summed in order in products over d,
 * heads·headDim and f (matmul_blocks).
 * Scratch, in this order, each rounded up to 64 bytes: `attentionBytes` for attention_decode; 64
 * bytes per row, for unitRows + TILE_ROWS rows, for matmul_blocks; ρ [rows]; normed [rows, d]; q
 * and attention [rows, heads·headDim]; k and v [rows, kvHeads·headDim]; gate and up [rows, f].
 */
export function decode_layer(
  x: usize, inputNorm: usize, wq: usize, wk: usize, wv: usize, wo: usize, postNorm: usize,
  wGate: usize, wUp: usize, wDown: usize, cos: usize, sin: usize, positions: usize,
  cacheRow: usize, branches: usize, prefixK: usize, packedPrefixK: usize, prefixV: usize,
  branchK: usize, branchV: usize, keptRow: usize, keptH: usize, keptQ: usize, keptK: usize,
  keptV: usize, keptMid: usize, keptGate: usize, keptUp: usize, count: i32, maxNew: i32, d: i32,
  f: i32, heads: i32, kvHeads: i32, headDim: i32, scale: f32, eps: f32, kBlockD: i32,
  kBlockQ: i32, kBlockF: i32, unitRows: i32, blockBranches: i32, attentionBytes: usize,
  begin: i32, end: i32, scratch: usize,
): void {
  const width = heads * headDim, kv = kvHeads * headDim;
  const edge = scratch + attentionBytes;
  const rho = after(edge, 16 * (unitRows + TILE_ROWS));
  const normed = after(rho, unitRows);
  const q = after(normed, unitRows * d);
  const attn = after(q, unitRows * width);
  const k = after(attn, unitRows * width);
  const v = after(k, unitRows * kv);
  const gate = after(v, unitRows * kv);
  const up = after(gate, unitRows * f);
  for (let unit = begin; unit < end; unit++) {
    const first = unit * unitRows;
    const rows = min(unitRows, count - first);
    const h = x + ((first * d) as usize) * 4;
    const kept = keptRow + (first as usize) * 4;
    keep(h, kept, keptH, rows, d);
    rmsnorm(h, 0, 0, inputNorm, normed, rho, d, eps, 0, rows, 0);
    project(normed, wq, q, rows, width, d, kBlockD, false, edge);
    project(normed, wk, k, rows, kv, d, kBlockD, false, edge);
    project(normed, wv, v, rows, kv, d, kBlockD, false, edge);
    keep(q, kept, keptQ, rows, width);
    keep(k, kept, keptK, rows, kv);
    keep(v, kept, keptV, rows, kv);
    const at = positions + (first as usize) * 4;
    rope(q, cos, sin, at, heads, headDim, 1, 0, rows, 0);
    rope(k, cos, sin, at, kvHeads, headDim, 1, 0, rows, 0);
    const row = cacheRow + (first as usize) * 4;
    scatter_rows(k, row, branchK, kv, 0, rows, 0);
    scatter_rows(v, row, branchV, kv, 0, rows, 0);
    attention_decode(
      q, prefixK, packedPrefixK, prefixV, branchK, branchV, attn,
      branches + (first as usize) * BRANCH_BYTES, rows, maxNew, heads, kvHeads, headDim, scale,
      blockBranches, heads / kvHeads, 0, 0,
      ((rows + blockBranches - 1) / blockBranches) * kvHeads, scratch,
    );
    project(attn, wo, h, rows, d, width, kBlockQ, true, edge);
    keep(h, kept, keptMid, rows, d);
    rmsnorm(h, 0, 0, postNorm, normed, rho, d, eps, 0, rows, 0);
    project(normed, wGate, gate, rows, f, d, kBlockD, false, edge);
    project(normed, wUp, up, rows, f, d, kBlockD, false, edge);
    keep(gate, kept, keptGate, rows, f);
    keep(up, kept, keptUp, rows, f);
    const n = rows * f;
    swiglu(gate, up, gate, n, 0, (n + SWIGLU_BLOCK - 1) / SWIGLU_BLOCK, 0);
    project(gate, wDown, h, rows, d, f, kBlockF, true, edge);
  }
}

/** Copies rows to the rows `index` of a table, if there is one. */
function keep(from: usize, index: usize, table: usize, rows: i32, d: i32): void {
  if (table != 0) scatter_rows(from, index, table, d, 0, rows, 0);
}

/** The address behind `floats` floats, whose bytes are rounded up to a multiple of 64. */
function after(address: usize, floats: i32): usize {
  return address + ((((floats as usize) * 4) + 63) & ~63);
}

/**
 * One Llama layer over one new row per branch while generating. It does what the operations
 * rmsnorm, matmul, rope, scatter_rows, attention_decode and swiglu do one after the other. It is
 * one operation because each of those is tiny here.
 *   n = rmsnorm(x);  q, k, v = n·Wᵀ;  q and k are rotated; k and v are written to the branch cache;
 *   x += attention·Woᵀ;  n = rmsnorm(x);  g, u = n·Wᵀ;  x += (silu(g)·u)·Wdownᵀ
 * With `keptRow` the results of its products, from which a backward pass can be computed, are also
 * written to rows of tables.
 */
import type { Tensor } from "../../tensor.ts";

export interface DecodeLayerArgs {
  x: Tensor; // [count, d], the residual stream; it becomes the layer's output
  inputNorm: Tensor; // [d]
  // Weights that pack_weight packed (kernels/ops/matmul/spec.ts).
  wq: Tensor; // [heads·headDim, d]
  wk: Tensor; // [kvHeads·headDim, d]
  wv: Tensor; // [kvHeads·headDim, d]
  wo: Tensor; // [d, heads·headDim]
  postNorm: Tensor; // [d]
  wGate: Tensor; // [f, d]
  wUp: Tensor; // [f, d]
  wDown: Tensor; // [d, f]
  cos: Tensor; // [positions, headDim/2]
  sin: Tensor; // [positions, headDim/2]
  positions: Tensor; // u32 [count]
  /** Row of the branch cache to which the new key and value of each branch are written. */
  cacheRow: Tensor; // u32 [count]
  /** The branch table of attention_decode; `length` includes the new row. */
  branches: Tensor; // u32 [count, BRANCH.columns]
  prefixK: Tensor; // [promptRows, kvHeads·headDim]
  /**
   * The keys of the prompts again, packed by pack_weight. A device may read them instead of
   * prefixK. With them, prompts begin at multiples of PANEL (kernels/ops/matmul/spec.ts).
   */
  packedPrefixK?: Tensor; // [packedLength(promptRows, kvHeads·headDim)]
  prefixV: Tensor; // [promptRows, kvHeads·headDim]
  branchK: Tensor; // [slots, maxNew, kvHeads·headDim], one row per branch overwritten
  branchV: Tensor; // [slots, maxNew, kvHeads·headDim], one row per branch overwritten
  /** Row of the tables below for each branch. Either all of them are given or none. */
  keptRow?: Tensor; // u32 [count]
  keptH?: Tensor; // [keptRows, d], x before the layer
  keptQ?: Tensor; // [keptRows, heads·headDim], q before its rotation
  keptK?: Tensor; // [keptRows, kvHeads·headDim], k before its rotation
  keptV?: Tensor; // [keptRows, kvHeads·headDim]
  keptMid?: Tensor; // [keptRows, d], x after attention
  keptGate?: Tensor; // [keptRows, f]
  keptUp?: Tensor; // [keptRows, f]
  count: number;
  maxNew: number;
  d: number;
  f: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  scale: number;
  eps: number;
}

/** Max number of rows in a share: their activations stay in the private cache of a core. */
const MAX_ROWS = 64;

/**
 * Number of rows that a thread of a CPU computes at once; it does its shares one after the other.
 */
export function shareOfRows(count: number, threads: number): number {
  const shares = threads * Math.ceil(count / (threads * MAX_ROWS));
  return Math.ceil(count / Math.max(1, shares));
}

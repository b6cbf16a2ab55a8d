/**
 * One Llama layer over one new row per branch while generating: what the operations rmsnorm, matmul, rope,
 * scatter_rows, attention_decode and swiglu do one after the other, as one operation, because each of them is
 * tiny there. With n = rmsnorm(x): q, k, v = n·Wᵀ, q and k rotated, k and v written to their rows of the
 * branch cache, x += attention·Woᵀ; then x += (silu(g)·u)·Wdownᵀ with g and u from rmsnorm(x).
 */
import type { Tensor } from "../../tensor.ts";

export interface DecodeLayerArgs {
  x: Tensor; // [count, d], the residual stream, replaced by the layer's output
  inputNorm: Tensor; // [d]
  // Weights as pack_weight leaves them (kernels/ops/matmul/spec.ts).
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
  /** Row of the branch cache that a branch's new key and value are written to. */
  cacheRow: Tensor; // u32 [count]
  /** As in attention_decode; `length` counts the new row. */
  branches: Tensor; // u32 [count, BRANCH.columns]
  prefixK: Tensor; // [promptRows, kvHeads·headDim]
  /**
   * The keys of prompts once more, as pack_weight leaves them: a device may read them in place of prefixK. Prompts
   * then begin at multiples of PANEL (kernels/ops/matmul/spec.ts).
   */
  packedPrefixK?: Tensor; // [packedLength(promptRows, kvHeads·headDim)]
  prefixV: Tensor; // [promptRows, kvHeads·headDim]
  branchK: Tensor; // [slots, maxNew, kvHeads·headDim], one row per branch overwritten
  branchV: Tensor; // [slots, maxNew, kvHeads·headDim], one row per branch overwritten
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

/** Most rows of a share: their activations stay in a core's own cache. */
const MOST_ROWS = 64;

/** Rows that a thread of a CPU takes through the layer at once, one such run of them behind the other. */
export function shareOfRows(count: number, threads: number): number {
  const shares = threads * Math.ceil(count / (threads * MOST_ROWS));
  return Math.ceil(count / Math.max(1, shares));
}

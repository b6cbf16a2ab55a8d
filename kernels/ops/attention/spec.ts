/**
 * Causal attention over the packed group batch (rows = prompt₀ · branch₀₀ · branch₀₁ … · prompt₁ …).
 * Row i of segment s attends to A(i) = [prefixBegin, prefixEnd) ∪ [begin, i]; query head h uses key
 * head ⌊h/(heads/kvHeads)⌋. Scores S_ij = scale·q_i·k_j; out = softmax(S)·v; lse = log Σ e^S.
 * Backward (S recomputed): δ_i = dout_i·out_i; P_ij = e^(S_ij − lse_i); dS_ij = P_ij·(dout_i·v_j − δ_i);
 *   dq_i = scale·Σ_j dS_ij·k_j; dk_j = scale·Σ_{i: j∈A(i)} dS_ij·q_i; dv_j = Σ P_ij·dout_i, where the
 *   rows i of a prompt key are its own segment's rows ≥ j and all rows of the group's branches.
 * With a window w a row attends to the last w positions of its sequence only, its own included: of A(i) the part
 * [i − w + 1, i] of its segment and of its prefix the last w − (i − begin + 1) rows, where that is positive.
 * Keys may lie apart from the rows (forward only, without a window): `keys` then says which rows of k and v are a
 * segment's own. There may be more of them than it has rows: keys that were there before, which all its rows see.
 * No [rows, rows] matrix ever exists.
 */
import type { Tensor } from "../../tensor.ts";

/** u32 columns of the segment table. A prompt's prefix is empty (prefixBegin = prefixEnd = begin). */
export const SEGMENT = {
  begin: 0,
  end: 1,
  prefixBegin: 2,
  prefixEnd: 3,
  /** One past the last row that may attend to this segment: the group's end for a prompt, `end` for a branch. */
  groupEnd: 4,
  columns: 5,
} as const;

export interface AttentionArgs {
  q: Tensor; // [rows, heads·headDim], after RoPE
  k: Tensor; // [rows, kvHeads·headDim]
  v: Tensor; // [rows, kvHeads·headDim]
  out: Tensor; // [rows, heads·headDim]
  lse: Tensor; // [rows, heads]
  segments: Tensor; // u32 [segmentCount, SEGMENT.columns], in row order, covering all rows; empty segments allowed
  rowSegment: Tensor; // u32 [rows]
  segmentCount: number;
  rows: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  scale: number;
  /** At least 1; absent = all. */
  window?: number;
}

export interface AttentionForwardArgs extends AttentionArgs {
  /**
   * Rows [begin, end) of k and v that the last row of each segment sees of its own segment, the row before it up to
   * end − 1 and so on; prefixes are rows of k and v, too. Absent = those of the segment.
   */
  keys?: Tensor; // u32 [segmentCount, 2]
}

export interface AttentionBackwardArgs extends AttentionArgs {
  dout: Tensor; // [rows, heads·headDim]
  dq: Tensor; // [rows, heads·headDim], overwritten
  dk: Tensor; // [rows, kvHeads·headDim], overwritten
  dv: Tensor; // [rows, kvHeads·headDim], overwritten
}

/**
 * Causal attention over a packed batch of groups. A group is a prompt and its branches
 * (completions), each of which is a segment of neighbouring rows: prompt₀, branch₀₀, branch₀₁ …,
 * prompt₁ …
 *
 * Forward: row i of a segment attends to A(i) = [prefixBegin, prefixEnd) ∪ [begin, i]. The prefix
 * of a branch is its prompt. Query head h uses key head ⌊h/(heads/kvHeads)⌋.
 *   S_ij = scale·q_i·k_j;  out = softmax(S)·v;  lse = log Σ e^S
 * With a soft cap c the scores are c·tanh(S/c) (Gemma 2), and dS below gets the factor 1 − (S/c)².
 * Backward (S is computed again):
 *   δ_i = dout_i·out_i;  P_ij = e^(S_ij − lse_i);  dS_ij = P_ij·(dout_i·v_j − δ_i);
 *   dq_i = scale·Σ_j dS_ij·k_j;  dk_j = scale·Σ_{i: j∈A(i)} dS_ij·q_i;
 *   dv_j = Σ_{i: j∈A(i)} P_ij·dout_i
 * The rows i that attend to key j of a prompt are the rows ≥ j of the prompt and all rows of its
 * branches.
 *
 * With a window w a row attends only to the last w positions of its sequence, itself included: to
 * [i − w + 1, i] within its segment, and to the last w − (i − begin + 1) rows of its prefix, where
 * that number is positive.
 *
 * In the forward without a window, the keys may be stored apart from the rows. `keys` then gives
 * the rows of k and v that belong to each segment. A segment may have more keys than rows: the
 * first ones are keys of earlier positions, which all its rows attend to.
 *
 * With sinks (gpt-oss) each query head also attends to a key without a value, whose score is its
 * sink: e^sink is added to the sum of the softmax, so lse has it too. Nothing else of the backward
 * changes; `sinks_backward` adds dsink_h = −Σ_i e^(sink_h − lse_i)·δ_i.
 *
 * No [rows, rows] matrix is ever stored.
 */
import type { Tensor } from "../../tensor.ts";

/**
 * u32 columns of the segment table. The prefix of a prompt is empty: it begins and ends at begin.
 */
export const SEGMENT = {
  begin: 0,
  end: 1,
  prefixBegin: 2,
  prefixEnd: 3,
  /** End of the rows that may attend to this segment: of a prompt the group's end, else `end`. */
  groupEnd: 4,
  columns: 5,
} as const;

export interface AttentionArgs {
  q: Tensor; // [rows, heads·headDim], after RoPE
  k: Tensor; // [rows, kvHeads·headDim]
  v: Tensor; // [rows, kvHeads·headDim]
  out: Tensor; // [rows, heads·headDim]
  lse: Tensor; // [rows, heads]
  /** In the order of the rows, which they cover; segments may be empty. */
  segments: Tensor; // u32 [segmentCount, SEGMENT.columns]
  rowSegment: Tensor; // u32 [rows]
  segmentCount: number;
  rows: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  scale: number;
  /** Soft cap of the scores, above 0; absent = none. */
  softCap?: number;
  /** Number of positions that a row attends to, at least 1; absent = all. */
  window?: number;
}

export interface AttentionForwardArgs extends AttentionArgs {
  /**
   * Rows [begin, end) of k and v that are each segment's keys. The last row of the segment attends
   * to all of them, the row before it to those before end − 1, and so on. Prefixes are rows of k
   * and v, too. Absent = the keys are the segment's rows.
   */
  keys?: Tensor; // u32 [segmentCount, 2]
  /** Absent = none. */
  sinks?: Tensor; // [heads]
}

export interface SinksBackwardArgs {
  dout: Tensor; // [rows, heads·headDim]
  out: Tensor; // [rows, heads·headDim]
  lse: Tensor; // [rows, heads]
  sinks: Tensor; // [heads]
  dsinks: Tensor; // [heads], increased
  rows: number;
  heads: number;
  headDim: number;
}

export interface AttentionBackwardArgs extends AttentionArgs {
  dout: Tensor; // [rows, heads·headDim]
  dq: Tensor; // [rows, heads·headDim], overwritten
  dk: Tensor; // [rows, kvHeads·headDim], overwritten
  dv: Tensor; // [rows, kvHeads·headDim], overwritten
}

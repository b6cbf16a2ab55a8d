/**
 * Operations that move whole rows: embedding look-up, writes to the KV cache, and the gradient of
 * an embedding.
 * - gather_rows: out[r] = table[index[r]]. Both are floats or both are u32, or the table is a
 *   stored weight (kernels/weights/types.ts) and `out` floats.
 * - scatter_rows: table[index[r]] = src[r]. The indices are distinct. Both are floats or both are
 *   u32.
 * - scatter_add_rows: table[target[u]] += Σ src[order[i]] for i in [runs[u], runs[u+1]). The rows
 *   of a run are summed in that order and then added once. The host sorts the rows by their target,
 *   so the sum has a fixed order and needs no atomics.
 */
import type { Tensor } from "../../tensor.ts";
import type { WeightType } from "../../weights/types.ts";

export interface GatherRowsArgs {
  table: Tensor; // [*, d]
  /** The table is a u32 tensor with a weight [*, d] in this type; d is a multiple of its block. */
  weightType?: WeightType;
  index: Tensor; // u32 [rows]
  out: Tensor; // [rows, d]
  rows: number;
  d: number;
}

export interface ScatterRowsArgs {
  src: Tensor; // [rows, d]
  index: Tensor; // u32 [rows]
  table: Tensor; // [*, d]
  rows: number;
  d: number;
  /**
   * Rounds `src` to bfloat16 (nearest, ties to even): the table is u32 [*, d / 2], with two of them
   * in a word. Only on a CPU.
   */
  bf16?: boolean;
}

export interface ScatterAddRowsArgs {
  src: Tensor; // [*, d]
  order: Tensor; // u32 [entries]
  runs: Tensor; // u32 [runCount + 1]
  target: Tensor; // u32 [runCount], distinct
  table: Tensor; // [*, d], increased
  runCount: number;
  d: number;
}

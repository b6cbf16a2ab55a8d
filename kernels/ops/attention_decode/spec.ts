/**
 * Attention of one new query per branch while generating. The keys and values of a prompt are
 * stored once for its group: the packed prompt rows of the prefill. Those of a branch are stored in
 * its slot of the KV cache. Query b attends to the prompt rows [prefixBegin, prefixEnd) and to the
 * first `length` positions of its slot; the newest one, which is already written, is included. With
 * a window it attends only to the last `window` positions of its slot; the caller shortens the
 * prefix to what the window reaches. Scores and softmax are those of `attention`.
 */
import type { Tensor } from "../../tensor.ts";

/**
 * u32 columns of the branch table. The `sharedRows` rows from `sharedBegin` on hold the same keys
 * and values as those from prefixBegin on (0 rows: no such rows are known). A device may read them
 * instead: they are in its caches if other branches name the same rows.
 */
export const BRANCH = {
  prefixBegin: 0,
  prefixEnd: 1,
  slot: 2,
  length: 3,
  sharedBegin: 4,
  sharedRows: 5,
  columns: 6,
} as const;

export interface AttentionDecodeArgs {
  q: Tensor; // [count, heads·headDim]
  prefixK: Tensor; // [promptRows, kvHeads·headDim]
  prefixV: Tensor; // [promptRows, kvHeads·headDim]
  branchK: Tensor; // [slots, maxNew, kvHeads·headDim]
  branchV: Tensor; // [slots, maxNew, kvHeads·headDim]
  out: Tensor; // [count, heads·headDim]
  branches: Tensor; // u32 [count, BRANCH.columns]
  count: number;
  maxNew: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  scale: number;
  /** As in `attention`. */
  softCap?: number;
  /** Number of positions of its slot that a query attends to, at least 1; absent = all. */
  window?: number;
  /** As in `attention`. */
  sinks?: Tensor; // [heads]
  /** Keys and values are bfloat16, in u32 tensors with two of them in a word. Only on a CPU. */
  bf16?: boolean;
}

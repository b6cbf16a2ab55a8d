/**
 * Attention of one new query per branch while generating. The keys and values of a prompt are stored
 * once per group (the packed prompt rows of the prefill), those of a branch in its own slot of a cache:
 * query b attends to prompt rows [prefixBegin, prefixEnd) and to its slot's first `length` positions
 * (the newest one, already written, included), with a window to the last `window` of them; the caller leaves out
 * of the prefix what a window does not reach. Same scores and softmax as `attention`.
 */
import type { Tensor } from "../../tensor.ts";

/**
 * u32 columns of the branch table. From row `alikeBegin` on stand the same keys and values as from prefixBegin on,
 * `alikeRows` of them (0 = nothing is known): a device may read those, and finds them in its caches where other
 * branches name the same.
 */
export const BRANCH = {
  prefixBegin: 0,
  prefixEnd: 1,
  slot: 2,
  length: 3,
  alikeBegin: 4,
  alikeRows: 5,
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
  /** At least 1; absent = all. */
  window?: number;
}

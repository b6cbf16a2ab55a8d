/**
 * Dropout of a LoRA adapter's input, y = W·x + s·B·(A·dropout(x)), like PEFT's `lora_dropout`.
 * Every module of every layer has its own masks. Masks are computed from counters
 * (kernels/ops/dropout/spec.ts) wherever they are needed, in the forward, its recomputation and the
 * backward, and are never stored.
 *
 * A row is identified by its prompt's number in the run, its branch and its position. So a mask
 * does not depend on how a step is split into micro-batches, on the number of threads, or on a
 * resume. The rows of a prompt exist once for all branches of a group, and all parts of a split
 * group use the same mask for them: that of branch 0, whose own rows have later positions. Trainers
 * that copy the prompt for each completion have separate masks for each copy; the expectation is
 * the same.
 */
import { RgxError } from "../../core/errors.ts";
import { dropoutCounter, seedWords } from "../../core/philox.ts";
import type { Device } from "../../kernels/device.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import type { DropoutKey, Group } from "./types.ts";
import type { Workspace } from "./workspace.ts";

export interface DropoutShape {
  p: number;
  /** Width of the widest input of a module with an adapter. */
  width: number;
}

export interface AdapterDropout {
  p: number;
  seedLow: number;
  seedHigh: number;
  keys: Tensor; // u32 [rows, 3]
  /** The same keys on the host. */
  rowKeys: Uint32Array;
  scratch: Tensor; // [rows, width]
}

/** Counter words c1, c2, c3 of packed rows: [rows, 3]. @throws RgxError without promptId */
export function dropoutKeys(groups: readonly Group[], rows: number, pass: number): Uint32Array {
  const keys = new Uint32Array(3 * rows);
  let row = 0;
  groups.forEach(({ promptIds, branches, promptId, firstBranch = 0 }, g) => {
    if (promptId === undefined) {
      throw new RgxError(`group ${g}: no promptId, which the masks of lora_dropout depend on`);
    }
    const add = (branch: number, position: number) =>
      keys.set(dropoutCounter(pass, promptId, branch, position), 3 * row++);
    for (let i = 0; i < promptIds.length; i++) add(0, i);
    branches.forEach((branch, b) => {
      // The last token of a branch has no row.
      for (let i = 0; i + 1 < branch.length; i++) add(firstBranch + b, promptIds.length + i);
    });
  });
  return keys;
}

/** Uploads the counters of a batch's masks. @throws RgxError when a group has no promptId */
export function adapterDropout(
  workspace: Workspace,
  { p, width }: DropoutShape,
  groups: readonly Group[],
  rows: number,
  { seed, pass }: DropoutKey,
): AdapterDropout {
  const [seedLow, seedHigh] = seedWords(seed), rowKeys = dropoutKeys(groups, rows, pass);
  return {
    p,
    seedLow,
    seedHigh,
    keys: workspace.upload("dropout.keys", rowKeys),
    rowKeys,
    scratch: workspace.get("dropped", rows * width),
  };
}

/** The same masks for some of the rows, given by index, in that order. */
export function dropoutOfRows(
  workspace: Workspace,
  dropout: AdapterDropout,
  index: Uint32Array,
): AdapterDropout {
  const rowKeys = new Uint32Array(3 * index.length);
  index.forEach((row, i) => {
    rowKeys.set(dropout.rowKeys.subarray(3 * row, 3 * row + 3), 3 * i);
  });
  return { ...dropout, rowKeys, keys: workspace.upload("head.dropout_keys", rowKeys) };
}

/** out[rows, d] = dropout(x), or += with `accumulate`; of derivatives it is the gradient. */
export function dropOut(
  device: Device,
  { p, seedLow, seedHigh, keys }: AdapterDropout,
  args: { x: Tensor; out: Tensor; rows: number; d: number; site: number; accumulate?: boolean },
): void {
  device.run("dropout", { ...args, keys, p, seedLow, seedHigh });
}

/** Cutting tensors that are longer than one binding into views that fit. */
import { type Tensor, VIEW_ALIGNMENT } from "../device.ts";
import type { WebgpuContext } from "./webgpu_op.ts";

/** Calls `each` for parts of [0, n) that fit one binding. */
export function inParts(
  { limits }: WebgpuContext,
  n: number,
  each: (part: (tensor: Tensor) => Tensor, count: number) => void,
): void {
  if (n <= limits.bindingElements) {
    each((tensor) => fitting(tensor, n, limits.bindingElements), n);
    return;
  }
  for (let begin = 0; begin < n; begin += limits.bindingElements) {
    const count = Math.min(limits.bindingElements, n - begin);
    each((tensor) => tensor.view(begin, count), count);
  }
}

/**
 * Calls `each` for parts of `rows` rows whose `width` elements fit one binding: `part(tensor, w)` is the part of a
 * tensor of w elements a row, w ≤ width. A part begins at a multiple of 64 rows, so that views are aligned.
 */
export function inRowParts(
  { limits }: WebgpuContext,
  rows: number,
  width: number,
  each: (part: (tensor: Tensor, w: number) => Tensor, rows: number, begin: number) => void,
): void {
  const most = Math.floor(limits.bindingElements / Math.max(width, 1));
  if (rows <= most) {
    each((tensor, w) => fitting(tensor, rows * w, limits.bindingElements), rows, 0);
    return;
  }
  const size = Math.max(1, Math.floor(most / VIEW_ALIGNMENT)) * VIEW_ALIGNMENT;
  for (let begin = 0; begin < rows; begin += size) {
    const count = Math.min(size, rows - begin);
    each((tensor, w) => tensor.view(begin * w, count * w), count, begin);
  }
}

/** A tensor with room to spare may be longer than a binding although its first `n` elements are not. */
export function fitting(tensor: Tensor, n: number, bindingElements: number): Tensor {
  return tensor.length <= bindingElements ? tensor : tensor.view(0, n);
}

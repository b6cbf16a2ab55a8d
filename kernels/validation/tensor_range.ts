/** Range checks for views, writes and reads of tensors, shared by the wasm and webgpu devices. */
import { type Tensor, VIEW_ALIGNMENT } from "../tensor.ts";

/**
 * @throws RangeError unless elements [offset, offset + length) are inside and aligned for a view
 */
export function checkView(tensor: Tensor, offset: number, length: number): void {
  if (isInside(tensor, offset, length) && offset % VIEW_ALIGNMENT === 0) return;
  throw new RangeError(
    `view [${offset}, ${offset + length}) of "${tensor.label}" (${tensor.length} elements): ` +
      `it must lie inside and begin at a multiple of ${VIEW_ALIGNMENT}`,
  );
}

/** @throws RangeError unless elements [offset, offset + length) are inside the tensor */
export function checkRange(tensor: Tensor, offset: number, length: number, what: string): void {
  if (isInside(tensor, offset, length)) return;
  throw new RangeError(
    `${what} of [${offset}, ${offset + length}) in "${tensor.label}" (${tensor.length} elements)`,
  );
}

function isInside(tensor: Tensor, offset: number, length: number): boolean {
  return Number.isInteger(offset) && Number.isInteger(length) && offset >= 0 && length >= 0 &&
    offset + length <= tensor.length;
}

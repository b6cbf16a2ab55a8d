/** What views, writes and reads may reach of a tensor, the same on every device whose tensors are not plain arrays. */
import { type Tensor, VIEW_ALIGNMENT } from "../tensor.ts";

/** @throws RangeError unless elements [offset, offset + length) are a view's: inside, and aligned. */
export function checkView(tensor: Tensor, offset: number, length: number): void {
  if (isInside(tensor, offset, length) && offset % VIEW_ALIGNMENT === 0) return;
  throw new RangeError(
    `view [${offset}, ${offset + length}) of "${tensor.label}" (${tensor.length} elements): ` +
      `it must lie inside and begin at a multiple of ${VIEW_ALIGNMENT}`,
  );
}

/** @throws RangeError unless elements [offset, offset + length) lie inside. */
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

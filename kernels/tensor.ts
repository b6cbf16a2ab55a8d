/**
 * The interface of tensors: flat blocks of elements whose content only their device can access, and
 * the checks of ranges in them. This file imports nothing, so operations and devices can import
 * it.
 */

/**
 * Element types. `float` is the precision of the device: f32, or f64 on a reference device for
 * gradient checks. Weights in a storage type (weights/types.ts) are u32.
 */
export type DType = "float" | "u32";

/** Arrays of the host that can be written to a device and read from it. */
export type HostArray = Float32Array | Float64Array | Uint32Array;

/** Views of tensors begin at multiples of this many elements: 256 bytes, required by WebGPU. */
export const VIEW_ALIGNMENT = 64;

/** A block of device memory, or a view of a part of one. Its content is read through the device. */
export interface Tensor {
  /** The device that the tensor belongs to. */
  readonly device: { readonly name: string };
  readonly dtype: DType;
  /** Number of elements. */
  readonly length: number;
  /** The name in messages and memory reports: "layers.0.mlp.gate". */
  readonly label: string;
  /**
   * The identity of the memory block, and the first element in it. Only validation/validate.ts uses
   * them, to detect overlaps. Without them, a tensor is only known to overlap itself.
   */
  readonly storage?: object;
  readonly offset?: number;
  /**
   * A tensor for elements [offset, offset + length), with the same memory and lifetime as this one.
   * @throws RangeError when the offset is no multiple of {@link VIEW_ALIGNMENT} or the range is not
   *   inside the tensor
   */
  view(offset: number, length: number): Tensor;
}

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

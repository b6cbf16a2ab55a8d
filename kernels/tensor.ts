/**
 * The interface of tensors: flat blocks of elements whose content only their device can access.
 * This file imports nothing, so both operations and devices can import it.
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

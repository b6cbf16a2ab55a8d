/**
 * Tensors as everything above the devices sees them: flat blocks of elements whose content only their device
 * can reach. This file imports nothing, so that operations and devices can both stand on it.
 */

/**
 * Element types. `float` is the device's working precision: f32, or f64 on a reference device made
 * for gradient checks. Weights in a storage type are u32 (weights/types.ts).
 */
export type DType = "float" | "u32";

/** Host-side arrays that can be written to, and come back from, a device. */
export type HostArray = Float32Array | Float64Array | Uint32Array;

/** Views of tensors begin at multiples of this many elements (256 bytes, WebGPU's binding rule). */
export const VIEW_ALIGNMENT = 64;

/** A block of device memory, or a view of a part of one. Opaque: read it through its device. */
export interface Tensor {
  /** The device that it belongs to. */
  readonly device: { readonly name: string };
  readonly dtype: DType;
  /** Number of elements. */
  readonly length: number;
  /** What it is, for messages and memory reports: "layers.0.mlp.gate". */
  readonly label: string;
  /**
   * Identity of the memory block and the first element in it, for `validate.ts` to see overlaps;
   * of no other use. Without them only one and the same tensor is known to overlap itself.
   */
  readonly storage?: object;
  readonly offset?: number;
  /**
   * Elements [offset, offset + length) of this tensor, sharing its memory and its lifetime.
   * @throws RangeError when the offset is no multiple of {@link VIEW_ALIGNMENT} or the range leaves the tensor.
   */
  view(offset: number, length: number): Tensor;
}

/**
 * Tensors of the reference device: typed arrays with checks that a real device cannot afford
 * everywhere, such as use after free. The reference operations read and write them through
 * {@link floats} and {@link words}.
 */
import { RgxError } from "../../../core/errors.ts";

import { checkView, type DType, type Tensor } from "../../tensor.ts";

export type FloatArray = Float32Array | Float64Array;
export type ReferenceArray = FloatArray | Uint32Array;

/** One allocation. All views of a tensor share it, so that all of them know when it was freed. */
export interface Storage {
  freed: boolean;
  readonly bytes: number;
}

export class ReferenceTensor implements Tensor {
  readonly length: number;
  constructor(
    readonly device: Tensor["device"],
    readonly dtype: DType,
    readonly label: string,
    readonly storage: Storage,
    /** Index of the first element within the allocation. */
    readonly offset: number,
    private readonly array: ReferenceArray,
    readonly isView: boolean,
  ) {
    this.length = array.length;
  }

  /** The elements. @throws RgxError after `free` or `close`. */
  get data(): ReferenceArray {
    if (this.storage.freed) {
      throw new RgxError(`tensor "${this.label}" is used after it was freed`);
    }
    return this.array;
  }

  view(offset: number, length: number): ReferenceTensor {
    checkView(this, offset, length);
    return new ReferenceTensor(
      this.device,
      this.dtype,
      this.label,
      this.storage,
      this.offset + offset,
      this.data.subarray(offset, offset + length),
      true,
    );
  }
}

/** The elements of a float tensor of a reference device. */
export function floats(tensor: Tensor): FloatArray {
  const data = (tensor as ReferenceTensor).data;
  if (data instanceof Uint32Array) throw new TypeError(`"${tensor.label}" holds u32, not floats`);
  return data;
}

/** The elements of a u32 tensor of a reference device. */
export function words(tensor: Tensor): Uint32Array {
  const data = (tensor as ReferenceTensor).data;
  if (!(data instanceof Uint32Array)) {
    throw new TypeError(`"${tensor.label}" holds floats, not u32`);
  }
  return data;
}

/** Tensors of the WebGPU device: a range of a buffer of the pool. */
import type { Device } from "../../device.ts";
import type { DType, Tensor } from "../../tensor.ts";
import { checkView } from "../../validation/tensor_range.ts";

/** A GPU buffer of the pool. */
export interface PooledBuffer {
  readonly gpu: GPUBuffer;
  /** Bytes, a size class. */
  readonly bytes: number;
  /** Number that no other buffer of this device has; part of keys. */
  readonly id: number;
  /** Recording in which a command used it last; writes to it must come after that. */
  usedIn: number;
}

/** One allocation; views share it. */
export interface Block {
  readonly buffer: PooledBuffer;
  freed: boolean;
  /** Holds an earlier tensor's contents, to be cleared before anybody sees them. */
  stale: boolean;
}

export class WebgpuTensor implements Tensor {
  constructor(
    readonly device: Device,
    readonly dtype: DType,
    readonly block: Block,
    readonly offset: number,
    readonly length: number,
    readonly label: string,
    readonly isView: boolean,
  ) {}

  get storage(): object {
    return this.block;
  }

  view(offset: number, length: number): Tensor {
    checkView(this, offset, length);
    const { device, dtype, block, label } = this;
    return new WebgpuTensor(device, dtype, block, this.offset + offset, length, label, true);
  }
}

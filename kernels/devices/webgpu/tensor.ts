/** Tensors of the WebGPU device: each is a range of a buffer of the pool. */
import type { GpuBuffer } from "./gpu.ts";
import type { Device } from "../../device.ts";
import { checkView, type DType, type HostArray, type Tensor } from "../../tensor.ts";

/** A GPU buffer of the pool. */
export interface PooledBuffer {
  readonly gpu: GpuBuffer;
  /** Size in bytes, a size class. */
  readonly bytes: number;
  /** A number that is unique on this device, for keys. */
  readonly id: number;
  /** The last recording with a command that uses the buffer. Host writes must come after it. */
  usedIn: number;
}

/** The memory of one tensor, which its views share. */
export interface Block {
  readonly buffer: PooledBuffer;
  freed: boolean;
  /** Whether it contains data of an earlier tensor behind `filled`, to be cleared before use. */
  stale: boolean;
  /** Number of elements that the host has written one after the other, from the first one on. */
  filled: number;
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

  /** An array of the tensor's type. */
  zeros(length: number): HostArray {
    return this.dtype === "u32" ? new Uint32Array(length) : new Float32Array(length);
  }

  /** The elements in bytes that were read. */
  values(bytes: ArrayBuffer): HostArray {
    return this.dtype === "u32" ? new Uint32Array(bytes) : new Float32Array(bytes);
  }

  get storage(): object {
    return this.block;
  }

  view(offset: number, length: number): Tensor {
    checkView(this, offset, length);
    const { device, dtype, block, label } = this;
    return new WebgpuTensor(device, dtype, block, this.offset + offset, length, label, true);
  }
}

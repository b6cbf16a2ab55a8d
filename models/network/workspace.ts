/**
 * Named scratch tensors that live as long as their model and are reused by every step. A buffer
 * grows when a batch is larger than any before and never shrinks, so memory stays constant over
 * thousands of steps with varying numbers of rows. Lifetimes are not tracked: two buffers that are
 * in use at the same time need two names.
 */
import type { Device } from "../../kernels/device.ts";
import { type DType, type Tensor, VIEW_ALIGNMENT } from "../../kernels/tensor.ts";

/** An eighth more than a length, so that slowly growing batches do not reallocate each time. */
function bufferCapacity(length: number): number {
  const wanted = Math.max(1, Math.ceil(length * 1.125));
  return Math.ceil(wanted / VIEW_ALIGNMENT) * VIEW_ALIGNMENT;
}

export function floatBytes(device: Pick<Device, "float">): number {
  return device.float === "f64" ? 8 : 4;
}

export class Workspace {
  readonly #buffers = new Map<string, Tensor>();

  /** `owner` is put before the names in messages and memory reports. */
  constructor(readonly device: Device, readonly owner: string) {}

  /** The buffer `name` of at least `length` elements; asking for more may drop its content. */
  get(name: string, length: number, dtype: DType = "float"): Tensor {
    return this.#take(name, length, bufferCapacity(length), dtype);
  }

  /** `get` for a buffer whose length never changes, as a weight's copy: without spare capacity. */
  fixed(name: string, length: number, dtype: DType = "float"): Tensor {
    return this.#take(name, length, length, dtype);
  }

  #take(name: string, length: number, capacity: number, dtype: DType): Tensor {
    const existing = this.#buffers.get(name);
    if (existing !== undefined && existing.length >= length) return existing;
    if (existing !== undefined) this.device.free(existing);
    this.#buffers.delete(name);
    const tensor = this.device.create(dtype, capacity, `${this.owner}.${name}`);
    this.#buffers.set(name, tensor);
    return tensor;
  }

  /** Whether `get` would return the buffer that there is. */
  has(name: string, length: number): boolean {
    return (this.#buffers.get(name)?.length ?? -1) >= length;
  }

  drop(prefix: string): void {
    for (const [name, tensor] of this.#buffers) {
      if (!name.startsWith(prefix)) continue;
      this.device.free(tensor);
      this.#buffers.delete(name);
    }
  }

  /** The u32 buffer `name`, filled with `data`. */
  upload(name: string, data: Uint32Array): Tensor {
    const tensor = this.get(name, data.length, "u32");
    if (data.length > 0) this.device.write(tensor, data);
    return tensor;
  }

  /** The float buffer `name`, filled with `data` in the device's precision. */
  uploadFloats(name: string, data: Float32Array | Float64Array): Tensor {
    const tensor = this.get(name, data.length);
    if (data.length > 0) this.device.write(tensor, toDevicePrecision(this.device, data));
    return tensor;
  }

  dispose(): void {
    this.drop("");
  }
}

/** Host floats in the device's precision; the same array if it has that precision already. */
export function toDevicePrecision(
  device: Device,
  data: Float32Array | Float64Array,
): Float32Array | Float64Array {
  if (device.float === "f32") {
    return data instanceof Float32Array ? data : Float32Array.from(data);
  }
  return data instanceof Float64Array ? data : Float64Array.from(data);
}

/**
 * Copies data from the GPU to the host through mappable buffers, which are kept for later copies.
 * `mapsAtOnce` in quirks.ts explains why `mapAsync` is only awaited for a buffer's first mapping.
 */
import type { Gpu, GpuBuffer } from "./gpu.ts";
import { mapsAtOnce } from "./quirks.ts";

/** Maximum bytes of one copy; longer ranges are read in parts. */
const MAX_COPY_BYTES = 64 * 2 ** 20;
const MIN_BUFFER_BYTES = 4096;

export class Readback {
  readonly #device: Gpu;
  readonly #idle = new Map<number, GpuBuffer[]>();
  readonly #mapsAtOnce = mapsAtOnce();

  constructor(device: Gpu) {
    this.#device = device;
  }

  /**
   * Reads bytes [offset, offset + length) of a buffer, after all submitted commands.
   * `offset` and `length` are multiples of 4.
   */
  async read(source: GpuBuffer, offset: number, length: number): Promise<ArrayBuffer> {
    const result = new Uint8Array(length);
    for (let done = 0; done < length; done += MAX_COPY_BYTES) {
      const part = Math.min(MAX_COPY_BYTES, length - done);
      result.set(await this.#part(source, offset + done, part), done);
    }
    return result.buffer;
  }

  async #part(source: GpuBuffer, offset: number, bytes: number): Promise<Uint8Array> {
    const size = Math.max(MIN_BUFFER_BYTES, 2 ** Math.ceil(Math.log2(bytes)));
    const staging = this.#idle.get(size)?.pop() ?? await this.#create(size);
    const encoder = this.#device.createCommandEncoder();
    encoder.copyBufferToBuffer(source, offset, staging, 0, bytes);
    this.#device.queue.submit([encoder.finish()]);
    const mapped = staging.mapAsync(GPUMapMode.READ);
    if (this.#mapsAtOnce) mapped.catch(() => {});
    else await mapped;
    const copy = new Uint8Array(staging.getMappedRange(0, bytes).slice(0));
    staging.unmap();
    const list = this.#idle.get(size);
    if (list === undefined) this.#idle.set(size, [staging]);
    else list.push(staging);
    return copy;
  }

  async #create(size: number): Promise<GpuBuffer> {
    const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
    const buffer = this.#device.createBuffer({ size, usage, label: "readback" });
    // The first mapping must be awaited, else `getMappedRange` would abort the process.
    await buffer.mapAsync(GPUMapMode.READ);
    buffer.unmap();
    return buffer;
  }

  close(): void {
    for (const list of this.#idle.values()) for (const buffer of list) buffer.destroy();
    this.#idle.clear();
  }
}

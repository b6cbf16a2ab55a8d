/**
 * Copies data from the GPU to the host through mappable buffers, which are kept for later copies.
 * `mapsAtOnce` in quirks.ts explains why `mapAsync` is only awaited for a buffer's first mapping.
 */
import type { Gpu, GpuBuffer } from "./gpu.ts";
import { mapsAtOnce } from "./quirks.ts";

/**
 * Maximum bytes of one copy; longer ranges are read in parts. While the host reads a part, the card
 * copies the next one.
 */
const MAX_COPY_BYTES = 16 * 2 ** 20;
const MIN_BUFFER_BYTES = 4096;

/** A mappable buffer of `size` bytes for a copy of `bytes`. */
export interface Staging {
  readonly buffer: GpuBuffer;
  readonly size: number;
  readonly bytes: number;
}

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
    const begin = async (done: number) => {
      const bytes = Math.min(MAX_COPY_BYTES, length - done);
      const finish = this.begin(source, offset + done, await this.staging(bytes));
      return () => finish(result.subarray(done, done + bytes));
    };
    let finish = await begin(0);
    for (let next = MAX_COPY_BYTES; next < length; next += MAX_COPY_BYTES) {
      const later = await begin(next);
      await finish();
      finish = later;
    }
    await finish();
    return result.buffer;
  }

  /** An idle buffer for a copy of `bytes` bytes. */
  async staging(bytes: number): Promise<Staging> {
    const size = Math.max(MIN_BUFFER_BYTES, 2 ** Math.ceil(Math.log2(bytes)));
    return { buffer: this.#idle.get(size)?.pop() ?? await this.#create(size), size, bytes };
  }

  /**
   * Submits a copy from byte `offset` of `source` on. What it returns waits for it, and for
   * everything else that was submitted until then: Deno's `mapAsync` waits for the whole queue. It
   * gives the bytes, in the array that it is given or in one of its own.
   */
  begin(
    source: GpuBuffer,
    offset: number,
    { buffer: staging, size, bytes }: Staging,
  ): (to?: Uint8Array<ArrayBuffer>) => Promise<Uint8Array<ArrayBuffer>> {
    const encoder = this.#device.createCommandEncoder();
    encoder.copyBufferToBuffer(source, offset, staging, 0, bytes);
    this.#device.queue.submit([encoder.finish()]);
    return async (to = new Uint8Array(bytes)) => {
      const mapped = staging.mapAsync(GPUMapMode.READ);
      if (this.#mapsAtOnce) mapped.catch(() => {});
      else await mapped;
      if (staging.copyMapped !== undefined) staging.copyMapped(to);
      else to.set(new Uint8Array(staging.getMappedRange(0, bytes)));
      staging.unmap();
      const list = this.#idle.get(size);
      if (list === undefined) this.#idle.set(size, [staging]);
      else list.push(staging);
      return to;
    };
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

/**
 * Copies from the device to the host. A few mappable buffers are kept; see `quirks.ts` for why the promise of
 * `mapAsync` is awaited only at a buffer's first mapping.
 */
import { mapsAtOnce } from "./quirks.ts";

/** Most bytes of one copy; longer ranges are read in parts. */
const LARGEST = 64 * 2 ** 20;
const SMALLEST = 4096;

export class Readback {
  readonly #device: GPUDevice;
  readonly #idle = new Map<number, GPUBuffer[]>();
  readonly #atOnce = mapsAtOnce();

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** Bytes [offset, offset + length) of a buffer, after everything submitted before; multiples of 4. */
  async read(source: GPUBuffer, offset: number, length: number): Promise<ArrayBuffer> {
    const result = new Uint8Array(length);
    for (let done = 0; done < length; done += LARGEST) {
      const part = Math.min(LARGEST, length - done);
      result.set(await this.#part(source, offset + done, part), done);
    }
    return result.buffer;
  }

  async #part(source: GPUBuffer, offset: number, bytes: number): Promise<Uint8Array> {
    const size = Math.max(SMALLEST, 2 ** Math.ceil(Math.log2(bytes)));
    const staging = this.#idle.get(size)?.pop() ?? await this.#create(size);
    const encoder = this.#device.createCommandEncoder();
    encoder.copyBufferToBuffer(source, offset, staging, 0, bytes);
    this.#device.queue.submit([encoder.finish()]);
    const mapped = staging.mapAsync(GPUMapMode.READ);
    if (this.#atOnce) mapped.catch(() => {});
    else await mapped;
    const copy = new Uint8Array(staging.getMappedRange(0, bytes).slice(0));
    staging.unmap();
    const list = this.#idle.get(size);
    if (list === undefined) this.#idle.set(size, [staging]);
    else list.push(staging);
    return copy;
  }

  async #create(size: number): Promise<GPUBuffer> {
    const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
    const buffer = this.#device.createBuffer({ size, usage, label: "readback" });
    // The first mapping must be awaited: `getMappedRange` before a completed one aborts the process.
    await buffer.mapAsync(GPUMapMode.READ);
    buffer.unmap();
    return buffer;
  }

  close(): void {
    for (const list of this.#idle.values()) for (const buffer of list) buffer.destroy();
    this.#idle.clear();
  }
}

/**
 * What the host reads of tensors: at once, or later, while the card goes on. An error of a read is
 * explained by what the device reports meanwhile. Data is copied through mappable buffers, which
 * are kept for later copies. `mapsAtOnce` in quirks.ts explains why `mapAsync` is only awaited for
 * a buffer's first mapping.
 */
import type { HostArray } from "../../tensor.ts";
import type { Gpu, GpuBuffer } from "./gpu.ts";
import { mapsAtOnce } from "./quirks.ts";
import type { WebgpuTensor } from "./tensor.ts";

/**
 * Maximum bytes of one copy; longer ranges are read in parts. While the host reads a part, the card
 * copies the next one.
 */
const MAX_COPY_BYTES = 16 * 2 ** 20;
const MIN_BUFFER_BYTES = 4096;

/** A mappable buffer of `size` bytes for a copy of `bytes`. */
interface Staging {
  readonly buffer: GpuBuffer;
  readonly size: number;
  readonly bytes: number;
}

/** What reading needs of the device. */
interface ReadDevice {
  /** A read waits for its copy alone; if not, it waits for all that was submitted until then. */
  readonly waitsForCopy: boolean;
  /** Submits all commands, after those that clear tensors which were never written. */
  submit(tensors?: readonly WebgpuTensor[]): void;
  /** Number of dispatches so far. */
  dispatches(): number;
  /** @throws RgxError when the device has failed */
  mustWork(): void;
}

export class HostReads {
  readonly counters = { readBytes: 0, reads: 0, hiddenReads: 0 };

  readonly #idle = new Map<number, GpuBuffer[]>();
  readonly #mapsAtOnce = mapsAtOnce();

  constructor(private readonly gpu: Gpu, private readonly device: ReadDevice) {}

  async read(tensor: WebgpuTensor, offset: number, length: number): Promise<HostArray> {
    return await this.#explained(async () => {
      await this.#submit([tensor]);
      const start = 4 * (tensor.offset + offset);
      const bytes = await this.#copy(tensor.block.buffer.gpu, start, 4 * length);
      this.#count(length);
      return tensor.values(bytes);
    });
  }

  /** See `Device.readLater`. */
  async later(
    copies: readonly { tensor: WebgpuTensor; length: number }[],
  ): Promise<() => Promise<HostArray[]>> {
    return await this.#explained(async () => {
      // A new staging buffer waits for what was submitted, so it comes first.
      const staging: Staging[] = [];
      for (const { length } of copies) staging.push(await this.#staging(4 * length));
      await this.#submit(copies.map(({ tensor }) => tensor));
      const finish = copies.map(({ tensor: { block, offset } }, i) =>
        this.#begin(block.buffer.gpu, 4 * offset, staging[i]!)
      );
      const dispatches = this.device.dispatches();
      return () => this.#explained(() => this.#finish(copies, finish, dispatches));
    });
  }

  close(): void {
    for (const list of this.#idle.values()) for (const buffer of list) buffer.destroy();
    this.#idle.clear();
  }

  /**
   * Reads bytes [offset, offset + length) of a buffer, after all submitted commands.
   * `offset` and `length` are multiples of 4.
   */
  async #copy(source: GpuBuffer, offset: number, length: number): Promise<ArrayBuffer> {
    const result = new Uint8Array(length);
    const begin = async (done: number) => {
      const bytes = Math.min(MAX_COPY_BYTES, length - done);
      const finish = this.#begin(source, offset + done, await this.#staging(bytes));
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
  async #staging(bytes: number): Promise<Staging> {
    const size = Math.max(MIN_BUFFER_BYTES, 2 ** Math.ceil(Math.log2(bytes)));
    return { buffer: this.#idle.get(size)?.pop() ?? await this.#create(size), size, bytes };
  }

  /**
   * Submits a copy from byte `offset` of `source` on. What it returns waits for it, and for
   * everything else that was submitted until then: Deno's `mapAsync` waits for the whole queue. It
   * gives the bytes, in the array that it is given or in one of its own.
   */
  #begin(
    source: GpuBuffer,
    offset: number,
    { buffer: staging, size, bytes }: Staging,
  ): (to?: Uint8Array<ArrayBuffer>) => Promise<Uint8Array<ArrayBuffer>> {
    const encoder = this.gpu.createCommandEncoder();
    encoder.copyBufferToBuffer(source, offset, staging, 0, bytes);
    this.gpu.queue.submit([encoder.finish()]);
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
    const buffer = this.gpu.createBuffer({ size, usage, label: "readback" });
    // The first mapping must be awaited, else `getMappedRange` would abort the process.
    await buffer.mapAsync(GPUMapMode.READ);
    buffer.unmap();
    return buffer;
  }

  async #finish(
    copies: readonly { tensor: WebgpuTensor; length: number }[],
    finish: readonly (() => Promise<Uint8Array<ArrayBuffer>>)[],
    dispatches: number,
  ): Promise<HostArray[]> {
    const isHidden = this.device.dispatches() > dispatches, found: HostArray[] = [];
    if (this.device.waitsForCopy) this.device.submit();
    for (const [i, { tensor, length }] of copies.entries()) {
      found.push(tensor.values((await finish[i]!()).buffer));
      this.#count(length);
      if (isHidden) this.counters.hiddenReads++;
    }
    // Else, what was recorded meanwhile is submitted only now.
    this.device.submit();
    return found;
  }

  async #submit(tensors: readonly WebgpuTensor[]): Promise<void> {
    this.device.submit(tensors);
    // The error scopes of submitted commands are resolved in a later microtask.
    await Promise.resolve();
    this.device.mustWork();
  }

  #count(length: number): void {
    this.counters.reads++;
    this.counters.readBytes += 4 * length;
    this.device.mustWork();
  }

  async #explained<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      // The loss of a device is reported after the errors that it causes, but explains them.
      await new Promise((resolve) => setTimeout(resolve, 0));
      this.device.mustWork();
      throw error;
    }
  }
}

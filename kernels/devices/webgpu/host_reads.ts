/**
 * What the host reads of tensors: at once, or later, while the card goes on. An error of a read is
 * explained by what the device reports meanwhile.
 */
import type { HostArray } from "../../tensor.ts";
import type { Readback, Staging } from "./readback.ts";
import type { WebgpuTensor } from "./tensor.ts";

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

  constructor(private readonly readback: Readback, private readonly device: ReadDevice) {}

  async read(tensor: WebgpuTensor, offset: number, length: number): Promise<HostArray> {
    return await this.#explained(async () => {
      await this.#submit([tensor]);
      const start = 4 * (tensor.offset + offset);
      const bytes = await this.readback.read(tensor.block.buffer.gpu, start, 4 * length);
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
      for (const { length } of copies) staging.push(await this.readback.staging(4 * length));
      await this.#submit(copies.map(({ tensor }) => tensor));
      const finish = copies.map(({ tensor: { block, offset } }, i) =>
        this.readback.begin(block.buffer.gpu, 4 * offset, staging[i]!)
      );
      const dispatches = this.device.dispatches();
      return () => this.#explained(() => this.#finish(copies, finish, dispatches));
    });
  }

  close(): void {
    this.readback.close();
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

/** What the devices share: the bytes of their tensors, and the end at the end of a block. */
export abstract class TensorBytes {
  #now = 0;
  #peak = 0;

  get allocatedBytes(): number {
    return this.#now;
  }

  get peakBytes(): number {
    return this.#peak;
  }

  resetPeak(): void {
    this.#peak = this.#now;
  }

  /** Tensors of so many bytes were created; negative: were freed. */
  protected countBytes(bytes: number): void {
    this.#now += bytes;
    if (this.#now > this.#peak) this.#peak = this.#now;
  }

  abstract close(): void;

  [Symbol.dispose](): void {
    this.close();
  }
}

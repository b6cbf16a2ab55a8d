/**
 * Buffers by size class, kept for the next tensor instead of being destroyed: WebGPU buffers are expensive to
 * make and invisible to the garbage collector. Commands run in order, so a buffer can be given out again while
 * commands that use it still wait. Sizes are rounded up to eighths of a power of two: at most 12.5 % is lost.
 */
import type { PooledBuffer } from "./tensor.ts";

const SMALLEST = 256;

/** The size class of a tensor of `bytes`: a multiple of 256. */
export function sizeClass(bytes: number): number {
  if (bytes <= SMALLEST) return SMALLEST;
  const step = Math.max(SMALLEST, 2 ** (Math.floor(Math.log2(bytes - 1)) - 3));
  return Math.ceil(bytes / step) * step;
}

export class BufferPool {
  readonly #idle = new Map<number, PooledBuffer[]>();
  readonly #create: (bytes: number, label: string) => GPUBuffer;
  readonly #limit: number;
  readonly #largest: number;
  #nextId = 0;
  #idleBytes = 0;
  #heldBytes = 0;

  /**
   * @param limit Most idle bytes that are kept; `trim` destroys the rest.
   * @param largest Most bytes of a buffer: the last size class, which may be smaller than its step.
   */
  constructor(
    create: (bytes: number, label: string) => GPUBuffer,
    limit: number,
    largest = Infinity,
  ) {
    this.#create = create;
    this.#limit = limit;
    this.#largest = largest;
  }

  /** Bytes of all buffers, idle ones included. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** `isNew`: never used, so filled with zeros. */
  take(bytes: number, label: string): { buffer: PooledBuffer; isNew: boolean } {
    const size = Math.min(sizeClass(bytes), this.#largest);
    const idle = this.#idle.get(size)?.pop();
    if (idle !== undefined) {
      this.#idleBytes -= size;
      return { buffer: idle, isNew: false };
    }
    const buffer = { gpu: this.#create(size, label), bytes: size, id: this.#nextId++, usedIn: -1 };
    this.#heldBytes += size;
    return { buffer, isNew: true };
  }

  give(buffer: PooledBuffer): void {
    const list = this.#idle.get(buffer.bytes);
    if (list === undefined) this.#idle.set(buffer.bytes, [buffer]);
    else list.push(buffer);
    this.#idleBytes += buffer.bytes;
  }

  /** Whether more is idle than should be kept. */
  get overfull(): boolean {
    return this.#idleBytes > this.#limit;
  }

  /** Destroys all idle buffers, largest class first, until `keep` bytes of them are left; no command may wait for them. */
  trim(keep = 0): void {
    for (const size of [...this.#idle.keys()].sort((a, b) => b - a)) {
      const list = this.#idle.get(size)!;
      while (this.#idleBytes > keep && list.length > 0) {
        list.pop()!.gpu.destroy();
        this.#idleBytes -= size;
        this.#heldBytes -= size;
      }
    }
  }
}

/**
 * A pool of buffers by size class. Freed buffers are kept for later tensors, because WebGPU buffers
 * are expensive to create and invisible to the garbage collector. Commands run in order, so a
 * buffer can be used again while earlier commands that use it still wait. Sizes are rounded up to
 * eighths of a power of two, which wastes at most 12.5 %.
 */
import type { GpuBuffer } from "./gpu.ts";
import type { PooledBuffer } from "./tensor.ts";

const MIN_BUFFER_BYTES = 256;

/** The size class of a tensor of `bytes`: a multiple of 256. */
export function sizeClass(bytes: number): number {
  if (bytes <= MIN_BUFFER_BYTES) return MIN_BUFFER_BYTES;
  const step = Math.max(MIN_BUFFER_BYTES, 2 ** (Math.floor(Math.log2(bytes - 1)) - 3));
  return Math.ceil(bytes / step) * step;
}

export class BufferPool {
  readonly #idle = new Map<number, PooledBuffer[]>();
  #nextId = 0;
  #idleBytes = 0;
  #heldBytes = 0;

  /**
   * @param maxIdleBytes above this number of idle bytes, the pool is `overfull`
   * @param maxBufferBytes maximum size of a buffer; the last size class ends there
   */
  constructor(
    private readonly create: (bytes: number, label: string) => GpuBuffer,
    private readonly maxIdleBytes: number,
    private readonly maxBufferBytes = Infinity,
  ) {}

  /** Bytes of all buffers, including idle ones. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Takes a buffer. `isNew` means that it was never used and contains zeros. */
  take(bytes: number, label: string): { buffer: PooledBuffer; isNew: boolean } {
    const size = Math.min(sizeClass(bytes), this.maxBufferBytes);
    const idle = this.#idle.get(size)?.pop();
    if (idle !== undefined) {
      this.#idleBytes -= size;
      return { buffer: idle, isNew: false };
    }
    const buffer = { gpu: this.create(size, label), bytes: size, id: this.#nextId++, usedIn: -1 };
    this.#heldBytes += size;
    return { buffer, isNew: true };
  }

  give(buffer: PooledBuffer): void {
    const list = this.#idle.get(buffer.bytes);
    if (list === undefined) this.#idle.set(buffer.bytes, [buffer]);
    else list.push(buffer);
    this.#idleBytes += buffer.bytes;
  }

  /** Whether there are more idle bytes than should be kept. */
  get overfull(): boolean {
    return this.#idleBytes > this.maxIdleBytes;
  }

  /**
   * Destroys idle buffers, from the largest size class on, until at most `keep` idle bytes are
   * left. No waiting command may use them.
   */
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

/**
 * An allocator for a growing range of addresses: best fit on a list of free blocks, which is
 * ordered by address and merges adjacent blocks. It only computes addresses; the caller owns the
 * memory and grows it. Steps that allocate and free the same sizes in the same order always get the
 * same blocks, so memory use stays constant.
 */
const ALIGNMENT = 64;

export class Allocator {
  /** Free blocks in address order. */
  #starts: number[] = [];
  #sizes: number[] = [];
  /** Sizes of the blocks in use, by address. */
  readonly #used = new Map<number, number>();
  #end: number;
  #fresh: number;

  /** Manages addresses from `begin` on; nothing is available before {@link grow}. */
  constructor(begin: number) {
    this.#end = Math.ceil(begin / ALIGNMENT) * ALIGNMENT;
    this.#fresh = this.#end;
  }

  /** One past the last managed address. */
  get end(): number {
    return this.#end;
  }

  /** Addresses from here on have never been allocated. */
  get fresh(): number {
    return this.#fresh;
  }

  /** Extends the managed range to `end`. */
  grow(end: number): void {
    if (end <= this.#end) return;
    this.#insert(this.#end, end - this.#end);
    this.#end = end;
  }

  /** Number of bytes by which the range must grow before `bytes` can be allocated at its end. */
  missing(bytes: number): number {
    const size = rounded(bytes);
    const last = this.#starts.length - 1;
    const tail = last >= 0 && this.#starts[last]! + this.#sizes[last]! === this.#end
      ? this.#sizes[last]!
      : 0;
    return Math.max(0, size - tail);
  }

  /**
   * Allocates a block of at least `bytes` bytes.
   * @returns its address, a multiple of {@link ALIGNMENT}; undefined when no free block fits
   */
  allocate(bytes: number): number | undefined {
    const size = rounded(bytes);
    let best = -1;
    for (let i = 0; i < this.#sizes.length; i++) {
      const free = this.#sizes[i]!;
      if (free >= size && (best < 0 || free < this.#sizes[best]!)) best = i;
      if (free === size) break;
    }
    if (best < 0) return undefined;
    const start = this.#starts[best]!;
    if (this.#sizes[best] === size) {
      this.#starts.splice(best, 1);
      this.#sizes.splice(best, 1);
    } else {
      this.#starts[best] = start + size;
      this.#sizes[best] = this.#sizes[best]! - size;
    }
    this.#used.set(start, size);
    if (start + size > this.#fresh) this.#fresh = start + size;
    return start;
  }

  /** Frees a block. @throws RangeError when no allocated block begins at `start` */
  free(start: number): void {
    const size = this.#used.get(start);
    if (size === undefined) throw new RangeError(`no block in use begins at address ${start}`);
    this.#used.delete(start);
    this.#insert(start, size);
  }

  #insert(start: number, size: number): void {
    let low = 0, high = this.#starts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#starts[middle]! < start) low = middle + 1;
      else high = middle;
    }
    const joinsNext = this.#starts[low] === start + size;
    const joinsPrevious = low > 0 && this.#starts[low - 1]! + this.#sizes[low - 1]! === start;
    if (joinsPrevious) {
      this.#sizes[low - 1]! += size;
      if (joinsNext) {
        this.#sizes[low - 1]! += this.#sizes[low]!;
        this.#starts.splice(low, 1);
        this.#sizes.splice(low, 1);
      }
    } else if (joinsNext) {
      this.#starts[low] = start;
      this.#sizes[low]! += size;
    } else {
      this.#starts.splice(low, 0, start);
      this.#sizes.splice(low, 0, size);
    }
  }
}

/** The size of a block. An empty block gets the minimum size, so that its address is unique. */
function rounded(bytes: number): number {
  return Math.max(ALIGNMENT, Math.ceil(bytes / ALIGNMENT) * ALIGNMENT);
}

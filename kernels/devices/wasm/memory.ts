/**
 * One shared WebAssembly memory that grows on demand up to 4 GiB, its allocator, and host views of it.
 * Memory is never given back to the system before the device is closed: WebAssembly cannot shrink.
 */
import { bytesText } from "../../../core/bytes.ts";
import { RgxError } from "../../../core/errors.ts";
import { Allocator } from "./allocator.ts";
import { useHugePages } from "./huge_pages.ts";

const PAGE = 65536;
/** One less than there are: the address behind the last would be 0, and kernels stop where an array ends. */
const MOST_PAGES = 65535;
/** The first page is the module's own (static data); tensors begin behind it. */
const HEAP_BEGIN = PAGE;
/** Bytes of weights that lie in it at most: half; the other half is for what operations write, and their scratch. */
export const WEIGHTS_WITHIN = 2 ** 31;
/** Growing in large steps keeps the number of grow calls small. */
const GROW_STEP_PAGES = 256;

export class WasmMemory {
  readonly memory: WebAssembly.Memory;
  readonly #allocator = new Allocator(HEAP_BEGIN);
  #f32!: Float32Array;
  #u32!: Uint32Array;

  constructor() {
    this.memory = reserve();
    this.#refresh();
  }

  /**
   * Address of a new block, 64-byte aligned, contents undefined.
   * @throws RgxError when the memory is exhausted; `label` says for what.
   */
  allocate(bytes: number, label: string): number {
    const address = this.#allocator.allocate(bytes);
    if (address !== undefined) return address;
    this.#grow(this.#allocator.missing(bytes), bytes, label);
    return this.#allocator.allocate(bytes)!;
  }

  free(address: number): void {
    this.#allocator.free(address);
  }

  /** Addresses from here on still hold the zeros that the memory began with. */
  get fresh(): number {
    return this.#allocator.fresh;
  }

  /** View of `length` floats; dropped by the next allocation. */
  f32(address: number, length: number): Float32Array {
    return this.#f32.subarray(address / 4, address / 4 + length);
  }

  /** View of `length` unsigned words; dropped by the next allocation. */
  u32(address: number, length: number): Uint32Array {
    return this.#u32.subarray(address / 4, address / 4 + length);
  }

  #grow(missing: number, bytes: number, label: string): void {
    const now = this.memory.buffer.byteLength / PAGE;
    const needed = Math.ceil((this.#allocator.end + missing) / PAGE) - now;
    const roomy = Math.min(Math.max(needed, GROW_STEP_PAGES, now >> 2), MOST_PAGES - now);
    if (!this.#tryGrow(roomy, needed) && !this.#tryGrow(needed, needed)) {
      throw new RgxError(
        `out of memory on the CPU device: ${bytesText(bytes)} for "${label}" do not fit, ` +
          `${bytesText(now * PAGE)} are in use and the limit is ${bytesText(MOST_PAGES * PAGE)}`,
        { advice: "use smaller batches (fewer prompts, shorter answers) or a smaller model" },
      );
    }
    this.#refresh();
    this.#allocator.grow(this.memory.buffer.byteLength);
  }

  #tryGrow(pages: number, needed: number): boolean {
    if (pages < needed) return false;
    try {
      this.memory.grow(pages);
      return true;
    } catch {
      return false;
    }
  }

  #refresh(): void {
    const { buffer } = this.memory;
    useHugePages(buffer, this.#allocator.end, buffer.byteLength);
    const words = Math.floor(buffer.byteLength / 4);
    this.#f32 = new Float32Array(buffer, 0, words);
    this.#u32 = new Uint32Array(buffer, 0, words);
    this.#allocator.grow(buffer.byteLength);
  }
}

/** Reserves address space for as much as the system grants; a shared memory needs its maximum up front. */
function reserve(): WebAssembly.Memory {
  for (let maximum = MOST_PAGES;; maximum >>= 1) {
    try {
      return new WebAssembly.Memory({ initial: 16, maximum, shared: true });
    } catch (error) {
      if (maximum <= 1024) {
        throw new RgxError("the CPU device cannot reserve memory", {
          advice: "raise the limit on address space (ulimit -v)",
          cause: error,
        });
      }
    }
  }
}

/**
 * The shared WebAssembly memory, which grows on demand up to 4 GiB, with its allocator and host
 * views. WebAssembly memory cannot shrink, so it is returned to the system when the device is
 * closed.
 */
import { bytesText } from "../../../core/bytes.ts";
import { RgxError } from "../../../core/errors.ts";
import { Allocator } from "./allocator.ts";
import { useHugePages } from "./huge_pages.ts";

const PAGE = 65536;
/**
 * One page less than 32-bit addresses allow: the end of an array on the last page would have the
 * address 0, and kernels compare with the end.
 */
const MAX_PAGES = 65535;
/** The first pages contain the static data of the modules. */
const HEAP_BEGIN = 2 * PAGE;
/** Maximum bytes of weights: half of the memory. The rest is for other tensors and scratch. */
export const MAX_WEIGHT_ROOM = 2 ** 31;
/** Minimum growth in pages; large steps mean few calls. */
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
   * Allocates a block with undefined content.
   * @param label the purpose, for messages
   * @returns its address, a multiple of 64
   * @throws RgxError when the memory is exhausted
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

  /** Memory from this address on was never used and contains zeros. */
  get fresh(): number {
    return this.#allocator.fresh;
  }

  /** A view of `length` floats, valid until the next allocation. */
  f32(address: number, length: number): Float32Array {
    return this.#f32.subarray(address / 4, address / 4 + length);
  }

  /** A view of `length` u32, valid until the next allocation. */
  u32(address: number, length: number): Uint32Array {
    return this.#u32.subarray(address / 4, address / 4 + length);
  }

  #grow(missing: number, bytes: number, label: string): void {
    const now = this.memory.buffer.byteLength / PAGE;
    const needed = Math.ceil((this.#allocator.end + missing) / PAGE) - now;
    const roomy = Math.min(Math.max(needed, GROW_STEP_PAGES, now >> 2), MAX_PAGES - now);
    if (!this.#tryGrow(roomy, needed) && !this.#tryGrow(needed, needed)) {
      throw new RgxError(
        `out of memory on the CPU device: ${bytesText(bytes)} for "${label}" do not fit, ` +
          `${bytesText(now * PAGE)} are in use and the limit is ${bytesText(MAX_PAGES * PAGE)}`,
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

/**
 * Reserves as much address space as the system grants: a shared memory must declare its maximum
 * size when it is created.
 */
function reserve(): WebAssembly.Memory {
  for (let maximum = MAX_PAGES;; maximum >>= 1) {
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

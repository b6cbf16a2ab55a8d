/**
 * Memory of the card. Small buffers share allocations, since drivers allow only some thousands of
 * them and take long for each; large buffers have their own. Memory that the host reads or writes
 * stays mapped.
 */
import { check, handleOf, type Vulkan } from "./library.ts";
import { type Bytes, zeros } from "./memory_layout.ts";
import * as vk from "./structs.ts";

/** Bytes of a shared allocation. */
const SHARED_BYTES = 64 * 2 ** 20;
/** Buffers from this size on have their own allocation. */
const OWN_BYTES = 16 * 2 ** 20;

/** Bits of VkMemoryPropertyFlags. */
const LOCAL = 1, VISIBLE = 2, COHERENT = 4, CACHED = 8;

/** What memory is for, with the properties to look for: the best first. */
const WANTED = {
  card: [[LOCAL], []],
  upload: [[VISIBLE, COHERENT]],
  readback: [[VISIBLE, COHERENT, CACHED], [VISIBLE, COHERENT]],
} as const;
export type MemoryUse = keyof typeof WANTED;

interface Range {
  offset: number;
  size: number;
}

interface Allocation {
  readonly memory: bigint;
  readonly type: number;
  readonly size: number;
  readonly mapped: Bytes | null;
  /** Free ranges by offset; none touches the next. */
  free: Range[];
}

/** A range of an allocation. */
export interface CardMemory extends Range {
  readonly allocation: Allocation;
  /** The bytes, if the host can reach them. */
  readonly bytes: Bytes | null;
}

export class MemoryPool {
  readonly #vulkan: Vulkan;
  readonly #device: bigint;
  readonly #types: readonly number[];
  readonly #allocations = new Set<Allocation>();

  constructor(vulkan: Vulkan, physical: bigint, device: bigint) {
    this.#vulkan = vulkan;
    this.#device = device;
    const { VkPhysicalDeviceMemoryProperties: P, VkMemoryType } = vk;
    const properties = zeros(P.size);
    vulkan.vkGetPhysicalDeviceMemoryProperties(physical, properties);
    this.#types = Array.from(
      { length: P.number(properties, "memoryTypeCount") },
      (_, i) => VkMemoryType.number(properties, "propertyFlags", 0, P.offsets.memoryTypes + 8 * i),
    );
  }

  /** @throws VulkanError when the memory is full */
  take(buffer: bigint, use: MemoryUse): CardMemory {
    const R = vk.VkMemoryRequirements, needs = zeros(R.size);
    this.#vulkan.vkGetBufferMemoryRequirements(this.#device, buffer, needs);
    const size = R.number(needs, "size"), alignment = R.number(needs, "alignment");
    const type = this.#type(R.number(needs, "memoryTypeBits"), use);
    if (size >= OWN_BYTES) return this.#cut(this.#allocate(type, size, use), 0, size, use);
    for (const allocation of this.#allocations) {
      if (allocation.type !== type || allocation.size !== SHARED_BYTES) continue;
      if ((allocation.mapped === null) !== (use === "card")) continue;
      for (const range of allocation.free) {
        const offset = Math.ceil(range.offset / alignment) * alignment;
        if (offset + size <= range.offset + range.size) {
          return this.#cut(allocation, offset, size, use);
        }
      }
    }
    return this.#cut(this.#allocate(type, SHARED_BYTES, use), 0, size, use);
  }

  give({ allocation, offset, size }: CardMemory): void {
    const { free } = allocation;
    let at = free.findIndex((range) => range.offset > offset);
    if (at < 0) at = free.length;
    free.splice(at, 0, { offset, size });
    // Join with the ranges after and before it.
    for (const i of [at, at - 1]) {
      const range = free[i], next = free[i + 1];
      if (range === undefined || next === undefined) continue;
      if (range.offset + range.size !== next.offset) continue;
      range.size += next.size;
      free.splice(i + 1, 1);
    }
    if (free[0]!.size !== allocation.size) return;
    this.#allocations.delete(allocation);
    this.#vulkan.vkFreeMemory(this.#device, allocation.memory, null);
  }

  close(): void {
    for (const { memory } of this.#allocations) {
      this.#vulkan.vkFreeMemory(this.#device, memory, null);
    }
    this.#allocations.clear();
  }

  #type(allowed: number, use: MemoryUse): number {
    for (const wanted of WANTED[use]) {
      const flags = wanted.reduce((sum: number, flag) => sum | flag, 0);
      const found = this.#types.findIndex((type, i) =>
        (allowed >>> i & 1) === 1 && (type & flags) === flags
      );
      if (found >= 0) return found;
    }
    throw new Error(`the driver has no memory for ${use}`);
  }

  #allocate(type: number, size: number, use: MemoryUse): Allocation {
    const info = vk.VkMemoryAllocateInfo.make({ allocationSize: size, memoryTypeIndex: type });
    const memory = handleOf(
      "vkAllocateMemory",
      (out) => this.#vulkan.vkAllocateMemory(this.#device, info, null, out),
    );
    let mapped: Bytes | null = null;
    if (use !== "card") {
      const address = handleOf(
        "vkMapMemory",
        (out) => this.#vulkan.vkMapMemory(this.#device, memory, 0n, BigInt(size), 0, out),
      );
      const pointer = Deno.UnsafePointer.create(address)!;
      mapped = new Uint8Array(Deno.UnsafePointerView.getArrayBuffer(pointer, size));
    }
    const allocation = { memory, type, size, mapped, free: [{ offset: 0, size }] };
    this.#allocations.add(allocation);
    return allocation;
  }

  #cut(allocation: Allocation, offset: number, size: number, use: MemoryUse): CardMemory {
    const at = allocation.free.findIndex((range) =>
      range.offset <= offset && offset + size <= range.offset + range.size
    );
    const range = allocation.free[at]!, end = range.offset + range.size;
    const rest = [
      { offset: range.offset, size: offset - range.offset },
      { offset: offset + size, size: end - offset - size },
    ];
    allocation.free.splice(at, 1, ...rest.filter((part) => part.size > 0));
    const bytes = use === "card"
      ? null
      : allocation.mapped!.subarray(offset, offset + size) as Bytes;
    return { allocation, offset, size, bytes };
  }
}

/** Creates a VkBuffer and binds memory to it. Nothing is left behind when memory is short. */
export function createBufferIn(
  { vulkan, device, pool }: { vulkan: Vulkan; device: bigint; pool: MemoryPool },
  size: number,
  usage: number,
  use: MemoryUse,
): { handle: bigint; memory: CardMemory } {
  const info = vk.VkBufferCreateInfo.make({ size, usage });
  const handle = handleOf(
    "vkCreateBuffer",
    (out) => vulkan.vkCreateBuffer(device, info, null, out),
  );
  try {
    const memory = pool.take(handle, use);
    const offset = BigInt(memory.offset);
    const result = vulkan.vkBindBufferMemory(device, handle, memory.allocation.memory, offset);
    if (result < 0) pool.give(memory);
    check("vkBindBufferMemory", result);
    return { handle, memory };
  } catch (error) {
    vulkan.vkDestroyBuffer(device, handle, null);
    throw error;
  }
}

/**
 * Buffers, bind groups and commands of the Vulkan layer in the form of WebGPU. Commands wait for
 * each other only where they use the same buffer and one of them writes it.
 */
import type {
  GpuBindGroup,
  GpuBuffer,
  GpuEncoder,
  GpuObject,
  GpuPass,
  GpuPassDescriptor,
  GpuQuerySet,
} from "../webgpu/gpu.ts";
import type { CardMemory } from "./memory.ts";
import { type Bytes, u64Array, zeros } from "./memory_layout.ts";
import type { Core, Queue } from "./queue.ts";

const COMPUTE_BIND_POINT = 1;
/** Of VkPipelineStageFlags. */
const STAGE_COMPUTE = 0x800;

/** How the parts of a device reach it. */
export interface Host {
  readonly core: Core;
  readonly work: Queue;
  /** Whether the device is lost or destroyed, or its memory was full: nothing may be called. */
  readonly isDead: boolean;
  /** Runs calls unless the device is dead. Their errors are reported, and end it. */
  guard(calls: () => void): void;
  forget(object: VulkanBuffer): void;
}

export class VulkanBuffer implements GpuBuffer {
  mapState: GpuBuffer["mapState"] = "unmapped";
  /** The number of the last submit that copies to it, for the host to read. */
  copiedBy = 0;
  #destroyed = false;

  constructor(
    readonly host: Host,
    readonly handle: bigint,
    /** Null when there was no memory for it. */
    readonly memory: CardMemory | null,
    readonly size: number,
    readonly usage: number,
    public label: string,
  ) {}

  /** Waits for the copy to this buffer, not for what was submitted after it. */
  mapAsync(): Promise<void> {
    this.host.guard(() => this.host.work.wait(this.copiedBy));
    this.mapState = "mapped";
    return Promise.resolve();
  }

  getMappedRange(offset = 0, size = this.size - offset): ArrayBuffer {
    return this.#readable(offset, size).slice().buffer;
  }

  copyMapped(to: Uint8Array): void {
    to.set(this.#readable(0, to.length));
  }

  #readable(offset: number, size: number): Bytes {
    const bytes = this.memory?.bytes ?? null;
    if (bytes === null || this.#destroyed || this.host.isDead || offset + size > this.size) {
      throw new Error(`the buffer "${this.label}" cannot be read by the host`);
    }
    return bytes.subarray(offset, offset + size) as Bytes;
  }

  unmap(): void {
    this.mapState = "unmapped";
  }

  destroy(): void {
    if (this.#destroyed) return;
    this.#destroyed = true;
    this.host.guard(() => this.host.work.later(() => this.free()));
    this.host.forget(this);
  }

  /** Frees the memory at once. No command may use it. */
  free(): void {
    const { vulkan, device, pool } = this.host.core;
    vulkan.vkDestroyBuffer(device, this.handle, null);
    if (this.memory !== null) pool.give(this.memory);
  }
}

/** Sets of descriptors for one pattern of bindings, which are used again. */
export interface SetLayout extends GpuObject {
  readonly handle: bigint;
  /** VkDescriptorType by binding. */
  readonly types: ReadonlyMap<number, { type: number; writes: boolean }>;
  readonly idle: bigint[];
}

export class VulkanBindGroup implements GpuBindGroup {
  label = "";
  /** The handle of the set, as an array of one. */
  readonly sets: ReturnType<typeof zeros>;

  constructor(
    readonly host: Host,
    readonly layout: SetLayout,
    readonly set: bigint,
    readonly reads: readonly VulkanBuffer[],
    readonly writes: readonly VulkanBuffer[],
  ) {
    this.sets = u64Array([set]);
  }

  destroy(): void {
    this.host.guard(() => this.host.work.later(() => this.layout.idle.push(this.set)));
  }
}

export interface VulkanPipeline extends GpuObject {
  readonly handle: bigint;
  readonly layout: bigint;
}

export interface VulkanQuerySet extends GpuQuerySet {
  readonly handle: bigint;
}

/** Recorded commands. */
export interface VulkanCommands extends GpuObject {
  readonly handle: bigint;
  /** Buffers that the host will read. */
  readonly forHost: ReadonlySet<VulkanBuffer>;
}

export class VulkanEncoder implements GpuEncoder, GpuPass {
  readonly #host: Host;
  readonly #commands: bigint;
  readonly #offsets = zeros(4);
  readonly #offset = new DataView(this.#offsets.buffer);
  /** Buffers that commands since the last barrier wrote or read. */
  readonly #written = new Set<VulkanBuffer>();
  readonly #read = new Set<VulkanBuffer>();
  readonly #forHost = new Set<VulkanBuffer>();
  #pipeline: VulkanPipeline | null = null;
  #bound: bigint | null = null;
  #group: VulkanBindGroup | null = null;
  #endStamp: { set: VulkanQuerySet; index: number } | null = null;

  constructor(host: Host) {
    this.#host = host;
    let commands = 0n;
    host.guard(() => commands = host.work.begin());
    this.#commands = commands;
  }

  beginComputePass({ timestampWrites: stamps }: GpuPassDescriptor = {}): GpuPass {
    if (stamps !== undefined && !this.#host.isDead) {
      const { vulkan } = this.#host.core, set = stamps.querySet as VulkanQuerySet;
      const first = stamps.beginningOfPassWriteIndex;
      this.#endStamp = { set, index: stamps.endOfPassWriteIndex };
      vulkan.vkCmdResetQueryPool(this.#commands, set.handle, first, 1);
      vulkan.vkCmdResetQueryPool(this.#commands, set.handle, stamps.endOfPassWriteIndex, 1);
      // Only work of the pass lies between its stamps.
      this.#barrier();
      vulkan.vkCmdWriteTimestamp(this.#commands, STAGE_COMPUTE, set.handle, first);
    }
    return this;
  }

  setPipeline(pipeline: GpuObject): void {
    this.#pipeline = pipeline as VulkanPipeline;
  }

  setBindGroup(_index: number, group: GpuBindGroup, [offset]: number[]): void {
    this.#group = group as VulkanBindGroup;
    this.#offset.setUint32(0, offset!, true);
  }

  dispatchWorkgroups(x: number, y: number): void {
    const { vulkan } = this.#host.core, group = this.#group!;
    const { handle, layout } = this.#pipeline!;
    // A kernel that does not compile has no pipeline; this was reported.
    if (this.#host.isDead || handle === 0n) return;
    this.#order(group.reads, group.writes);
    if (this.#bound !== handle) {
      vulkan.vkCmdBindPipeline(this.#commands, COMPUTE_BIND_POINT, handle);
      this.#bound = handle;
    }
    vulkan.vkCmdBindDescriptorSets(
      this.#commands,
      COMPUTE_BIND_POINT,
      layout,
      0,
      1,
      group.sets,
      1,
      this.#offsets,
    );
    vulkan.vkCmdDispatch(this.#commands, x, y, 1);
  }

  end(): void {
    if (this.#endStamp === null || this.#host.isDead) return;
    const { set, index } = this.#endStamp;
    this.#host.core.vulkan.vkCmdWriteTimestamp(this.#commands, STAGE_COMPUTE, set.handle, index);
    this.#endStamp = null;
  }

  clearBuffer(buffer: GpuBuffer, offset: number, size: number): void {
    const target = buffer as VulkanBuffer;
    if (this.#host.isDead) return;
    this.#order([], [target]);
    this.#host.core.vulkan.vkCmdFillBuffer(
      this.#commands,
      target.handle,
      BigInt(offset),
      BigInt(size),
      0,
    );
  }

  copyBufferToBuffer(
    source: GpuBuffer,
    sourceOffset: number,
    target: GpuBuffer,
    targetOffset: number,
    size: number,
  ): void {
    const from = source as VulkanBuffer, to = target as VulkanBuffer;
    if (this.#host.isDead) return;
    this.#order([from], [to]);
    if (to.memory!.bytes !== null) this.#forHost.add(to);
    this.#host.work.copy(this.#commands, from.handle, sourceOffset, to.handle, targetOffset, size);
  }

  resolveQuerySet(
    set: GpuQuerySet,
    first: number,
    count: number,
    target: GpuBuffer,
    targetOffset: number,
  ): void {
    const STAMPS_64_BITS = 1, WAIT = 2, to = target as VulkanBuffer;
    if (this.#host.isDead) return;
    this.#order([], [to]);
    this.#host.core.vulkan.vkCmdCopyQueryPoolResults(
      this.#commands,
      (set as VulkanQuerySet).handle,
      first,
      count,
      to.handle,
      BigInt(targetOffset),
      8n,
      STAMPS_64_BITS | WAIT,
    );
  }

  finish(): VulkanCommands {
    this.#host.guard(() => this.#host.work.end(this.#commands, this.#forHost.size > 0));
    return { label: "", handle: this.#commands, forHost: this.#forHost };
  }

  /** Puts a barrier before a command if it must wait for one since the last barrier. */
  #order(reads: readonly VulkanBuffer[], writes: readonly VulkanBuffer[]): void {
    let wait = false;
    for (const buffer of reads) wait ||= this.#written.has(buffer);
    for (const buffer of writes) wait ||= this.#written.has(buffer) || this.#read.has(buffer);
    if (wait) this.#barrier();
    for (const buffer of reads) this.#read.add(buffer);
    for (const buffer of writes) this.#written.add(buffer);
  }

  #barrier(): void {
    this.#host.work.barrier(this.#commands);
    this.#written.clear();
    this.#read.clear();
  }
}

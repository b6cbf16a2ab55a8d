/**
 * The queue of the card. Each submit has a number, which a timeline semaphore reaches when its
 * commands are done; what they use is freed then. Host writes go through a ring of staging buffers,
 * whose copies are recorded in commands of their own that run before the next submit. The host
 * fills one while the card copies others, and waits only when all of the ring is on its way.
 */
import { check, handleOf, type Vulkan } from "./library.ts";
import { type CardMemory, createBufferIn, type MemoryPool } from "./memory.ts";
import { u64Array, zeros } from "./memory_layout.ts";
import * as vk from "./structs.ts";

/** Bytes of a staging buffer; a larger write takes several. */
const STAGING_BYTES = 4 * 2 ** 20;
/** Staging buffers of the ring. */
const MAX_STAGING = 16;
/** After this many of them, the card begins to copy. */
const STAGING_A_SUBMIT = 4;

/** Bits of VkBufferUsageFlags. */
export const BUFFER_USAGE = {
  copySource: 1,
  copyTarget: 2,
  uniform: 0x10,
  storage: 0x20,
} as const;
/** Bits of VkPipelineStageFlags and VkAccessFlags. */
const STAGE = { compute: 0x800, copy: 0x1000, host: 0x4000 };
const ACCESS = {
  uniformRead: 8,
  shaderRead: 0x20,
  shaderWrite: 0x40,
  copyRead: 0x800,
  copyWrite: 0x1000,
  hostRead: 0x2000,
};
const WRITES = ACCESS.shaderWrite | ACCESS.copyWrite;
const ALL = WRITES | ACCESS.shaderRead | ACCESS.uniformRead | ACCESS.copyRead;

/** What all parts of a device share. */
export interface Core {
  readonly vulkan: Vulkan;
  readonly device: bigint;
  readonly pool: MemoryPool;
}

interface Staging {
  readonly handle: bigint;
  readonly memory: CardMemory;
  used: number;
}

export class Queue {
  readonly #core: Core;
  readonly #queue: bigint;
  readonly #commandPool: bigint;
  readonly #timeline: bigint;
  readonly #idleCommands: bigint[] = [];
  readonly #begin = vk.VkCommandBufferBeginInfo.make({ flags: 1 });
  readonly #between = vk.VkMemoryBarrier.make({ srcAccessMask: WRITES, dstAccessMask: ALL });
  readonly #toHost = vk.VkMemoryBarrier.make({
    srcAccessMask: WRITES,
    dstAccessMask: ACCESS.hostRead,
  });
  readonly #copy = vk.VkBufferCopy.make();
  readonly #counter = zeros(8);
  #submitted = 0;
  #done = 0;
  /** What is released when a submit is done, in the order of their numbers. */
  #waiting: { after: number; release: () => void }[] = [];
  #prologue: bigint | null = null;
  /** Buffers that the prologue writes since its last barrier, and where the last write ended. */
  readonly #written = new Map<bigint, number>();
  /** The staging buffers of the prologue; the last one has room. */
  #filled: Staging[] = [];
  readonly #idleStaging: Staging[] = [];
  #stagingCount = 0;

  constructor(core: Core, family: number) {
    this.#core = core;
    const { vulkan, device } = core;
    this.#queue = handleOf("queue", (out) => vulkan.vkGetDeviceQueue(device, family, 0, out));
    const RESETTABLE = 2;
    const pool = vk.VkCommandPoolCreateInfo.make({ flags: RESETTABLE, queueFamilyIndex: family });
    this.#commandPool = handleOf(
      "vkCreateCommandPool",
      (out) => vulkan.vkCreateCommandPool(device, pool, null, out),
    );
    const TIMELINE = 1;
    const type = vk.VkSemaphoreTypeCreateInfo.make({ semaphoreType: TIMELINE });
    this.#timeline = handleOf(
      "vkCreateSemaphore",
      (out) => vulkan.vkCreateSemaphore(device, vk.VkSemaphoreCreateInfo.make({}, type), null, out),
    );
  }

  /** New commands, which run after everything that was submitted before them. */
  begin(): bigint {
    const { vulkan, device } = this.#core;
    let commands = this.#idleCommands.pop();
    if (commands === undefined) {
      const info = vk.VkCommandBufferAllocateInfo.make({
        commandPool: this.#commandPool,
        commandBufferCount: 1,
      });
      commands = handleOf(
        "vkAllocateCommandBuffers",
        (out) => vulkan.vkAllocateCommandBuffers(device, info, out),
      );
    }
    check("vkBeginCommandBuffer", vulkan.vkBeginCommandBuffer(commands, this.#begin));
    this.barrier(commands);
    return commands;
  }

  /** Later commands wait for earlier ones and see what they wrote. */
  barrier(commands: bigint): void {
    const stages = STAGE.compute | STAGE.copy;
    this.#core.vulkan.vkCmdPipelineBarrier(
      commands,
      stages,
      stages,
      0,
      1,
      this.#between,
      0,
      null,
      0,
      null,
    );
  }

  /** @param forHost whether the host will read what the commands wrote */
  end(commands: bigint, forHost: boolean): void {
    const { vulkan } = this.#core;
    if (forHost) {
      vulkan.vkCmdPipelineBarrier(
        commands,
        STAGE.compute | STAGE.copy,
        STAGE.host,
        0,
        1,
        this.#toHost,
        0,
        null,
        0,
        null,
      );
    }
    check("vkEndCommandBuffer", vulkan.vkEndCommandBuffer(commands));
  }

  copy(
    commands: bigint,
    source: bigint,
    sourceOffset: number,
    target: bigint,
    targetOffset: number,
    size: number,
  ): void {
    const view = new DataView(this.#copy.buffer);
    view.setBigUint64(0, BigInt(sourceOffset), true);
    view.setBigUint64(8, BigInt(targetOffset), true);
    view.setBigUint64(16, BigInt(size), true);
    this.#core.vulkan.vkCmdCopyBuffer(commands, source, target, 1, this.#copy);
  }

  /** Copies bytes to a buffer before the next submit. */
  write(buffer: bigint, offset: number, data: Uint8Array): void {
    for (let done = 0; done < data.length; done += STAGING_BYTES) {
      const part = data.subarray(done, done + STAGING_BYTES), at = offset + done;
      const staging = this.#stagingFor(part.length);
      staging.memory.bytes!.set(part, staging.used);
      const commands = this.#before(buffer, at, at + part.length);
      this.copy(commands, staging.handle, staging.used, buffer, at, part.length);
      staging.used += Math.ceil(part.length / 16) * 16;
    }
  }

  /** Calls `release` when the commands of the next submit, and all before them, are done. */
  later(release: () => void): void {
    this.#waiting.push({ after: this.#submitted + 1, release });
  }

  /** @returns the number of the submit, for {@link wait} */
  submit(commands: readonly bigint[]): number {
    const { vulkan } = this.#core;
    const all = [...commands];
    if (this.#prologue !== null) {
      this.end(this.#prologue, false);
      all.unshift(this.#prologue);
      this.#prologue = null;
      this.#written.clear();
    }
    this.#collect();
    if (all.length === 0) return this.#submitted;
    const value = this.#submitted + 1;
    const timeline = vk.VkTimelineSemaphoreSubmitInfo.make({
      signalSemaphoreValueCount: 1,
      pSignalSemaphoreValues: u64Array([BigInt(value)]),
    });
    const info = vk.VkSubmitInfo.make({
      commandBufferCount: all.length,
      pCommandBuffers: u64Array(all),
      signalSemaphoreCount: 1,
      pSignalSemaphores: u64Array([this.#timeline]),
    }, timeline);
    check("vkQueueSubmit", vulkan.vkQueueSubmit(this.#queue, 1, info, 0n));
    this.later(() => this.#idleCommands.push(...all));
    const filled = this.#filled.splice(0);
    if (filled.length > 0) {
      this.later(() => {
        for (const staging of filled) staging.used = 0;
        this.#idleStaging.push(...filled);
      });
    }
    return this.#submitted = value;
  }

  /** Waits until a submit and all before it are done. This blocks the thread. */
  wait(number: number): void {
    if (this.#done >= number) return;
    const { vulkan, device } = this.#core;
    const info = vk.VkSemaphoreWaitInfo.make({
      semaphoreCount: 1,
      pSemaphores: u64Array([this.#timeline]),
      pValues: u64Array([BigInt(number)]),
    });
    check("vkWaitSemaphores", vulkan.vkWaitSemaphores(device, info, 0xffff_ffff_ffff_ffffn));
    this.#collect();
  }

  /** Destroys the queue's objects. No commands may be running. */
  close(): void {
    const { vulkan, device } = this.#core;
    this.#release(Infinity);
    for (const { handle, memory } of [...this.#idleStaging, ...this.#filled]) {
      vulkan.vkDestroyBuffer(device, handle, null);
      this.#core.pool.give(memory);
    }
    vulkan.vkDestroySemaphore(device, this.#timeline, null);
    vulkan.vkDestroyCommandPool(device, this.#commandPool, null);
  }

  /** Commands that run before those of the next submit, to write bytes [begin, end) of a buffer. */
  #before(buffer: bigint, begin: number, end: number): bigint {
    if (this.#prologue === null) this.#prologue = this.begin();
    else if (begin < (this.#written.get(buffer) ?? 0)) {
      // It may have written the same bytes before.
      this.barrier(this.#prologue);
      this.#written.clear();
    }
    this.#written.set(buffer, end);
    return this.#prologue;
  }

  /** A staging buffer with room for `bytes`, of the prologue. */
  #stagingFor(bytes: number): Staging {
    const last = this.#filled.at(-1);
    if (last !== undefined && last.used + bytes <= STAGING_BYTES) return last;
    if (this.#filled.length >= STAGING_A_SUBMIT) this.submit([]);
    else this.#collect();
    // The ring is on its way: its oldest part comes back first.
    while (this.#idleStaging.length === 0 && this.#stagingCount >= MAX_STAGING) {
      this.wait(this.#waiting[0]!.after);
    }
    let staging = this.#idleStaging.pop();
    if (staging === undefined) {
      const use = BUFFER_USAGE.copySource;
      staging = { ...createBufferIn(this.#core, STAGING_BYTES, use, "upload"), used: 0 };
      this.#stagingCount++;
    }
    this.#filled.push(staging);
    return staging;
  }

  #collect(): void {
    const { vulkan, device } = this.#core;
    check(
      "vkGetSemaphoreCounterValue",
      vulkan.vkGetSemaphoreCounterValue(device, this.#timeline, this.#counter),
    );
    const done = new DataView(this.#counter.buffer).getBigUint64(0, true);
    this.#done = Number(done);
    this.#release(this.#done);
  }

  #release(done: number): void {
    const ready = this.#waiting.findIndex(({ after }) => after > done);
    const count = ready < 0 ? this.#waiting.length : ready;
    for (const { release } of this.#waiting.splice(0, count)) release();
  }
}

/**
 * Vulkan's compute part in the form of WebGPU's device (webgpu/gpu.ts), so that the GPU device and
 * all kernels run on it unchanged. After an error that leaves objects missing (full memory, a lost
 * device), nothing more is called: the GPU device ends with the error anyway.
 */
import { messageOf } from "../../../core/errors.ts";
import type {
  Gpu,
  GpuBindEntry,
  GpuEncoder,
  GpuLayoutEntry,
  GpuObject,
  GpuQuerySet,
} from "../webgpu/gpu.ts";
import {
  type Host,
  type SetLayout,
  VulkanBindGroup,
  VulkanBuffer,
  type VulkanCommands,
  VulkanEncoder,
  type VulkanPipeline,
  type VulkanQuerySet,
} from "./commands.ts";
import { DEVICE_LOST, handleOf, OUT_OF_MEMORY, VulkanError } from "./library.ts";
import { createBufferIn, MemoryPool, type MemoryUse } from "./memory.ts";
import type { Bytes } from "./memory_layout.ts";
import { wgslToSpirv } from "./naga.ts";
import {
  computeQueue,
  createDevice,
  type Features,
  type Instance,
  type Physical,
  requestFeatures,
} from "./physical.ts";
import { type PipelineLayout, PipelineObjects } from "./pipeline_objects.ts";
import { BUFFER_USAGE, type Core, Queue } from "./queue.ts";
import * as vk from "./structs.ts";

/** Bits of WebGPU's GPUBufferUsage. */
const MAP_READ = 1, UNIFORM = 0x40, STORAGE = 0x80;
/**
 * Bytes that a kernel sees of a buffer: offsets in bytes then have 32 bits, which WGSL's indices
 * and all compilers are made for. Longer tensors are bound in parts.
 */
const MAX_BINDING = 2 ** 32 - 256;

interface Scope {
  filter: "validation" | "out-of-memory";
  error: { message: string } | null;
}

interface ShaderModule extends GpuObject {
  /** Null when the text is wrong, which was reported. */
  spirv: Bytes | null;
  /** Then they must be full, and of the size that the card reports. */
  usesSubgroups: boolean;
}

export class VulkanGpu implements Gpu, Host {
  readonly core: Core;
  readonly work: Queue;
  readonly limits: Gpu["limits"];
  readonly leavesMemory = true;
  readonly features: { has(name: string): boolean };
  readonly timestampPeriod: number;
  readonly matrixUnits: Features["matrixUnits"];
  readonly queue: Gpu["queue"];
  readonly lost: Promise<{ readonly message: string }>;
  isDead = false;
  readonly #resolveLost: (reason: { message: string }) => void;
  readonly #available: Features;
  readonly #subgroupSize: number;
  readonly #objects: PipelineObjects;
  readonly #buffers = new Set<VulkanBuffer>();
  readonly #queries = new Set<bigint>();
  readonly #scopes: Scope[] = [];
  readonly #destroyInstance: () => void;
  #listener: ((event: Event) => void) | null = null;
  #isDestroyed = false;

  /** @throws VulkanError when the driver does not create the device */
  constructor({ vulkan, instance, destroy }: Instance, physical: Physical) {
    this.#destroyInstance = destroy;
    const { family, stamps } = computeQueue(vulkan, physical);
    const { features, ...wanted } = requestFeatures(vulkan, instance, physical);
    this.#available = features;
    this.#subgroupSize = physical.subgroupSize;
    this.matrixUnits = features.matrixUnits;
    const device = createDevice(vulkan, physical, family, wanted);
    this.core = { vulkan, device, pool: new MemoryPool(vulkan, physical.handle, device) };
    this.work = new Queue(this.core, family);
    this.#objects = new PipelineObjects(this.core);
    const L = vk.VkPhysicalDeviceLimits, { limits } = physical;
    this.limits = {
      maxBufferSize: physical.maxBuffer,
      maxAllocationSize: physical.maxAllocation,
      maxStorageBufferBindingSize: Math.min(L.number(limits, "maxStorageBufferRange"), MAX_BINDING),
      maxComputeWorkgroupsPerDimension: Math.min(
        ...[0, 1, 2].map((i) => L.number(limits, "maxComputeWorkGroupCount", i)),
      ),
      maxComputeWorkgroupStorageSize: L.number(limits, "maxComputeSharedMemorySize"),
      maxComputeInvocationsPerWorkgroup: L.number(limits, "maxComputeWorkGroupInvocations"),
    };
    this.timestampPeriod = L.number(limits, "timestampPeriod");
    const names = [
      ...(stamps > 0 && this.timestampPeriod > 0 ? ["timestamp-query"] : []),
      ...(features.float16 ? ["shader-f16"] : []),
    ];
    this.features = { has: (name) => names.includes(name) };
    const lost = Promise.withResolvers<{ message: string }>();
    this.lost = lost.promise;
    this.#resolveLost = lost.resolve;
    this.queue = {
      submit: (commands) =>
        this.guard(() => {
          const lists = commands as VulkanCommands[];
          const number = this.work.submit(lists.map(({ handle }) => handle));
          for (const { forHost } of lists) for (const buffer of forHost) buffer.copiedBy = number;
        }),
      writeBuffer: (buffer, offset, data, dataOffset = 0, size = data.length - dataOffset) => {
        const { handle } = buffer as VulkanBuffer;
        const part = data.subarray(dataOffset, dataOffset + size);
        this.guard(() => this.work.write(handle, offset, part));
      },
    };
  }

  guard(calls: () => void): void {
    if (this.isDead) return;
    try {
      calls();
    } catch (error) {
      if (!(error instanceof VulkanError)) throw error;
      this.isDead = true;
      const { result, message } = error;
      if (result === DEVICE_LOST) this.#resolveLost({ message });
      else this.#report(OUT_OF_MEMORY.includes(result) ? "out-of-memory" : "validation", message);
    }
  }

  forget(buffer: VulkanBuffer): void {
    this.#buffers.delete(buffer);
  }

  addEventListener(_type: "uncapturederror", listener: (event: Event) => void): void {
    this.#listener = listener;
  }

  pushErrorScope(filter: Scope["filter"]): void {
    this.#scopes.push({ filter, error: null });
  }

  popErrorScope(): Promise<{ readonly message: string } | null> {
    return Promise.resolve(this.#scopes.pop()?.error ?? null);
  }

  createBuffer(
    { size, usage, label = "" }: { size: number; usage: number; label?: string },
  ): VulkanBuffer {
    const use: MemoryUse = (usage & MAP_READ) === 0 ? "card" : "readback";
    const bytes = Math.ceil(size / 4) * 4;
    let made: VulkanBuffer | null = null;
    this.guard(() => {
      const bits = BUFFER_USAGE.copySource | BUFFER_USAGE.copyTarget |
        ((usage & UNIFORM) === 0 ? 0 : BUFFER_USAGE.uniform) |
        ((usage & STORAGE) === 0 ? 0 : BUFFER_USAGE.storage);
      const { handle, memory } = createBufferIn(this.core, bytes, bits, use);
      made = new VulkanBuffer(this, handle, memory, bytes, usage, label);
      this.#buffers.add(made);
    });
    return made ?? new VulkanBuffer(this, 0n, null, bytes, usage, label);
  }

  createBindGroupLayout({ entries }: { entries: GpuLayoutEntry[] }): GpuObject {
    return this.#made((objects) => objects.setLayout(entries));
  }

  createPipelineLayout({ bindGroupLayouts }: { bindGroupLayouts: GpuObject[] }): GpuObject {
    return this.#made((objects) => objects.pipelineLayout(bindGroupLayouts[0] as SetLayout));
  }

  createBindGroup(
    { layout, entries }: { layout: GpuObject; entries: GpuBindEntry[] },
  ): VulkanBindGroup {
    const setLayout = layout as SetLayout;
    let set = 0n;
    this.guard(() => set = this.#objects.set(setLayout, entries));
    const buffers = (written: boolean) =>
      this.isDead
        ? []
        : entries.flatMap(({ binding, resource: { buffer } }) =>
          setLayout.types.get(binding)!.writes === written ? [buffer as VulkanBuffer] : []
        );
    return new VulkanBindGroup(this, setLayout, set, buffers(false), buffers(true));
  }

  createShaderModule({ code, label = "" }: { code: string; label?: string }): GPUShaderModule {
    const module: ShaderModule = {
      label,
      spirv: this.#translated(code, !this.#available.robust),
      usesSubgroups: /^enable wgpu_cooperative_matrix;/m.test(code),
    };
    return module as unknown as GPUShaderModule;
  }

  createComputePipeline({ layout, compute, label = "" }: {
    layout: GpuObject;
    compute: { module: GPUShaderModule; entryPoint: string };
    label?: string;
  }): VulkanPipeline {
    const { spirv, usesSubgroups } = compute.module as unknown as ShaderModule;
    const subgroup = usesSubgroups ? this.#subgroupSize : null, { entryPoint } = compute;
    const { handle: layoutHandle } = layout as PipelineLayout;
    let handle = 0n;
    if (spirv !== null) {
      this.guard(() => handle = this.#objects.pipeline(spirv, entryPoint, layoutHandle, subgroup));
    }
    return { label, handle, layout: layoutHandle };
  }

  /** Null when the text is wrong, which is reported. */
  #translated(code: string, checkedBuffers: boolean): Bytes | null {
    try {
      return wgslToSpirv(code, { checked: true, checkedBuffers });
    } catch (error) {
      this.#report("validation", messageOf(error));
      return null;
    }
  }

  createQuerySet({ count }: { type: "timestamp"; count: number }): VulkanQuerySet {
    const { vulkan, device } = this.core, TIMESTAMP = 2;
    const info = vk.VkQueryPoolCreateInfo.make({ queryType: TIMESTAMP, queryCount: count });
    let handle = 0n;
    this.guard(() => {
      handle = handleOf(
        "vkCreateQueryPool",
        (out) => vulkan.vkCreateQueryPool(device, info, null, out),
      );
      this.#queries.add(handle);
    });
    const destroy = () =>
      this.guard(() =>
        this.work.later(() => {
          this.#queries.delete(handle);
          vulkan.vkDestroyQueryPool(device, handle, null);
        })
      );
    return { label: "", type: "timestamp", count, handle, destroy } satisfies GpuQuerySet & {
      handle: bigint;
    };
  }

  createCommandEncoder(): GpuEncoder {
    return new VulkanEncoder(this);
  }

  destroy(): void {
    if (this.#isDestroyed) return;
    this.#isDestroyed = true;
    const { vulkan, device, pool } = this.core;
    this.isDead = true;
    vulkan.vkDeviceWaitIdle(device); // returns at once when the device is lost
    this.work.close();
    for (const query of this.#queries) vulkan.vkDestroyQueryPool(device, query, null);
    for (const buffer of this.#buffers) buffer.free();
    this.#objects.close();
    pool.close();
    vulkan.vkDestroyDevice(device, null);
    this.#destroyInstance();
    this.#resolveLost({ message: "it was destroyed" });
  }

  #made<T extends GpuObject>(make: (objects: PipelineObjects) => T): GpuObject {
    let made: T | null = null;
    this.guard(() => made = make(this.#objects));
    return made ?? { label: "" };
  }

  /** Gives an error to the innermost scope for its kind, else to the listener. */
  #report(kind: Scope["filter"], message: string): void {
    const scope = this.#scopes.findLast(({ filter }) => filter === kind);
    if (scope !== undefined) scope.error ??= { message };
    else this.#listener?.(Object.assign(new Event("uncapturederror"), { error: { message } }));
  }
}

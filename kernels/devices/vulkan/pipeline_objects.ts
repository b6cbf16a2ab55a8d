/**
 * Layouts, sets of descriptors and pipelines. Sets are allocated in pools, one for a layout and
 * some dozens of sets, and are used again after their bind group was destroyed.
 */
import type { GpuBindEntry, GpuLayoutEntry, GpuObject } from "../webgpu/gpu.ts";
import type { SetLayout, VulkanBuffer } from "./commands.ts";
import { check, handleOf } from "./library.ts";
import { type Bytes, joined, u64Array, zeros } from "./memory_layout.ts";
import type { Core } from "./queue.ts";
import * as vk from "./structs.ts";

/** Sets in a pool. */
const SETS = 64;
/** VkShaderStageFlags. */
const COMPUTE = 0x20;
/** VkDescriptorType. */
const STORAGE_BUFFER = 7;
const DYNAMIC_UNIFORM = 8;

/** VkPipelineShaderStageCreateFlags. */
const FULL_SUBGROUPS = 2;

/** A VkPipelineCache; drivers of cards keep what they have compiled in files of their own. */
const NO_CACHE = 0n;

export interface PipelineLayout extends GpuObject {
  readonly handle: bigint;
}

export class PipelineObjects {
  readonly #core: Pick<Core, "vulkan" | "device">;
  /** Destroys what was made; called in reverse order. */
  readonly #made: (() => void)[] = [];

  constructor(core: Pick<Core, "vulkan" | "device">) {
    this.#core = core;
  }

  setLayout(entries: readonly GpuLayoutEntry[]): SetLayout {
    const { vulkan, device } = this.#core;
    const types = new Map(entries.map(({ binding, buffer: { type } }) => [binding, {
      type: type === "uniform" ? DYNAMIC_UNIFORM : STORAGE_BUFFER,
      writes: type === "storage",
    }]));
    const bindings = [...types].map(([binding, { type }]) =>
      vk.VkDescriptorSetLayoutBinding.make({
        binding,
        descriptorType: type,
        descriptorCount: 1,
        stageFlags: COMPUTE,
      })
    );
    const info = vk.VkDescriptorSetLayoutCreateInfo.make({
      bindingCount: bindings.length,
      pBindings: joined(bindings),
    });
    const handle = this.#create(
      "vkCreateDescriptorSetLayout",
      (out) => vulkan.vkCreateDescriptorSetLayout(device, info, null, out),
      (handle) => vulkan.vkDestroyDescriptorSetLayout(device, handle, null),
    );
    return { label: "", handle, types, idle: [] };
  }

  pipelineLayout({ handle: setLayout }: SetLayout): PipelineLayout {
    const { vulkan, device } = this.#core;
    const info = vk.VkPipelineLayoutCreateInfo.make({
      setLayoutCount: 1,
      pSetLayouts: u64Array([setLayout]),
    });
    const handle = this.#create(
      "vkCreatePipelineLayout",
      (out) => vulkan.vkCreatePipelineLayout(device, info, null, out),
      (handle) => vulkan.vkDestroyPipelineLayout(device, handle, null),
    );
    return { label: "", handle };
  }

  /** A set of descriptors for these buffers. */
  set(layout: SetLayout, entries: readonly GpuBindEntry[]): bigint {
    if (layout.idle.length === 0) layout.idle.push(...this.#allocate(layout));
    const set = layout.idle.pop()!;
    const writes = entries.map(({ binding, resource: { buffer, offset, size } }) =>
      vk.VkWriteDescriptorSet.make({
        dstSet: set,
        dstBinding: binding,
        descriptorCount: 1,
        descriptorType: layout.types.get(binding)!.type,
        pBufferInfo: vk.VkDescriptorBufferInfo.make({
          buffer: (buffer as VulkanBuffer).handle,
          offset,
          range: size,
        }),
      })
    );
    const { vulkan, device } = this.#core;
    vulkan.vkUpdateDescriptorSets(device, writes.length, joined(writes), 0, null);
    return set;
  }

  /** @param subgroup invocations that each subgroup must have; null: what the driver likes */
  pipeline(
    spirv: Bytes,
    entryPoint: string,
    layout: bigint,
    subgroup: number | null = null,
  ): bigint {
    const { vulkan, device } = this.#core;
    const code = vk.VkShaderModuleCreateInfo.make({ codeSize: spirv.length, pCode: spirv });
    const module = handleOf(
      "vkCreateShaderModule",
      (out) => vulkan.vkCreateShaderModule(device, code, null, out),
    );
    try {
      const required = subgroup === null
        ? null
        : vk.VkPipelineShaderStageRequiredSubgroupSizeCreateInfo.make({
          requiredSubgroupSize: subgroup,
        });
      const stage = vk.VkPipelineShaderStageCreateInfo.make({
        flags: subgroup === null ? 0 : FULL_SUBGROUPS,
        stage: COMPUTE,
        module,
        pName: entryPoint,
      }, required);
      const info = vk.VkComputePipelineCreateInfo.make({ stage, layout, basePipelineIndex: -1 });
      return this.#create(
        "vkCreateComputePipelines",
        (out) => vulkan.vkCreateComputePipelines(device, NO_CACHE, 1, info, null, out),
        (handle) => vulkan.vkDestroyPipeline(device, handle, null),
      );
    } finally {
      vulkan.vkDestroyShaderModule(device, module, null);
    }
  }

  close(): void {
    for (const destroy of this.#made.splice(0).reverse()) destroy();
  }

  #allocate({ handle, types }: SetLayout): bigint[] {
    const { vulkan, device } = this.#core;
    const sizes = [STORAGE_BUFFER, DYNAMIC_UNIFORM].flatMap((type) => {
      const count = [...types.values()].filter((entry) => entry.type === type).length;
      if (count === 0) return [];
      return [vk.VkDescriptorPoolSize.make({ type, descriptorCount: SETS * count })];
    });
    const info = vk.VkDescriptorPoolCreateInfo.make({
      maxSets: SETS,
      poolSizeCount: sizes.length,
      pPoolSizes: joined(sizes),
    });
    const pool = this.#create(
      "vkCreateDescriptorPool",
      (out) => vulkan.vkCreateDescriptorPool(device, info, null, out),
      (pool) => vulkan.vkDestroyDescriptorPool(device, pool, null),
    );
    const sets = zeros(8 * SETS);
    const allocate = vk.VkDescriptorSetAllocateInfo.make({
      descriptorPool: pool,
      descriptorSetCount: SETS,
      pSetLayouts: u64Array(new Array<bigint>(SETS).fill(handle)),
    });
    check("vkAllocateDescriptorSets", vulkan.vkAllocateDescriptorSets(device, allocate, sets));
    return [...new BigUint64Array(sets.buffer)];
  }

  #create(
    call: string,
    create: (out: Bytes) => number,
    destroy: (handle: bigint) => void,
  ): bigint {
    const handle = handleOf(call, create);
    this.#made.push(() => destroy(handle));
    return handle;
  }
}

/**
 * Opens the Vulkan loader, which every driver of a graphics card brings along, through Deno's FFI.
 * Handles are 64-bit numbers, and structures are bytes (structs.ts).
 */
import { EXIT, messageOf, RgxError, UsageError } from "../../../core/errors.ts";
import { missingForGpu } from "../webgpu/no_adapter.ts";
import { type Bytes, zeros } from "./memory_layout.ts";

const B = "buffer", H = "u64", P = "pointer", I = "u32", R = "i32";

function fn<const A extends Deno.NativeType[]>(parameters: A) {
  return { parameters, result: "void" } as const;
}

/** A function that returns a VkResult. */
function result<const A extends Deno.NativeType[]>(parameters: A) {
  return { parameters, result: R } as const;
}

const SYMBOLS = {
  vkCreateInstance: result([B, P, B]),
  vkDestroyInstance: fn([H, P]),
  vkEnumeratePhysicalDevices: result([H, B, B]),
  vkGetPhysicalDeviceProperties2: fn([H, B]),
  vkGetPhysicalDeviceFeatures2: fn([H, B]),
  vkGetPhysicalDeviceMemoryProperties: fn([H, B]),
  vkGetPhysicalDeviceQueueFamilyProperties: fn([H, B, B]),
  vkEnumerateDeviceExtensionProperties: result([H, P, B, B]),
  vkGetInstanceProcAddr: { parameters: [H, B], result: P },
  vkCreateDevice: result([H, B, P, B]),
  vkDestroyDevice: fn([H, P]),
  vkDeviceWaitIdle: result([H]),
  vkGetDeviceQueue: fn([H, I, I, B]),
  vkCreateBuffer: result([H, B, P, B]),
  vkDestroyBuffer: fn([H, H, P]),
  vkGetBufferMemoryRequirements: fn([H, H, B]),
  vkAllocateMemory: result([H, B, P, B]),
  vkFreeMemory: fn([H, H, P]),
  vkBindBufferMemory: result([H, H, H, H]),
  vkMapMemory: result([H, H, H, H, I, B]),
  vkCreateShaderModule: result([H, B, P, B]),
  vkDestroyShaderModule: fn([H, H, P]),
  vkCreateDescriptorSetLayout: result([H, B, P, B]),
  vkDestroyDescriptorSetLayout: fn([H, H, P]),
  vkCreatePipelineLayout: result([H, B, P, B]),
  vkDestroyPipelineLayout: fn([H, H, P]),
  vkCreateComputePipelines: result([H, H, I, B, P, B]),
  vkDestroyPipeline: fn([H, H, P]),
  vkCreateDescriptorPool: result([H, B, P, B]),
  vkDestroyDescriptorPool: fn([H, H, P]),
  vkAllocateDescriptorSets: result([H, B, B]),
  vkUpdateDescriptorSets: fn([H, I, B, I, P]),
  vkCreateCommandPool: result([H, B, P, B]),
  vkDestroyCommandPool: fn([H, H, P]),
  vkAllocateCommandBuffers: result([H, B, B]),
  vkBeginCommandBuffer: result([H, B]),
  vkEndCommandBuffer: result([H]),
  vkCmdBindPipeline: fn([H, I, H]),
  vkCmdBindDescriptorSets: fn([H, I, H, I, I, B, I, B]),
  vkCmdDispatch: fn([H, I, I, I]),
  vkCmdPipelineBarrier: fn([H, I, I, I, I, B, I, P, I, P]),
  vkCmdCopyBuffer: fn([H, H, H, I, B]),
  vkCmdFillBuffer: fn([H, H, H, H, I]),
  vkCreateQueryPool: result([H, B, P, B]),
  vkDestroyQueryPool: fn([H, H, P]),
  vkCmdResetQueryPool: fn([H, H, I, I]),
  vkCmdWriteTimestamp: fn([H, I, H, I]),
  vkCmdCopyQueryPoolResults: fn([H, H, I, I, H, H, H, I]),
  vkCreateSemaphore: result([H, B, P, B]),
  vkDestroySemaphore: fn([H, H, P]),
  vkGetSemaphoreCounterValue: result([H, H, B]),
  vkWaitSemaphores: result([H, B, H]),
  vkQueueSubmit: result([H, I, B, H]),
} as const;

export type Vulkan = Deno.StaticForeignLibraryInterface<typeof SYMBOLS>;

const LOADERS: Partial<Record<typeof Deno.build.os, string>> = {
  darwin: "libvulkan.1.dylib",
  windows: "vulkan-1.dll",
};

let opened: Vulkan | undefined;

/**
 * The functions of the Vulkan loader, which stays open. RGX_VULKAN_LIB names a loader elsewhere.
 * @throws RgxError (exit 2) with what to install or to permit
 */
export function openVulkan(
  env: (name: string) => string | undefined = (name) => Deno.env.get(name),
  dlopen: (path: string) => Vulkan = (path) => Deno.dlopen(path, SYMBOLS).symbols,
  known: Vulkan | null = opened ?? null,
): Vulkan {
  if (known !== null) return known;
  const named = env("RGX_VULKAN_LIB");
  const path = named ?? LOADERS[Deno.build.os] ?? "libvulkan.so.1";
  try {
    return opened = dlopen(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) {
      throw new UsageError("the device vulkan calls the Vulkan loader, which is not permitted", {
        advice: "Start with --allow-ffi (the executable has it), or use --device webgpu.",
      });
    }
    if (named !== undefined) {
      throw new UsageError(`RGX_VULKAN_LIB: ${named} is no Vulkan loader: ${messageOf(error)}`, {
        advice: "Name the file itself, as /usr/lib/x86_64-linux-gnu/libvulkan.so.1.",
      });
    }
    throw noVulkanError(messageOf(error));
  }
}

/** The error for a machine without Vulkan. */
export function noVulkanError(why: string): RgxError {
  const reasons = missingForGpu().map((reason) => `\n  - ${reason}`).join("");
  return new RgxError(`Vulkan cannot be used: ${why}${reasons}`, {
    advice: "compute on the CPU with --device wasm; rgx doctor shows what this machine has",
    exitCode: EXIT.usage,
  });
}

const RESULTS: Record<number, string> = {
  [-1]: "out of the machine's memory",
  [-2]: "out of the card's memory",
  [-3]: "the driver could not be initialised",
  [-4]: "the device is lost",
  [-5]: "memory could not be mapped",
  [-6]: "a layer is missing",
  [-7]: "an extension is missing",
  [-8]: "a feature is missing",
  [-9]: "no driver for Vulkan was found",
  [-10]: "too many objects",
  [-13]: "unknown error",
};
export const OUT_OF_MEMORY = [-1, -2], DEVICE_LOST = -4;

/** A call of Vulkan that failed. */
export class VulkanError extends Error {
  constructor(call: string, readonly result: number) {
    super(`${call}: ${RESULTS[result] ?? "error"} (VkResult ${result})`);
  }
}

/** @throws VulkanError unless the result is a success (also "incomplete") */
export function check(call: string, result: number): void {
  if (result < 0) throw new VulkanError(call, result);
}

/** Gives `create` room for a handle, and returns the handle. */
export function handleOf(call: string, create: (out: Bytes) => number | void): bigint {
  const out = zeros(8);
  check(call, create(out) ?? 0);
  return new DataView(out.buffer).getBigUint64(0, true);
}

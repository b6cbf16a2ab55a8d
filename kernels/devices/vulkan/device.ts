/**
 * The device `vulkan`: the GPU device and its kernels (devices/webgpu/) on Vulkan through FFI. It
 * reaches what Deno's WebGPU does not: any card by its number, the period of time stamps, and
 * bindings of more than 2 GiB.
 */
import type { AdapterInfo } from "../../device.ts";
import { deviceOn, type WebgpuDevice, type WebgpuDeviceOptions } from "../webgpu/device.ts";
import { VulkanGpu } from "./gpu.ts";
import { noVulkanError, VulkanError } from "./library.ts";
import {
  choosePhysical,
  createInstance,
  type Features,
  listPhysical,
  requestFeatures,
} from "./physical.ts";

/**
 * Creates a device on a card; without one, on a CPU behind Vulkan.
 * @throws RgxError (exit 2, with what to install) when there is no Vulkan, no such card, or the
 *   card lacks what the kernels need
 */
export async function createVulkanDevice(
  options: WebgpuDeviceOptions = {},
): Promise<WebgpuDevice> {
  const opened = createInstance();
  try {
    const found = listPhysical(opened.vulkan, opened.instance);
    const physical = choosePhysical(found, options.card ?? null);
    const { info } = physical;
    return await deviceOn("vulkan", info, options, () => new VulkanGpu(opened, physical));
  } catch (error) {
    opened.destroy();
    if (error instanceof VulkanError) throw noVulkanError(error.message);
    throw error;
  }
}

/**
 * The default device of Vulkan, as {@link createVulkanDevice} would take it.
 * @throws RgxError (exit 2) when there is none
 */
export function vulkanAdapter(): AdapterInfo {
  const { vulkan, instance, destroy } = createInstance();
  try {
    return choosePhysical(listPhysical(vulkan, instance), null).info;
  } finally {
    destroy();
  }
}

/** An adapter of Vulkan, with what decides how kernels run on it. */
export interface VulkanAdapter extends AdapterInfo, Features {
  /** "0000:41:00.0" on the PCI bus; null when unknown. */
  address: string | null;
  extensions: string[];
  /** Max bytes of a tensor. */
  largestTensor: number;
}

/**
 * The adapters that Vulkan offers, the first of which is the default.
 * @throws RgxError (exit 2) when there is no Vulkan
 */
export function vulkanAdapters(): VulkanAdapter[] {
  const { vulkan, instance, destroy } = createInstance();
  try {
    return listPhysical(vulkan, instance).map((physical) => ({
      ...physical.info,
      address: physical.address,
      extensions: [...physical.extensions].sort(),
      largestTensor: physical.maxBuffer,
      ...requestFeatures(vulkan, instance, physical).features,
    }));
  } finally {
    destroy();
  }
}

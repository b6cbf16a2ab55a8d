/** Helpers for tests that need Vulkan. */
import { isWebgpuWanted } from "../webgpu/testing.ts";
import { vulkanAdapters } from "./device.ts";

/** Whether tests can run on Vulkan: they are wanted, and there is a card or a software driver. */
export const hasVulkan = isWebgpuWanted && offersDevice();

function offersDevice(): boolean {
  try {
    return vulkanAdapters().length > 0;
  } catch {
    return false; // no loader, or no driver
  }
}

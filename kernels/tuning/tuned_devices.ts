/** Opens the devices whose kernels can be tuned, with a clock for kernels. */
import { createVulkanDevice } from "../devices/vulkan/device.ts";
import { createWebgpuDevice, type WebgpuDevice } from "../devices/webgpu/device.ts";

/** @throws RgxError when the device cannot be opened */
export async function openTunedDevice(name: string, card: number | null): Promise<WebgpuDevice> {
  if (name === "vulkan") return await createVulkanDevice({ card, trace: "stamps" });
  if (name !== "webgpu") throw new Error(`the kernels of ${name} cannot be tuned`);
  return await createWebgpuDevice({ card, trace: "stamps" });
}

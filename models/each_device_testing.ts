/**
 * For tests of models that run on every device. A file that imports this one has one more test,
 * which is ignored with a reason where there is no adapter for WebGPU.
 */
import type { Device } from "../kernels/device.ts";
import { createWebgpuDevice } from "../kernels/devices/webgpu/device.ts";
import { hasWebgpu, webgpuTest } from "../kernels/devices/webgpu/testing.ts";
import { createWasmDevice } from "../kernels/devices/wasm/device.ts";
import { withReference } from "./testing.ts";

webgpuTest("the tests of this file also run on webgpu", () => Promise.resolve());

/**
 * Calls `work` on the float64 reference, on the CPU device and on a GPU if there is one. Each is
 * closed afterwards.
 */
export async function onEachDevice(
  work: (device: Device, exact: boolean) => Promise<void>,
): Promise<void> {
  await withReference((device) => work(device, true));
  const others: (() => Promise<Device>)[] = [() => createWasmDevice({ threads: 2 })];
  if (hasWebgpu) others.push(() => createWebgpuDevice());
  for (const create of others) {
    const device = await create();
    try {
      await work(device, false);
    } finally {
      device.close();
    }
  }
}

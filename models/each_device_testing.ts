/**
 * For tests of models that run on every device. A file that imports this one has one more test,
 * which is ignored with a reason where there is no adapter for WebGPU.
 */
import type { Device } from "../kernels/device.ts";
import { findAdapter } from "../kernels/devices/webgpu/adapter.ts";
import { createWebgpuDevice } from "../kernels/devices/webgpu/device.ts";
import { createWasmDevice } from "../kernels/devices/wasm/device.ts";
import { NEEDED, needs } from "../tests/skipped.ts";
import { withReference } from "./testing.ts";

const isWebgpuWanted = Deno.env.get("RGX_TEST_WEBGPU") !== "off";

/** Null without a GPU or a software adapter, or with RGX_TEST_WEBGPU=off. */
export const adapter = isWebgpuWanted ? await findAdapter() : null;

if (isWebgpuWanted) {
  Deno.test({
    name: "the tests of this file also run on webgpu",
    ignore: needs(adapter !== null, NEEDED.webgpu),
    fn: () => {},
  });
}

/**
 * Calls `work` on the float64 reference, on the CPU device and on a GPU if there is one. Each is
 * closed afterwards.
 */
export async function onEachDevice(
  work: (device: Device, exact: boolean) => Promise<void>,
): Promise<void> {
  await withReference((device) => work(device, true));
  const others: (() => Promise<Device>)[] = [() => createWasmDevice({ threads: 2 })];
  if (adapter !== null) others.push(() => createWebgpuDevice());
  for (const create of others) {
    const device = await create();
    try {
      await work(device, false);
    } finally {
      device.close();
    }
  }
}

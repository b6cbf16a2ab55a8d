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
 * Whether a device computes on the CPU what is written for cards. It takes ten times as long as the
 * others there, and the kernels have their own tests: few cases show that a model uses them well.
 */
export function isEmulated({ adapter }: Device): boolean {
  return adapter?.software === true;
}

/** One for all tests of a file: its pipelines are made once. */
let webgpu: Device | undefined;
globalThis.addEventListener("unload", () => webgpu?.close());

/**
 * Calls `work` on the float64 reference, on the CPU device and on a GPU if there is one. The first
 * two are closed afterwards.
 */
export async function onEachDevice(
  work: (device: Device, exact: boolean) => Promise<void>,
): Promise<void> {
  await withReference((device) => work(device, true));
  const wasm = await createWasmDevice({ threads: 2 });
  try {
    await work(wasm, false);
  } finally {
    wasm.close();
  }
  if (hasWebgpu) await work(webgpu ??= await createWebgpuDevice(), false);
}

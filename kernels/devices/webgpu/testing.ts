/**
 * Helpers for tests that need an adapter for WebGPU, and for tests of WGSL kernels on a device with
 * chosen limits.
 */
import { findAdapter } from "./adapter.ts";
import { createWebgpuDevice, type WebgpuDevice, type WebgpuDeviceOptions } from "./device.ts";
import { NEEDED, needs } from "../../../tests/skipped.ts";

/** Whether tests on webgpu are wanted. RGX_TEST_WEBGPU=off leaves them out. */
export const isWebgpuWanted = Deno.env.get("RGX_TEST_WEBGPU") !== "off";

/** Whether tests can run on webgpu: they are wanted, and there is a card or a software adapter. */
export const hasWebgpu = isWebgpuWanted && await findAdapter() !== null;

/**
 * A test that needs an adapter. Without one it is ignored with a reason. If it is not wanted, it is
 * not defined.
 * @param isIgnored further reasons to ignore the test
 */
export function webgpuTest(
  name: string,
  body: () => Promise<void>,
  isIgnored: () => boolean = () => false,
): void {
  if (!isWebgpuWanted) return;
  Deno.test({ name, ignore: isIgnored() || needs(hasWebgpu, NEEDED.webgpu), fn: body });
}

/** A test on a GPU device, which is closed at the end. */
export function testOnWebgpu(
  name: string,
  limits: NonNullable<WebgpuDeviceOptions["limits"]>,
  body: (device: WebgpuDevice) => void | Promise<void>,
): void {
  webgpuTest(name, async () => {
    using device = await createWebgpuDevice({ limits });
    await body(device);
  });
}

/** The devices that the conformance suite holds against the float64 reference: one line each. */
import type { Device } from "../device.ts";
import { createReferenceDevice } from "../devices/reference/device.ts";
import { createWasmDevice } from "../devices/wasm/device.ts";
import { findAdapter } from "../devices/webgpu/adapter.ts";
import { createWebgpuDevice } from "../devices/webgpu/device.ts";

export interface DeviceUnderTest {
  name: string;
  create(): Device | Promise<Device>;
  /** Results must have the bits of the device listed under this name (the same with other threads). */
  sameBitsAs?: string;
}

export const DEVICES: readonly DeviceUnderTest[] = [
  ...reference(),
  { name: "wasm, 1 thread", create: () => wasm(1) },
  { name: "wasm, 2 threads", create: () => wasm(2), sameBitsAs: "wasm, 1 thread" },
  { name: "wasm, 3 threads", create: () => wasm(3), sameBitsAs: "wasm, 1 thread" },
  ...await webgpu(),
];

function reference(): DeviceUnderTest[] {
  if (Deno.env.get("RGX_TEST_REFERENCE") === "off") return [];
  return [{ name: "reference (f32)", create: () => createReferenceDevice() }];
}

/** A GPU, or a software adapter; without either the tests of this device are missing, and say so. */
async function webgpu(): Promise<DeviceUnderTest[]> {
  if (Deno.env.get("RGX_TEST_WEBGPU") === "off") return [];
  if (await findAdapter() === null) {
    console.warn("tests on webgpu are left out: no adapter (apt-get install mesa-vulkan-drivers)");
    return [];
  }
  return [{ name: "webgpu", create: () => createWebgpuDevice() }];
}

/** All threads are up before the first operation: else a short test would run on one. */
async function wasm(threads: number): Promise<Device> {
  const device = await createWasmDevice({ threads });
  await device.ready();
  return device;
}

/** One test per device; the device is closed whatever happens. */
export function testOnEveryDevice(
  sentence: string,
  check: (device: Device) => void | Promise<void>,
): void {
  for (const { name, create } of DEVICES) {
    Deno.test(`${sentence} (${name})`, async () => {
      const device = await create();
      try {
        await check(device);
      } finally {
        device.close();
      }
    });
  }
}

/**
 * The devices that the conformance suite compares with the float64 reference, one line for each.
 */
import type { Device } from "../device.ts";
import { isForCards } from "./cases/matmul_testing.ts";
import type { Case } from "./runner_testing.ts";
import { createReferenceDevice } from "../devices/reference/device.ts";
import { createVulkanDevice } from "../devices/vulkan/device.ts";
import { hasVulkan } from "../devices/vulkan/testing.ts";
import { createWasmDevice } from "../devices/wasm/device.ts";
import { createWebgpuDevice } from "../devices/webgpu/device.ts";
import { hasWebgpu, isWebgpuWanted } from "../devices/webgpu/testing.ts";
import { someOf } from "../../tests/cases.ts";
import { NEEDED, needs } from "../../tests/skipped.ts";

export interface DeviceUnderTest {
  name: string;
  create(): Device | Promise<Device>;
  /** Results must have the same bits as on the device with this name. */
  sameBitsAs?: string;
  /** One case in 16 is enough, because another device runs the same kernels. */
  someCases?: boolean;
  /** A graphics card, which has no operation for a whole decoding layer. */
  isCard?: boolean;
  /** The value of `ignore` for a test on this device; called once for each test. */
  isMissing?(): boolean;
}

export const DEVICES: readonly DeviceUnderTest[] = [
  ...reference(),
  { name: "wasm, 1 thread", create: () => wasm(1, false) },
  ...native(),
  {
    name: "wasm, 3 threads",
    create: () => wasm(3, false),
    sameBitsAs: "wasm, 1 thread",
    someCases: true,
  },
  ...webgpu(),
  ...vulkan(),
];

/** Where the machine has no native kernels, these devices use the WASM kernels. */
function native(): DeviceUnderTest[] {
  if (Deno.env.get("RGX_NATIVE") === "0") return [];
  return [
    { name: "wasm, 1 thread, native", create: () => wasm(1), sameBitsAs: "wasm, 1 thread" },
    { name: "wasm, 2 threads, native", create: () => wasm(2), sameBitsAs: "wasm, 1 thread" },
  ];
}

function reference(): DeviceUnderTest[] {
  if (Deno.env.get("RGX_TEST_REFERENCE") === "off") return [];
  return [{ name: "reference (f32)", create: () => createReferenceDevice() }];
}

/** A GPU or a software adapter. Without both, these tests are ignored. */
function webgpu(): DeviceUnderTest[] {
  if (!isWebgpuWanted) return [];
  return [{
    name: "webgpu",
    isCard: true,
    create: () => createWebgpuDevice(),
    isMissing: () => needs(hasWebgpu, NEEDED.webgpu),
  }];
}

/**
 * The same kernels on Vulkan through FFI, with the same bits as WebGPU on the same adapter. Few
 * cases show that; RGX_TEST_VULKAN=1 runs all of them, for minutes.
 */
function vulkan(): DeviceUnderTest[] {
  if (!isWebgpuWanted) return [];
  const all = Deno.env.get("RGX_TEST_VULKAN") === "1";
  return [{
    name: "vulkan",
    create: () => createVulkanDevice(),
    sameBitsAs: "webgpu",
    isCard: true,
    someCases: !all,
    isMissing: () => needs(hasVulkan && hasWebgpu, NEEDED.vulkan),
  }];
}

/** Waits until all threads run; else a short test would only use the calling thread. */
async function wasm(threads: number, native = true): Promise<Device> {
  const device = await createWasmDevice({ threads, native });
  await device.ready();
  return device;
}

/** Fewer cases for a device that runs the code of another one: of the float64 reference, too. */
export function casesFor(
  cases: readonly Case[],
  { name, adapter }: Device,
  someCases = false,
): Case[] {
  const own = adapter === undefined ? cases : cases.filter(isForCards);
  return someOf(own, someCases || name === "reference");
}

/** The devices whose kernels differ. */
export const DEVICES_WITH_KERNELS = DEVICES.filter(({ someCases }) => someCases !== true);

/** Defines one test for each of some devices, which is closed at the end. */
export function testOnEveryDevice(
  sentence: string,
  check: (device: Device) => void | Promise<void>,
  devices: readonly DeviceUnderTest[] = DEVICES_WITH_KERNELS,
): void {
  for (const { name, create, isMissing } of devices) {
    Deno.test({
      name: `${sentence} (${name})`,
      ignore: isMissing?.() ?? false,
      async fn() {
        using device = await create();
        await check(device);
      },
    });
  }
}

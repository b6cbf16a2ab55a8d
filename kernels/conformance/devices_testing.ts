/**
 * The devices that the conformance suite compares with the float64 reference, one line for each.
 */
import assert from "node:assert/strict";
import type { Device } from "../device.ts";
import type { ComputeDtype } from "../ops/common/compute_dtype.ts";
import type { HostArray } from "../tensor.ts";
import { sameBits } from "../testing.ts";
import { isForCards } from "./cases/matmul_testing.ts";
import { type Case, checkCase, execute } from "./runner_testing.ts";
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
  /** For tests that close a device; others use {@link withDevice}. */
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

/** The same with bindings of so many elements: longer tensors are done in parts. */
export function webgpuInParts(bindingElements: number): DeviceUnderTest[] {
  return webgpu().map((device) => ({
    ...device,
    name: `webgpu, bindings of ${bindingElements} elements`,
    create: () => createWebgpuDevice({ limits: { bindingElements } }),
  }));
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

/** One of each kind for all tests of a file: an emulated card's kernels take minutes to compile. */
const cards = new Map<string, Device>();
globalThis.addEventListener("unload", () => cards.forEach((card) => card.close()));

/** One of each kind for all tests of a file: an emulated card compiles its kernels for minutes. */
async function withDevice<T>(
  { name, create, isCard = false }: DeviceUnderTest,
  work: (device: Device) => T | Promise<T>,
): Promise<T> {
  if (!isCard) {
    using device = await create();
    return await work(device);
  }
  const card = cards.get(name) ?? await create();
  cards.set(name, card);
  try {
    return await work(card);
  } finally {
    card.computeDtype = "float32";
  }
}

/** The devices whose kernels differ. */
export const DEVICES_WITH_KERNELS = DEVICES.filter(({ someCases }) => someCases !== true);

/** Defines one test for each of some devices. */
export function testOnEveryDevice(
  sentence: string,
  check: (device: Device) => void | Promise<void>,
  devices: readonly DeviceUnderTest[] = DEVICES_WITH_KERNELS,
): void {
  for (const under of devices) {
    Deno.test({
      name: `${sentence} (${under.name})`,
      ignore: under.isMissing?.() ?? false,
      fn: () => withDevice(under, check),
    });
  }
}

/** Cases that are made for one sentence's tests. */
interface Cases {
  all: () => Case[] | Promise<Case[]>;
  /** Fewer of them for a software adapter, which takes seconds to compile a kernel. */
  brief: (all: readonly Case[]) => readonly Case[] | Promise<readonly Case[]>;
}

/** What was made and computed for a sentence; only the last one's, since all take gigabytes. */
let made: {
  sentence: string;
  all?: Case[];
  brief?: readonly Case[];
  /** What each case gave on the devices whose bits others must have. */
  results: Map<Case, Map<string, ReadonlyMap<string, HostArray>>>;
} = { sentence: "", results: new Map() };

/**
 * Defines a test for each of some devices: it agrees with the float64 reference in all cases, or
 * has the bits of a device that does, also for views with guards around them.
 */
export function testCases(
  sentence: string,
  { all, brief }: Cases,
  devices: readonly DeviceUnderTest[],
  computeDtype: ComputeDtype = "float32",
): void {
  for (const under of devices) {
    const { name, sameBitsAs, someCases } = under;
    testOnEveryDevice(sentence, async (device) => {
      device.computeDtype = computeDtype;
      if (made.sentence !== sentence) made = { sentence, results: new Map() };
      made.all ??= await all();
      const isBrief = device.adapter?.software === true;
      const cases = isBrief ? made.brief ??= await brief(made.all) : made.all;
      assert.ok(cases.length > 0);
      for (const test of casesFor(cases, device, someCases)) {
        const of = made.results.get(test) ?? new Map();
        if (sameBitsAs === undefined) {
          made.results.set(test, of.set(name, await checkCase(device, test)));
          continue;
        }
        const wanted = of.get(sameBitsAs) ?? await executeOn(sameBitsAs, test, computeDtype);
        const found = await execute(device, test, "view");
        for (const [argument, bits] of wanted) {
          const same = sameBits(bits, found.get(argument)!);
          assert.ok(same, `${test.op} ${test.name}: ${argument} differs from ${sameBitsAs}`);
        }
      }
      assert.equal(device.allocatedBytes, 0);
    }, [under]);
  }
}

/** Where `deno test --filter` has left out the test of a device whose bits others must have. */
function executeOn(name: string, test: Case, computeDtype: ComputeDtype) {
  return withDevice(DEVICES.find((device) => device.name === name)!, (device) => {
    device.computeDtype = computeDtype;
    return execute(device, test);
  });
}

/** The GPU device on Vulkan: what it does on WebGPU too, and what only Vulkan has. */
import assert from "node:assert/strict";
import { EXIT, RgxError, UsageError } from "../../../core/errors.ts";
import { refusal } from "../../../core/testing.ts";
import { NEEDED, needs } from "../../../tests/skipped.ts";
import { sameBits, upload } from "../../testing.ts";
import { testGpuDevice } from "../webgpu/device_testing.ts";
import { gpuAvailableBytes } from "../webgpu/gpu_memory.ts";
import { deviceOn, type WebgpuDevice, type WebgpuDeviceOptions } from "../webgpu/device.ts";
import { isWebgpuWanted } from "../webgpu/testing.ts";
import { createVulkanDevice } from "./device.ts";
import { VulkanGpu } from "./gpu.ts";
import { openVulkan } from "./library.ts";
import {
  choosePhysical,
  createInstance,
  type Instance,
  listPhysical,
  type Physical,
} from "./physical.ts";
import { hasVulkan } from "./testing.ts";

function define(
  name: string,
  fn: () => Promise<void>,
  ignore = () => needs(hasVulkan, NEEDED.vulkan),
): void {
  if (isWebgpuWanted) Deno.test({ name: `${name} (vulkan)`, ignore: ignore(), fn });
}

function vulkanTest(
  name: string,
  body: (device: WebgpuDevice) => void | Promise<void>,
  options: WebgpuDeviceOptions = {},
): void {
  define(name, async () => {
    using device = await createVulkanDevice(options);
    await body(device);
  });
}

/** A test of the calls below a device, some of which `watched` replaces. */
function callsTest(
  name: string,
  body: (device: WebgpuDevice, gpu: VulkanGpu) => Promise<void>,
  watched = (vulkan: Instance["vulkan"]) => vulkan,
): void {
  define(name, async () => {
    const opened = createInstance();
    const physical = choosePhysical(listPhysical(opened.vulkan, opened.instance), null);
    const gpu = new VulkanGpu({ ...opened, vulkan: watched(opened.vulkan) }, physical);
    using device = await deviceOn("vulkan", physical.info, {}, () => gpu);
    await body(device, gpu);
  });
}

testGpuDevice(vulkanTest);

vulkanTest("bind groups beyond those that are kept are freed and made again", async (device) => {
  const KEPT = 16_384, parts = KEPT + 500;
  const x = upload(device, Float32Array.from({ length: 64 * parts }, (_, i) => Math.floor(i / 64)));
  const sum = device.create("float", 64, "sum");
  for (let i = 0; i < parts; i++) {
    device.run("add", { a: sum, b: x.view(64 * i, 64), out: sum, n: 1 });
  }
  assert.equal((await device.read(sum, 0, 1))[0], sumInFloat32(parts));
});

/** 0 + 1 + … in float32. */
function sumInFloat32(n: number): number {
  let sum = 0;
  for (let i = 0; i < n; i++) sum = Math.fround(sum + i);
  return sum;
}

vulkanTest("kernels are timed in nanoseconds of the card", async (device) => {
  const n = 1 << 20, x = upload(device, new Float32Array(n).fill(1));
  const start = performance.now();
  for (let i = 0; i < 5; i++) device.run("add", { a: x, b: x, out: x, n });
  await device.read(x, 0, 1);
  const waited = performance.now() - start;
  const row = device.kernelTimes().find(({ calls }) => calls === 5);
  assert.ok(row !== undefined && row.milliseconds > 0, JSON.stringify(device.kernelTimes()));
  assert.ok(row.milliseconds < waited, `${row.milliseconds} ms of ${waited}`);
}, { trace: "stamps" });

const card = (type: number, address: string | null, apiVersion = 1 << 22 | 3 << 12): Physical => ({
  handle: 0n,
  type,
  info: { name: `card ${address}`, vendor: 1, device: 2, software: type === 4, driver: "a driver" },
  apiVersion,
  extensions: new Set(),
  // Every limit is large.
  limits: new Uint8Array(new ArrayBuffer(504)).fill(0x7f),
  maxAllocation: 2 ** 32,
  maxBuffer: 2 ** 40,
  subgroupSize: 32,
  address,
});

Deno.test("a card is chosen by its number among the visible ones, by its address", () => {
  const found = [card(2, "0000:41:00.0"), card(2, "0000:01:00.0"), card(4, null)];
  const cards = [{ address: "0000:01:00.0" }, { address: "0000:41:00.0" }];
  const chosen = (n: number | null, visible: number[] | null) =>
    choosePhysical(found, n, visible, cards).address;
  assert.equal(chosen(null, null), "0000:41:00.0"); // the loader's first
  assert.equal(chosen(0, null), "0000:01:00.0");
  assert.equal(chosen(1, null), "0000:41:00.0");
  assert.equal(chosen(null, [1]), "0000:41:00.0");
  assert.equal(chosen(1, [1, 0]), "0000:01:00.0");
  assert.throws(
    () => chosen(2, null),
    refusal(/no graphics card 2/, UsageError),
  );
  assert.throws(() => chosen(0, []), /may use no graphics card/);
});

Deno.test("a card without a driver, and one with an old driver, are refused with advice", () => {
  const refused = (found: Physical[], pattern: RegExp) =>
    assert.throws(
      () => choosePhysical(found, null, null, []),
      (error: Error) =>
        error instanceof RgxError && error.exitCode === EXIT.usage && pattern.test(error.message) &&
        /\bdevice\b/.test(error.advice ?? ""),
    );
  refused([], /no driver offers a device/);
  refused([card(2, null, 1 << 22 | 1 << 12)], /has Vulkan 1\.1, at least 1\.3 is needed/);
  const tiny = { ...card(2, null), limits: new Uint8Array(new ArrayBuffer(504)) };
  refused([tiny], /too small for rgx/);
});

Deno.test({
  name: "without the permission for FFI, the error says which one is missing",
  permissions: { ffi: false, env: true },
  fn() {
    const denied = () => {
      throw new Deno.errors.NotCapable("no");
    };
    assert.throws(
      () => openVulkan(() => undefined, denied, null),
      (error: Error) => error instanceof UsageError && /--allow-ffi/.test(error.advice ?? ""),
    );
    assert.throws(() =>
      openVulkan(() => "/none.so", () => {
        throw new Error("cannot open");
      }, null), /RGX_VULKAN_LIB: \/none.so is no Vulkan loader/);
  },
});

callsTest(
  "a read waits for its copy, and not for what was submitted after it",
  async (device, { work }) => {
    const waited: number[] = [], submitted: number[] = [];
    const wait = work.wait.bind(work), submit = work.submit.bind(work);
    work.wait = (number) => {
      waited.push(number);
      wait(number);
    };
    work.submit = (commands) => {
      submitted.push(submit(commands));
      return submitted.at(-1)!;
    };
    const x = upload(device, Float32Array.of(1, 2)), out = device.create("float", 2, "out");
    await device.read(x); // its buffer for reads is there now
    submitted.length = waited.length = 0;
    device.run("add", { a: x, b: x, out, n: 2 });
    const later = await device.readLater([{ tensor: out, length: 2 }]);
    const copy = submitted.at(-1)!;
    for (let i = 0; i < 3; i++) {
      device.run("add", { a: x, b: x, out: x, n: 2 });
      device.submit();
    }
    assert.deepEqual(await later(), [Float32Array.of(2, 4)]);
    assert.deepEqual(waited, [copy]);
    assert.ok(submitted.at(-1)! >= copy + 3);
    assert.deepEqual(await device.read(x), Float32Array.of(8, 16));
  },
);

const calls = { buffers: 0, submits: 0 };

callsTest("a long write goes through a ring of few staging buffers", async (device) => {
  // 120 MiB; all staging buffers together have 64.
  const n = 30 * 2 ** 20, data = new Uint32Array(n);
  for (let i = 0; i < n; i++) data[i] = i;
  const tensor = device.create("u32", n, "long");
  calls.buffers = calls.submits = 0;
  device.write(tensor, data);
  assert.ok(calls.buffers > 0 && calls.buffers <= 16, `${calls.buffers} buffers`);
  // The card begins long before the end.
  assert.ok(calls.submits >= 7, `${calls.submits} submits`);
  assert.ok(sameBits(await device.read(tensor), data));
  // Writes to the same place keep their order.
  for (let i = 0; i < 9; i++) device.write(tensor, Uint32Array.of(i, 2 * i, 3 * i), i % 3);
  assert.deepEqual([...await device.read(tensor, 0, 5)], [6, 7, 8, 16, 24]);
}, (vulkan) => ({
  ...vulkan,
  vkCreateBuffer: (...args) => {
    calls.buffers++;
    return vulkan.vkCreateBuffer(...args);
  },
  vkQueueSubmit: (...args) => {
    calls.submits++;
    return vulkan.vkQueueSubmit(...args);
  },
}));

define(
  "a tensor as large as a buffer of the driver is right at all of its ends",
  reachesEveryEnd,
  () => needs(hasVulkan && Deno.env.get("RGX_TEST_VULKAN") === "1", NEEDED.longVulkan),
);

/** Up to 4.5 GiB where the driver has such buffers, and what the machine has free. */
async function reachesEveryEnd(): Promise<void> {
  using device = await createVulkanDevice();
  const free = await gpuAvailableBytes(device.adapter) ?? Infinity;
  const bytes = Math.min(device.largestTensor, 4.5 * 2 ** 30, free / 2);
  const d = 4096, rows = Math.floor(bytes / 4 / d), n = rows * d;
  const table = device.create("float", n, "table");
  device.run("fill", { out: table, n, value: 0.5 });
  // The first and the last rows, and those around 2, 4 and the largest binding's bytes.
  const places = [2 ** 31, 2 ** 32, 4 * device.limits.bindingElements]
    .map((at) => Math.floor(at / 4 / d))
    .flatMap((row) => [row - 1, row, row + 1]);
  const ends = [0, 1, ...places, rows - 2, rows - 1].filter((row) => row < rows);
  const some = [...new Set(ends)].sort((a, b) => a - b);
  const index = upload(device, Uint32Array.from(some)), count = some.length;
  const src = upload(device, Float32Array.from({ length: count * d }, (_, i) => i + 1));
  device.run("scatter_rows", { src, index, table, rows: count, d });
  const out = device.create("float", count * d, "out");
  device.run("gather_rows", { table, index, out, rows: count, d });
  assert.deepEqual(await device.read(out), await device.read(src));
  for (const [i, row] of some.entries()) {
    assert.deepEqual([...await device.read(table, row * d, 2)], [i * d + 1, i * d + 2]);
    if (row + 1 < rows && !some.includes(row + 1)) {
      assert.deepEqual([...await device.read(table, (row + 1) * d, 2)], [0.5, 0.5]);
    }
  }
  device.run("add", { a: table, b: table, out: table, n });
  const last = await device.read(table, n - 2, 2);
  assert.deepEqual([...last], [2 * (count * d - 1), 2 * count * d]);
  assert.deepEqual([...await device.read(table, 2 * d, 1)], [1]);
}

/** How fast each device of this machine is, for `rgx doctor`: a matrix product and a copy. */
import type { Device } from "../../kernels/device.ts";
import { createDevice } from "../../kernels/mod.ts";

export interface DeviceReport {
  name: string;
  threads: number;
  /** Speed of a matrix product in f32. */
  gflops: number;
  /** Speed of a copy: bytes read and written. */
  gbytes_per_second: number;
}

/**
 * Measures the devices one after the other, each for about a second.
 * @returns also which kernels the CPU device has chosen
 */
export async function measureDevices(hasWebgpu: boolean, hasVulkan: boolean): Promise<{
  devices: DeviceReport[];
  /** Kernels of products in f32. */
  tiles: string;
  /** What computes products in bfloat16. */
  bf16Unit: string;
}> {
  const devices: DeviceReport[] = [];
  let tiles = "", bf16Unit = "";
  const wanted: [name: string, threads: number | undefined][] = [
    ["reference", 1],
    ["wasm", 1],
    ["wasm", undefined],
  ];
  if (hasWebgpu) wanted.push(["webgpu", undefined]);
  if (hasVulkan) wanted.push(["vulkan", undefined]);
  for (const [name, threads] of wanted) {
    const device = await createDevice(name, threads === undefined ? {} : { threads });
    const isSame = devices.some((d) => d.name === name && d.threads === device.threads);
    if (!isSame) devices.push({ name, threads: device.threads, ...await measure(device) });
    tiles ||= device.tiles ?? "";
    bf16Unit ||= device.bf16Unit ?? "";
    device.close();
  }
  return { devices, tiles, bf16Unit };
}

/**
 * The median time, in milliseconds, of the later half of runs that together last about `limit` ms.
 */
async function median(limit: number, run: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  const begin = performance.now();
  while (times.length < 3 || performance.now() - begin < limit) {
    const start = performance.now();
    await run();
    times.push(performance.now() - start);
  }
  // The first half is for warming up.
  const late = times.slice(times.length >> 1).sort((x, y) => x - y);
  return late[late.length >> 1]!;
}

/**
 * Shapes [m, k, n] of the product x·Wᵀ, with x[m, k] and W[n, k], and the number of copied
 * elements: enough work for the device, and only for a moment.
 */
function sizes(device: Device): { product: [number, number, number]; copied: number } {
  if (device.name === "reference") return { product: [32, 144, 192], copied: 2 ** 18 };
  const isCard = device.adapter !== undefined && !device.adapter.software;
  return isCard
    ? { product: [4096, 4096, 4096], copied: 2 ** 26 }
    : { product: [256, 576, 1536], copied: 2 ** 23 };
}

async function measure(device: Device): Promise<Omit<DeviceReport, "name" | "threads">> {
  const { product: [m, k, n], copied } = sizes(device);
  const create = (what: string, length: number) => device.create("float", length, `doctor.${what}`);
  const a = create("a", m * k), b = create("b", n * k), out = create("out", m * n);
  device.run("fill", { out: a, n: m * k, value: 0.5 });
  device.run("fill", { out: b, n: n * k, value: 0.25 });
  const product = await median(700, () => {
    device.run("matmul", { a, b, out, m, n, k, transB: true });
    return device.read(out, 0, 1);
  });
  for (const tensor of [a, b, out]) device.free(tensor);
  const from = create("from", copied), to = create("to", copied);
  const copy = await median(300, () => {
    device.run("copy", { src: from, out: to, n: copied });
    return device.read(to, 0, 1);
  });
  for (const tensor of [from, to]) device.free(tensor);
  return { gflops: 2 * m * k * n / product / 1e6, gbytes_per_second: 8 * copied / copy / 1e6 };
}

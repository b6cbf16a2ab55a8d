/**
 * Measures how fast a device works: a product, a copy, and the start of an operation. The result is
 * kept in the user's cache, so that a plan costs no measurement.
 */
import { cpus } from "node:os";
import { writeFileAtomic } from "../../core/atomic_file.ts";
import { userCache } from "../../core/cache/user_cache.ts";
import { sha256Hex } from "../../core/checksums.ts";
import { jsonObjectOrNull } from "../../core/json_file.ts";
import { VERSION } from "../../core/version.ts";
import { describeDevice } from "../../kernels/mod.ts";
import type { Device } from "../../kernels/device.ts";
import type { DeviceSpeed } from "./counted_speed.ts";

/** Milliseconds for the speed of a device that is measured for the first time. */
const FIRST_MS = 300;
const STARTS = 200;

export async function deviceSpeed(device: Device): Promise<DeviceSpeed> {
  const folder = userCache();
  if (folder === null) return await measureDevice(device, FIRST_MS);
  const about = [VERSION, cpus()[0]?.model ?? "", describeDevice(device)];
  const path = `${folder}/speed/${sha256Hex(about.join("\n")).slice(0, 16)}.json`;
  const known = jsonObjectOrNull(await Deno.readTextFile(path).catch(() => ""));
  const { products, bandwidth, start } = known ?? {};
  const isSpeed = (value: unknown): value is number => typeof value === "number" && value > 0;
  if (isSpeed(products) && isSpeed(bandwidth) && isSpeed(start)) {
    return { products, bandwidth, start };
  }
  const speed = await measureDevice(device, FIRST_MS);
  // A cache that cannot be written only costs another measurement.
  await Deno.mkdir(`${folder}/speed`, { recursive: true })
    .then(() => writeFileAtomic(path, JSON.stringify(speed))).catch(() => {});
  return speed;
}

/** The shortest of the times, in milliseconds, of runs that together last about `limit` ms. */
async function fastest(limit: number, run: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  let min = Infinity, count = 0;
  while (count++ < 3 || performance.now() - begin < limit) {
    const start = performance.now();
    await run();
    min = Math.min(min, performance.now() - start);
  }
  return min;
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

export async function measureDevice(device: Device, milliseconds: number): Promise<DeviceSpeed> {
  const { product: [m, k, n], copied } = sizes(device);
  const create = (what: string, length: number) => device.create("float", length, `speed.${what}`);
  const a = create("a", m * k), b = create("b", n * k), out = create("out", m * n);
  device.run("fill", { out: a, n: m * k, value: 0.5 });
  device.run("fill", { out: b, n: n * k, value: 0.25 });
  const product = await fastest(0.6 * milliseconds, () => {
    device.run("matmul", { a, b, out, m, n, k, transB: true });
    return device.read(out, 0, 1);
  });
  for (const tensor of [a, b, out]) device.free(tensor);
  const from = create("from", copied), to = create("to", copied);
  const copy = await fastest(0.3 * milliseconds, () => {
    device.run("copy", { src: from, out: to, n: copied });
    return device.read(to, 0, 1);
  });
  const starts = await fastest(0.1 * milliseconds, () => {
    for (let i = 0; i < STARTS; i++) device.run("fill", { out: to, n: 1, value: i });
    return device.read(to, 0, 1);
  });
  for (const tensor of [from, to]) device.free(tensor);
  return {
    products: 2 * m * k * n / product * 1000,
    bandwidth: 8 * copied / copy * 1000,
    start: starts / STARTS / 1000,
  };
}

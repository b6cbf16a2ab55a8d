/**
 * The speed of products, of a copy in the memory of the card, and of the bus.
 */
import type { ComputeDtype } from "../../kernels/ops/common/compute_dtype.ts";
import type { WebgpuDevice } from "../../kernels/devices/webgpu/device.ts";
import type { Device } from "../../kernels/device.ts";
import type { RecordedCall } from "../../kernels/ops/common/recorded_call.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import { storedWords } from "../../kernels/weights/types.ts";
import type { Sizes } from "./sizes.ts";

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;

/**
 * Median milliseconds of one call. Each run makes many calls and then reads one value of `out`,
 * which waits for all of them.
 */
async function time(
  device: Device,
  budget: number,
  out: Tensor,
  call: () => void,
): Promise<number> {
  const once = async (calls: number) => {
    const start = performance.now();
    for (let i = 0; i < calls; i++) call();
    await device.read(out, 0, 1);
    return (performance.now() - start) / calls;
  };
  await once(2);
  const estimate = await once(2);
  const calls = Math.max(1, Math.min(200, Math.round(budget / 10 / estimate)));
  const times: number[] = [];
  for (const end = performance.now() + budget; times.length < 3 || performance.now() < end;) {
    times.push(await once(calls));
  }
  return median(times);
}

/** A product's speed. */
export interface ProductRow {
  what: string;
  m: number;
  n: number;
  k: number;
  /** What both sides are rounded to, or how the weight is stored. */
  type: (typeof TYPES)[number];
  ms: number;
  tflops: number;
}

/** Both sides in float32, both rounded to two bytes, and weights in large and small blocks. */
export const TYPES = ["float32", "bfloat16", "float16", "q8_0", "nf4"] as const;

/** Calls `each` for the products x·Wᵀ in all types. */
async function eachProduct(
  device: WebgpuDevice,
  { products }: Sizes,
  each: (row: Omit<ProductRow, "ms" | "tflops">, out: Tensor, run: () => void) => unknown,
): Promise<void> {
  for (const type of TYPES) {
    const isStored = type === "q8_0" || type === "nf4";
    device.computeDtype = isStored ? "float32" : type satisfies ComputeDtype;
    for (const [what, m, n, k] of products) {
      const a = device.create("float", m * k, "a"), out = device.create("float", m * n, "out");
      const b = isStored
        ? device.create("u32", storedWords(type, n, k), "b")
        : device.create("float", n * k, "b");
      device.run("fill", { out: a, n: m * k, value: 0.5 });
      if (!isStored) device.run("fill", { out: b, n: n * k, value: 0.25 });
      const stored = isStored ? { weightType: type } : {};
      const call = { a, b, out, m, n, k, transB: true, ...stored };
      await each({ what, m, n, k, type }, out, () => device.run("matmul", call));
      for (const tensor of [a, b, out]) device.free(tensor);
    }
  }
  device.computeDtype = "float32";
}

/** @param deadline no product begins later, as of performance.now() */
export async function products(
  device: WebgpuDevice,
  sizes: Sizes,
  deadline: number,
): Promise<ProductRow[]> {
  const rows: ProductRow[] = [];
  await eachProduct(device, sizes, async (row, out, run) => {
    if (performance.now() > deadline) return;
    const ms = await time(device, sizes.budget, out, run);
    rows.push({ ...row, ms, tflops: 2 * row.m * row.n * row.k / ms / 1e9 });
  });
  return rows;
}

/** The calls of {@link products}, for the tuner. */
export async function rehearsedProducts(
  device: WebgpuDevice,
  sizes: Sizes,
): Promise<RecordedCall[]> {
  return await device.rehearse(() => eachProduct(device, sizes, (_row, _out, run) => run()));
}

/** What the host costs (a dispatch, and bytes over the bus in both directions), and a copy. */
export interface Bus {
  /** GB/s of a copy in the memory of the card, read and written. */
  copy: number;
  /** Microseconds of the host for one dispatch. */
  dispatch_us: number;
  /** GB/s to the card and from it. */
  to_card: number;
  from_card: number;
  /** Microseconds to read four bytes. */
  look_us: number;
}

export async function bus(
  device: WebgpuDevice,
  { block, dispatches, budget }: Sizes,
): Promise<Bus> {
  const tensor = device.create("float", block, "block"), data = new Float32Array(block);
  const small = device.create("float", 64, "small");
  const wait = () => device.read(small, 0, 1);
  const seconds = async (work: () => unknown) => {
    const times: number[] = [];
    for (let i = 0; i < 5; i++) {
      await wait();
      const start = performance.now();
      await work();
      times.push((performance.now() - start) / 1000);
    }
    return median(times);
  };
  const dispatching = await seconds(() => {
    for (let i = 0; i < dispatches; i++) device.run("fill", { out: small, n: 64, value: i });
  });
  const look = await seconds(wait);
  const up = await seconds(() => {
    device.write(tensor, data);
    return device.read(tensor, 0, 1);
  });
  const down = await seconds(() => device.read(tensor));
  const from = device.create("float", block, "from");
  const copy = () => device.run("copy", { src: from, out: tensor, n: block });
  const ms = await time(device, budget, tensor, copy);
  for (const each of [tensor, small, from]) device.free(each);
  return {
    copy: 8 * block / ms / 1e6,
    dispatch_us: 1e6 * dispatching / dispatches,
    to_card: 4 * block / up / 1e9,
    from_card: 4 * block / down / 1e9,
    look_us: 1e6 * look,
  };
}

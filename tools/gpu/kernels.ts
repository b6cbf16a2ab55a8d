/** Speed of products, in all types, and of kernels that memory limits. */
import type { ComputeDtype } from "../../kernels/ops/common/compute_dtype.ts";
import type { WebgpuDevice } from "../../kernels/devices/webgpu/device.ts";
import type { Device } from "../../kernels/device.ts";
import type { RecordedCall } from "../../kernels/ops/common/recorded_call.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import { storedWords, type WeightType } from "../../kernels/weights/types.ts";
import { time } from "./clock.ts";
import { ADAMW_NUMBERS, type Sizes } from "./sizes.ts";

/** The storage types that are measured: without, with large and with small blocks. */
const STORED_TYPES = ["bf16", "q8_0", "nf4"] as const satisfies readonly WeightType[];

/** A product's speed, beside that of torch where it was measured. */
export interface ProductRow {
  what: string;
  m: number;
  n: number;
  k: number;
  /** What both sides are rounded to. */
  type: ComputeDtype;
  ms: number;
  tflops: number;
}

const TYPES = ["float32", "bfloat16", "float16"] as const;

/** A product x·Wᵀ that was set up. */
interface Product {
  what: string;
  m: number;
  n: number;
  k: number;
  type: ComputeDtype;
  out: Tensor;
  run(): void;
}

/** Calls `each` for the products in float32, and with both sides rounded to two bytes. */
async function eachProduct(
  device: WebgpuDevice,
  { products }: Sizes,
  each: (product: Product) => Promise<void> | void,
): Promise<void> {
  for (const type of TYPES) {
    device.computeDtype = type;
    for (const [what, m, n, k] of products) {
      const a = device.create("float", m * k, "a"), b = device.create("float", n * k, "b");
      const out = device.create("float", m * n, "out"), call = { a, b, out, m, n, k, transB: true };
      device.run("fill", { out: a, n: m * k, value: 0.5 });
      device.run("fill", { out: b, n: n * k, value: 0.25 });
      await each({ what, m, n, k, type, out, run: () => device.run("matmul", call) });
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
  await eachProduct(device, sizes, async ({ what, m, n, k, type, out, run }) => {
    if (performance.now() > deadline) return;
    const ms = await time(device, sizes.budget, out, run);
    rows.push({ what, m, n, k, type, ms, tflops: 2 * m * n * k / ms / 1e9 });
  });
  return rows;
}

/** The calls of {@link products}, for the tuner. */
export async function rehearsedProducts(
  device: WebgpuDevice,
  sizes: Sizes,
): Promise<RecordedCall[]> {
  return await device.rehearse(() => eachProduct(device, sizes, ({ run }) => run()));
}

export interface StoredRow {
  type: string;
  what: string;
  m: number;
  n: number;
  k: number;
  ms: number;
  tflops: number;
  gb_per_s: number;
}

/** Number of rows of {@link stored}. */
export const storedRows = ({ stored: { rows } }: Sizes) =>
  (1 + STORED_TYPES.length) * (rows.length + 1);

/**
 * Products with a weight in float32 and in storage types: x·Wᵀ for each number of rows, and
 * dy·W for the largest one. `gb_per_s` counts the bytes of the weight alone.
 * @param deadline no product begins later, as of performance.now()
 */
export async function stored(
  device: WebgpuDevice,
  { stored: { n, k, rows }, budget }: Sizes,
  deadline: number,
): Promise<StoredRow[]> {
  const found: StoredRow[] = [], maxRows = Math.max(...rows);
  const x = device.create("float", maxRows * k, "x"), y = device.create("float", maxRows * n, "y");
  device.run("fill", { out: x, n: maxRows * k, value: 0.5 });
  for (const type of ["f32", ...STORED_TYPES] as const) {
    const weightType = type === "f32" ? {} : { weightType: type };
    const b = createWeight(device, type, n, k), bytes = 4 * b.length;
    const add = async (what: string, m: number, call: () => void, out: Tensor) => {
      if (performance.now() > deadline) return;
      const ms = await time(device, budget / 4, out, call);
      const tflops = 2 * m * n * k / ms / 1e9;
      found.push({ type, what, m, n, k, ms, tflops, gb_per_s: bytes / ms / 1e6 });
    };
    for (const m of rows) {
      const call = { a: x, b, out: y, m, n, k, transB: true, ...weightType };
      await add("x·Wᵀ", m, () => device.run("matmul", call), y);
    }
    const back = { a: y, b, out: x, m: maxRows, n: k, k: n, ...weightType };
    await add("dy·W", maxRows, () => device.run("matmul", back), x);
    device.free(b);
  }
  for (const tensor of [x, y]) device.free(tensor);
  return found;
}

function createWeight(device: Device, type: WeightType | "f32", n: number, k: number): Tensor {
  return type === "f32"
    ? device.create("float", n * k, "weight")
    : device.create("u32", storedWords(type, n, k), "weight");
}

/** GB/s of kernels that memory limits, and what share of a copy's they reach. */
export async function memory(device: WebgpuDevice, { block, rows, model, budget }: Sizes) {
  const make = (length: number) => device.create("float", length, "block");
  const gbytes = (bytes: number, ms: number) => bytes / ms / 1e6;
  const from = make(block), to = make(block);
  const copy = gbytes(
    8 * block,
    await time(device, budget, to, () => device.run("copy", { src: from, out: to, n: block })),
  );
  const found: Record<string, { gb_per_s: number; of_copy: number }> = {
    copy: { gb_per_s: copy, of_copy: 1 },
  };
  const add = (name: string, bytes: number, ms: number) => {
    const rate = gbytes(bytes, ms);
    found[name] = { gb_per_s: rate, of_copy: rate / copy };
  };
  const d = model.hiddenSize, weight = make(d), rho = make(rows);
  const x = make(rows * d), normed = make(rows * d);
  const norm = { x, weight, out: normed, rho, rows, d, eps: 1e-6 };
  add("rmsnorm", 8 * rows * d, await time(device, budget, rho, () => device.run("rmsnorm", norm)));
  const moments = [make(block), make(block)] as const;
  const adamw = {
    param: from,
    grad: to,
    m: moments[0],
    v: moments[1],
    n: block,
    ...ADAMW_NUMBERS,
  };
  // AdamW reads and writes three blocks, and reads the gradients.
  add("adamw", 28 * block, await time(device, budget, from, () => device.run("adamw", adamw)));
  const k = model.intermediateSize, n = Math.floor(block / k);
  const row = make(k), out = make(n);
  const gemv = { a: row, b: from, out, m: 1, n, k, transB: true };
  add("decode GEMV", 4 * n * k, await time(device, budget, out, () => device.run("matmul", gemv)));
  for (const tensor of [from, to, weight, rho, x, normed, ...moments, row, out]) {
    device.free(tensor);
  }
  return found;
}

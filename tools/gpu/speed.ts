/**
 * The speed of products, of nothing but multiply-adds and copies (which says what a card can reach,
 * also one whose data sheet is not known), and of the bus.
 */
import type { ComputeDtype } from "../../kernels/ops/common/compute_dtype.ts";
import type { WebgpuDevice } from "../../kernels/devices/webgpu/device.ts";
import type { Device } from "../../kernels/device.ts";
import { entryPoint } from "../../kernels/ops/common/wgsl/entry.ts";
import { type Kernel, kernel } from "../../kernels/ops/common/wgsl/kernel.ts";
import type { RecordedCall } from "../../kernels/ops/common/recorded_call.ts";
import type { MatrixUnits } from "../../kernels/ops/common/webgpu_op.ts";
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

/** What a card reaches when it does nothing else. */
export interface Peaks {
  /** TFLOP/s of multiply-adds in float32. */
  float32: number;
  /** TFLOP/s of matrix units, halves with sums in float32; null: kernels cannot reach them. */
  matrix: number | null;
  /** GB/s of a copy, read and written. */
  copy: number;
}

/** Invocations of a workgroup; sums that do not wait for each other; repeats in the loop's text. */
const GROUP = 256, SUMS = 8, REPEATS = 4;
/** Subgroups of a workgroup on matrix units. */
const SUBGROUPS = 4;

const range = (n: number) => [...Array(n).keys()];
const sums = (code: (i: number) => string) => range(SUMS).map(code).join("\n");
const repeated = (code: (i: number) => string) =>
  range(REPEATS).map(() => sums((i) => `    ${code(i)}`)).join("\n");

const multiplyAdds = kernel({
  name: "peak.float32",
  reads: "vec4<f32> factors",
  writes: "f32 sums_out",
  params: "u32 count",
  code: `${entryPoint(GROUP)}
  let b = factors[0];
  let c = factors[1];
${sums((i) => `  var s${i} = b + vec4f(f32(local + ${i}u));`)}
  for (var i = 0u; i < p.count; i += 1u) {
${repeated((i) => `s${i} = fma(s${i}, b, c);`)}
  }
  let s = ${range(SUMS).map((i) => `s${i}`).join(" + ")};
  if (local == 0u && group.y == 0u) { sums_out[group.x] = s.x + s.y + s.z + s.w; }
}`,
});

/** Each sum starts with other values: a compiler could make one of sums that are always equal. */
function onUnits({ edge, subgroup }: MatrixUnits): Kernel {
  const matrix = (use: string) => `coop_mat${edge}x${edge}<f16, ${use}>`;
  const accumulator = `coop_mat${edge}x${edge}<f32, C>`;
  const starts = edge ** 2 + (SUMS - 1) * edge;
  return kernel({
    name: `peak.matrix${edge}`,
    enable: ["f16", "wgpu_cooperative_matrix"],
    reads: "vec4<f32> factors",
    writes: "f32 sums_out",
    params: "u32 count",
    code: `
var<workgroup> tile: array<f16, ${edge ** 2}>;
var<workgroup> sums: array<f32, ${SUBGROUPS * edge ** 2}>;
var<workgroup> starts: array<f32, ${starts}>;
@compute @workgroup_size(${SUBGROUPS * subgroup})
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) local: u32,
        @builtin(subgroup_id) sub: u32) {
  for (var i = local; i < ${edge ** 2}u; i += ${SUBGROUPS * subgroup}u) {
    tile[i] = f16(factors[0].x / ${edge}.0);
  }
  for (var i = local; i < ${starts}u; i += ${SUBGROUPS * subgroup}u) {
    starts[i] = factors[1].x * f32(i);
  }
  workgroupBarrier();
  let a = coopLoadT<${matrix("A")}>(&tile[0], ${edge}u);
  let b = coopLoad<${matrix("B")}>(&tile[0], ${edge}u);
${sums((i) => `  var s${i} = coopLoadT<${accumulator}>(&starts[${i * edge}], ${edge}u);`)}
  for (var i = 0u; i < p.count; i += 1u) {
${repeated((i) => `s${i} = coopMultiplyAdd(a, b, s${i});`)}
  }
  let at = sub * ${edge ** 2}u;
  let stride = ${edge}u;
  var sum = 0.0;
${sums((i) => `  coopStoreT(s${i}, &sums[at], stride);\n  sum += sums[at];`)}
  if (local == 0u && group.y == 0u) { sums_out[group.x] = sum; }
}`,
  });
}

/** Operations of one dispatch: each sum adds one product for each time it is repeated. */
const flopsOf = ({ groups, count }: Sizes["peak"], flops: number) =>
  groups * count * REPEATS * SUMS * flops;

export async function peaks(
  device: WebgpuDevice,
  { peak, block, budget }: Sizes,
): Promise<Peaks> {
  const factors = device.create("float", 8, "factors");
  const out = device.create("float", peak.groups, "sums");
  device.write(factors, Float32Array.of(0.999, 0.998, 0.997, 0.996, 0.001, 0.002, 0.003, 0.004));
  const speed = async (kernel: Kernel, flops: number) => {
    const call = {
      kernel,
      buffers: { factors, sums_out: out },
      params: { count: peak.count },
      groups: peak.groups,
    };
    const dispatch = () => device.runPart((_, ctx) => ctx.dispatch(call), {});
    return flopsOf(peak, flops) / await time(device, budget, out, dispatch) / 1e9;
  };
  const float32 = await speed(multiplyAdds, GROUP * 4 * 2);
  const units = device.matrixUnits ?? null;
  const matrix = units === null
    ? null
    : await speed(onUnits(units), SUBGROUPS * 2 * units.edge ** 3);
  const from = device.create("float", block, "from"), to = device.create("float", block, "to");
  const copy = () => device.run("copy", { src: from, out: to, n: block });
  const ms = await time(device, budget, to, copy);
  for (const tensor of [factors, out, from, to]) device.free(tensor);
  return { float32, matrix, copy: 8 * block / ms / 1e6 };
}

/** What the host costs: a dispatch, and bytes over the bus in both directions. */
export interface Bus {
  /** Microseconds of the host for one dispatch. */
  dispatch_us: number;
  /** GB/s to the card and from it. */
  to_card: number;
  from_card: number;
  /** Microseconds to read four bytes. */
  look_us: number;
}

export async function bus(device: WebgpuDevice, { block, dispatches }: Sizes): Promise<Bus> {
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
  for (const each of [tensor, small]) device.free(each);
  return {
    dispatch_us: 1e6 * dispatching / dispatches,
    to_card: 4 * block / up / 1e9,
    from_card: 4 * block / down / 1e9,
    look_us: 1e6 * look,
  };
}

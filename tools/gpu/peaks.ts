/**
 * What a card reaches when it does nothing else: multiply-adds in registers, in float32 and on
 * matrix units, and a copy of memory. The speed of kernels is held against it, also on cards whose
 * data sheet is not known (core/machine/known_cards.ts).
 */
import type { WebgpuDevice } from "../../kernels/devices/webgpu/device.ts";
import { entryPoint } from "../../kernels/ops/common/wgsl/entry.ts";
import { type Kernel, kernel } from "../../kernels/ops/common/wgsl/kernel.ts";
import type { MatrixUnits } from "../../kernels/ops/common/webgpu_op.ts";
import { time } from "./clock.ts";
import type { Sizes } from "./sizes.ts";

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
  buffers: { factors: "read vec4<f32>", sums_out: "write f32" },
  params: { count: "u32" },
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
    buffers: { factors: "read vec4<f32>", sums_out: "write f32" },
    params: { count: "u32" },
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
      groups: [peak.groups] as const,
    };
    const ms = await time(
      device,
      budget,
      out,
      () => device.runPart((_, ctx) => ctx.dispatch(call), {}),
    );
    return flopsOf(peak, flops) / ms / 1e9;
  };
  const float32 = await speed(multiplyAdds, GROUP * 4 * 2);
  const units = device.matrixUnits ?? null;
  const matrix = units === null
    ? null
    : await speed(onUnits(units), SUBGROUPS * 2 * units.edge ** 3);
  for (const tensor of [factors, out]) device.free(tensor);
  const [from, to] = [device.create("float", block, "from"), device.create("float", block, "to")];
  const ms = await time(
    device,
    budget,
    to,
    () => device.run("copy", { src: from, out: to, n: block }),
  );
  for (const tensor of [from, to]) device.free(tensor);
  return { float32, matrix, copy: 8 * block / ms / 1e6 };
}

/**
 * RMSNorm on the GPU. A row is shared by 32 to 256 neighbouring invocations; sums are fixed trees. The gradient
 * of the weight is summed over chunks of rows first, then over the chunks, in order.
 */
import type { Tensor } from "../device.ts";
import { variants } from "../webgpu/kernel.ts";
import { inRowParts } from "../webgpu/parts.ts";
import { GROUP, reduceSum } from "../webgpu/reduce.ts";
import type { WebgpuContext, WebgpuOp } from "../webgpu/webgpu_op.ts";
import type { RmsnormArgs, RmsnormBackwardArgs } from "./spec.ts";

/** Invocations that share a row of d elements. */
function lanesFor(d: number): number {
  return d <= 64 ? 32 : d <= 256 ? 64 : d <= 1024 ? 128 : GROUP;
}

/** WGSL: which row and lane this invocation has. */
function rowHeader(lanes: number): string {
  return `${reduceSum(lanes)}
@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32) {
  let row = (group.x + group.y * groups.x) * ${GROUP / lanes}u + local / ${lanes}u;
  let lane = local % ${lanes}u;
  let inside = row < p.rows;
  let begin = row * p.d;
  let end = select(begin, begin + p.d, inside);`;
}

const forward = variants(({ lanes, residual }: { lanes: number; residual: boolean }) => ({
  name: `rmsnorm${residual ? ".residual" : ""}`,
  buffers: {
    x: "read f32",
    ...(residual ? { branch: "read f32", total: "write f32" } : {}),
    scales: "read f32",
    normed: "write f32",
    rho: "write f32",
  },
  params: { rows: "u32" as const, d: "u32" as const, eps: "f32" as const },
  code: `${rowHeader(lanes)}
  var sum = 0.0;
  for (var i = begin + lane; i < end; i += ${lanes}u) {
    let h = x[i]${residual ? " + branch[i]" : ""};
    ${residual ? "total[i] = h;" : ""}
    sum = fma(h, h, sum);
  }
  let scale = 1.0 / sqrt(reduce_sum(local, sum) / f32(p.d) + p.eps);
  if (inside && lane == 0u) { rho[row] = scale; }
  for (var i = begin + lane; i < end; i += ${lanes}u) {
    normed[i] = ${residual ? "total" : "x"}[i] * scale * scales[i - begin];
  }
}`,
}));

export const rmsnormWebgpu: WebgpuOp<RmsnormArgs> = (args, ctx) => {
  const { x, add, sum, weight, out, rho, rows, d, eps } = args;
  const lanes = lanesFor(d), residual = add !== undefined && sum !== undefined;
  inRowParts(ctx, rows, d, (part, count) =>
    ctx.dispatch({
      kernel: forward({ lanes, residual }),
      buffers: {
        x: part(x, d),
        ...(residual ? { branch: part(add, d), total: part(sum, d) } : {}),
        scales: weight,
        normed: part(out, d),
        rho: part(rho, 1),
      },
      params: { rows: count, d, eps },
      groups: ctx.grid(Math.ceil(count * lanes / GROUP)),
      flops: 4 * count * d,
    }));
};

const backward = variants(({ lanes, accumulate }: { lanes: number; accumulate: boolean }) => ({
  name: `rmsnorm_backward${accumulate ? ".accumulate" : ""}`,
  buffers: {
    dout: "read f32",
    x: "read f32",
    scales: "read f32",
    rho: "read f32",
    dx: "write f32",
  },
  params: { rows: "u32" as const, d: "u32" as const },
  code: `${rowHeader(lanes)}
  var sum = 0.0;
  for (var i = begin + lane; i < end; i += ${lanes}u) {
    sum = fma(dout[i] * scales[i - begin], x[i], sum);
  }
  let scale = select(0.0, rho[min(row, p.rows - 1u)], inside);
  let along = scale * scale * (reduce_sum(local, sum) / f32(p.d));
  for (var i = begin + lane; i < end; i += ${lanes}u) {
    let derivative = scale * (dout[i] * scales[i - begin] - x[i] * along);
    dx[i] = ${accumulate ? "dx[i] + " : ""}derivative;
  }
}`,
}));

/** Rows whose share of the weight's gradient one invocation sums, at least; and most chunks of rows. */
const CHUNK = 64;
const MOST_CHUNKS = 256;

const weightPartial = variants(() => ({
  name: "rmsnorm_backward.weight",
  buffers: { dout: "read f32", x: "read f32", rho: "read f32", partial: "write f32" },
  params: { rows: "u32" as const, d: "u32" as const, n: "u32" as const, size: "u32" as const },
  code: `@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32) {
  let i = (group.x + group.y * groups.x) * ${GROUP}u + local;
  if (i >= p.n) { return; }
  let chunk = i / p.d;
  let column = i - chunk * p.d;
  let end = min(p.rows, (chunk + 1u) * p.size);
  var sum = 0.0;
  for (var row = chunk * p.size; row < end; row++) {
    let at = row * p.d + column;
    sum = fma(dout[at] * x[at], rho[row], sum);
  }
  partial[i] = sum;
}`,
}));

const weightSum = variants(() => ({
  name: "rmsnorm_backward.weight_sum",
  buffers: { partial: "read f32", dweight: "write f32" },
  params: { chunks: "u32" as const, n: "u32" as const },
  code: `@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32) {
  let i = (group.x + group.y * groups.x) * ${GROUP}u + local;
  if (i >= p.n) { return; }
  var sum = 0.0;
  for (var chunk = 0u; chunk < p.chunks; chunk++) { sum += partial[chunk * p.n + i]; }
  dweight[i] += sum;
}`,
}));

export const rmsnormBackwardWebgpu: WebgpuOp<RmsnormBackwardArgs> = (args, ctx) => {
  const { dout, x, weight, rho, dx, accumulate = false, dweight, rows, d } = args;
  const lanes = lanesFor(d);
  inRowParts(ctx, rows, d, (part, count) => {
    // Before dx, which may lie where dout does.
    if (dweight !== undefined) {
      addWeightGradient(
        ctx,
        { dout: part(dout, d), x: part(x, d), rho: part(rho, 1), dweight },
        count,
        d,
      );
    }
    ctx.dispatch({
      kernel: backward({ lanes, accumulate }),
      buffers: {
        dout: part(dout, d),
        x: part(x, d),
        scales: weight,
        rho: part(rho, 1),
        dx: part(dx, d),
      },
      params: { rows: count, d },
      groups: ctx.grid(Math.ceil(count * lanes / GROUP)),
      flops: 8 * count * d,
    });
  });
};

function addWeightGradient(
  ctx: WebgpuContext,
  { dout, x, rho, dweight }: { dout: Tensor; x: Tensor; rho: Tensor; dweight: Tensor },
  rows: number,
  d: number,
): void {
  const size = Math.max(CHUNK, Math.ceil(rows / MOST_CHUNKS)), chunks = Math.ceil(rows / size);
  const partial = ctx.scratch("float", chunks * d, "gradient of the weight by chunks of rows");
  ctx.dispatch({
    kernel: weightPartial({}),
    buffers: { dout, x, rho, partial },
    params: { rows, d, n: chunks * d, size },
    groups: ctx.grid(Math.ceil(chunks * d / GROUP)),
    flops: 3 * rows * d,
  });
  ctx.dispatch({
    kernel: weightSum({}),
    buffers: { partial, dweight },
    params: { chunks, n: d },
    groups: ctx.grid(Math.ceil(d / GROUP)),
  });
}

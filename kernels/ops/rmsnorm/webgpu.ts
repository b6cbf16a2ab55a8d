/**
 * GPU bindings of RMSNorm. 32 to 256 neighbouring invocations share a row; they sum in a fixed
 * order. The gradient of the weight sums every column over the rows.
 */
import { addColumnSums, columnChunks } from "../common/webgpu_column_sums.ts";
import { entryPoint } from "../common/wgsl/entry.ts";
import { variants } from "../common/wgsl/kernel.ts";
import { inRowParts } from "../common/webgpu_parts.ts";
import { GROUP, reduceSum } from "../common/wgsl/reduce.ts";
import type { WebgpuOp } from "../common/webgpu_op.ts";
import type { RmsnormArgs, RmsnormBackwardArgs } from "./spec.ts";

/** Number of invocations that share a row of d elements, a power of two. */
export function lanesFor(d: number): number {
  return d <= 64 ? 32 : d <= 256 ? 64 : d <= 1024 ? 128 : GROUP;
}

/** WGSL: the entry point, with the row and the lane of this invocation. */
export function rowHeader(lanes: number): string {
  return `${reduceSum(lanes)}
${entryPoint(GROUP)}
  let row = (group.x + group.y * groups.x) * ${GROUP / lanes}u + local / ${lanes}u;
  let lane = local % ${lanes}u;
  let inside = row < p.rows;
  let begin = row * p.d;
  let end = select(begin, begin + p.d, inside);`;
}

const forward = variants(({ residual, lanes }: { residual: boolean; lanes: number }) => ({
  name: `rmsnorm${residual ? ".residual" : ""}`,
  reads: `f32 x${residual ? " branch" : ""} scales`,
  writes: `f32 normed rho${residual ? " total" : ""}`,
  params: "u32 rows d, f32 eps offset",
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
    normed[i] = ${residual ? "total" : "x"}[i] * scale * (scales[i - begin] + p.offset);
  }
}`,
}));

export const rmsnormWebgpu: WebgpuOp<RmsnormArgs> = (args, ctx) => {
  const { x, add, sum, weight, out, rho, rows, d, eps, offset = 0 } = args;
  const lanes = lanesFor(d);
  const residual = add !== undefined && sum !== undefined;
  inRowParts(ctx, rows, d, (part, count) =>
    ctx.dispatch({
      kernel: forward({ residual, lanes }),
      buffers: {
        x: part(x, d),
        ...(residual ? { branch: part(add, d), total: part(sum, d) } : {}),
        scales: weight,
        normed: part(out, d),
        rho: part(rho, 1),
      },
      params: { rows: count, d, eps, offset },
      groups: Math.ceil(count * lanes / GROUP),
    }));
};

const backward = variants(({ accumulate, lanes }: { accumulate: boolean; lanes: number }) => ({
  name: `rmsnorm_backward${accumulate ? ".accumulate" : ""}`,
  reads: "f32 dout x scales rho",
  writes: "f32 dx",
  params: "u32 rows d, f32 offset",
  code: `${rowHeader(lanes)}
  var sum = 0.0;
  for (var i = begin + lane; i < end; i += ${lanes}u) {
    sum = fma(dout[i] * (scales[i - begin] + p.offset), x[i], sum);
  }
  let scale = select(0.0, rho[min(row, p.rows - 1u)], inside);
  let along = scale * scale * (reduce_sum(local, sum) / f32(p.d));
  for (var i = begin + lane; i < end; i += ${lanes}u) {
    let derivative = scale * (dout[i] * (scales[i - begin] + p.offset) - x[i] * along);
    dx[i] = ${accumulate ? "dx[i] + " : ""}derivative;
  }
}`,
}));

const weightChunks = columnChunks(
  "rmsnorm_backward.weight",
  "f32 dout x rho",
  "sum = fma(dout[at] * x[at], rho[row], sum);",
);

export const rmsnormBackwardWebgpu: WebgpuOp<RmsnormBackwardArgs> = (args, ctx) => {
  const { dout, x, weight, rho, dx, accumulate = false, dweight, rows, d, offset = 0 } = args;
  const lanes = lanesFor(d);
  inRowParts(ctx, rows, d, (part, count) => {
    // dweight before dx, because dx may be dout.
    if (dweight !== undefined) {
      const inputs = { dout: part(dout, d), x: part(x, d), rho: part(rho, 1) };
      addColumnSums(ctx, weightChunks, inputs, { sums: dweight, rows: count, d });
    }
    ctx.dispatch({
      kernel: backward({ accumulate, lanes }),
      buffers: {
        dout: part(dout, d),
        x: part(x, d),
        scales: weight,
        rho: part(rho, 1),
        dx: part(dx, d),
      },
      params: { rows: count, d, offset },
      groups: Math.ceil(count * lanes / GROUP),
    });
  });
};

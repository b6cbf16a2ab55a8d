/**
 * GPU bindings of LayerNorm. 32 to 256 neighbouring invocations share a row; they sum in a fixed
 * order (../rmsnorm/webgpu.ts). The gradient of the weight sums every column over the rows.
 */
import { lanesFor, rowHeader } from "../rmsnorm/webgpu.ts";
import { addColumnSums, columnChunks } from "../common/webgpu_column_sums.ts";
import { variants } from "../common/wgsl/kernel.ts";
import { inRowParts } from "../common/webgpu_parts.ts";
import { GROUP } from "../common/wgsl/reduce.ts";
import type { WebgpuOp } from "../common/webgpu_op.ts";
import type { LayernormArgs, LayernormBackwardArgs } from "./spec.ts";

const forward = variants(({ residual, lanes }: { residual: boolean; lanes: number }) => ({
  name: `layernorm${residual ? ".residual" : ""}`,
  reads: `f32 x${residual ? " branch" : ""} scales shifts`,
  writes: `f32 normed means rho${residual ? " total" : ""}`,
  params: "u32 rows d, f32 eps",
  code: `${rowHeader(lanes)}
  var sum = 0.0;
  for (var i = begin + lane; i < end; i += ${lanes}u) {
    let h = x[i]${residual ? " + branch[i]" : ""};
    ${residual ? "total[i] = h;" : ""}
    sum += h;
  }
  let mean = reduce_sum(local, sum) / f32(p.d);
  var squares = 0.0;
  for (var i = begin + lane; i < end; i += ${lanes}u) {
    let h = ${residual ? "total" : "x"}[i] - mean;
    squares = fma(h, h, squares);
  }
  let scale = 1.0 / sqrt(reduce_sum(local, squares) / f32(p.d) + p.eps);
  if (inside && lane == 0u) {
    means[row] = mean;
    rho[row] = scale;
  }
  for (var i = begin + lane; i < end; i += ${lanes}u) {
    let h = (${residual ? "total" : "x"}[i] - mean) * scale;
    normed[i] = h * scales[i - begin] + shifts[i - begin];
  }
}`,
}));

export const layernormWebgpu: WebgpuOp<LayernormArgs> = (args, ctx) => {
  const { x, add, sum, weight, bias, out, mean, rho, rows, d, eps } = args;
  const lanes = lanesFor(d);
  const residual = add !== undefined && sum !== undefined;
  inRowParts(ctx, rows, d, (part, count) =>
    ctx.dispatch({
      kernel: forward({ residual, lanes }),
      buffers: {
        x: part(x, d),
        ...(residual ? { branch: part(add, d), total: part(sum, d) } : {}),
        scales: weight,
        shifts: bias,
        normed: part(out, d),
        means: part(mean, 1),
        rho: part(rho, 1),
      },
      params: { rows: count, d, eps },
      groups: Math.ceil(count * lanes / GROUP),
    }));
};

const backward = variants(({ accumulate, lanes }: { accumulate: boolean; lanes: number }) => ({
  name: `layernorm_backward${accumulate ? ".accumulate" : ""}`,
  reads: "f32 dout x scales means rho",
  writes: "f32 dx",
  params: "u32 rows d",
  code: `${rowHeader(lanes)}
  let mean = select(0.0, means[min(row, p.rows - 1u)], inside);
  let scale = select(0.0, rho[min(row, p.rows - 1u)], inside);
  var slope_sum = 0.0;
  var along_sum = 0.0;
  for (var i = begin + lane; i < end; i += ${lanes}u) {
    let g = dout[i] * scales[i - begin];
    slope_sum += g;
    along_sum = fma(g, x[i] - mean, along_sum);
  }
  let slope = reduce_sum(local, slope_sum) / f32(p.d);
  let along = scale * scale * (reduce_sum(local, along_sum) / f32(p.d));
  for (var i = begin + lane; i < end; i += ${lanes}u) {
    let g = dout[i] * scales[i - begin] - slope;
    let derivative = scale * (g - (x[i] - mean) * along);
    dx[i] = ${accumulate ? "dx[i] + " : ""}derivative;
  }
}`,
}));

const weightChunks = columnChunks(
  "layernorm_backward.weight",
  "f32 dout x means rho",
  "sum = fma(dout[at], (x[at] - means[row]) * rho[row], sum);",
);

export const layernormBackwardWebgpu: WebgpuOp<LayernormBackwardArgs> = (args, ctx) => {
  const { dout, x, weight, mean, rho, dx, accumulate = false, dweight, rows, d } = args;
  const lanes = lanesFor(d);
  inRowParts(ctx, rows, d, (part, count) => {
    const inputs = {
      dout: part(dout, d),
      x: part(x, d),
      means: part(mean, 1),
      rho: part(rho, 1),
    };
    if (dweight !== undefined) {
      addColumnSums(ctx, weightChunks, inputs, { sums: dweight, rows: count, d });
    }
    ctx.dispatch({
      kernel: backward({ accumulate, lanes }),
      buffers: { ...inputs, scales: weight, dx: part(dx, d) },
      params: { rows: count, d },
      groups: Math.ceil(count * lanes / GROUP),
    });
  });
};

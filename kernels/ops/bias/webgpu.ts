/**
 * GPU bindings of a bias and its gradient: one invocation for each element; the gradient sums every
 * column over the rows.
 */
import { perElement } from "../common/wgsl/entry.ts";
import { addColumnSums, columnChunks } from "../common/webgpu_column_sums.ts";
import { kernel } from "../common/wgsl/kernel.ts";
import { inRowParts } from "../common/webgpu_parts.ts";
import type { WebgpuOp } from "../common/webgpu_op.ts";
import type { AddBiasArgs, AddBiasBackwardArgs } from "./spec.ts";

const add = kernel({
  name: "add_bias",
  reads: "f32 bias",
  writes: "f32 x",
  params: "u32 n d, f32 scale",
  code: perElement("x[i] += p.scale * bias[i % p.d];"),
});

export const addBiasWebgpu: WebgpuOp<AddBiasArgs> = ({ x, bias, rows, d, scale = 1 }, ctx) => {
  inRowParts(ctx, rows, d, (part, count) =>
    ctx.dispatch({
      kernel: add,
      buffers: { x: part(x, d), bias },
      params: { n: count * d, d, scale },
    }));
};

const chunks = columnChunks("add_bias_backward", "f32 dout", "sum += dout[at];");

export const addBiasBackwardWebgpu: WebgpuOp<AddBiasBackwardArgs> = (args, ctx) => {
  const { dout, dbias, rows, d, scale } = args;
  inRowParts(ctx, rows, d, (part, count) => {
    const sizes = { sums: dbias, rows: count, d, scale };
    addColumnSums(ctx, chunks, { dout: part(dout, d) }, sizes);
  });
};

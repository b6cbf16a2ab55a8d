/**
 * GPU bindings of DoRA's magnitudes: one invocation for each element; the gradient sums every
 * column over the rows.
 */
import { perElement } from "../common/wgsl/entry.ts";
import { addColumnSums, columnChunks } from "../common/webgpu_column_sums.ts";
import { kernel } from "../common/wgsl/kernel.ts";
import { inRowParts } from "../common/webgpu_parts.ts";
import type { WebgpuOp } from "../common/webgpu_op.ts";
import type { DoraGainArgs, ScaleColumnsArgs, ScaleColumnsBackwardArgs } from "./spec.ts";

const gains = kernel({
  name: "dora_gain",
  reads: "f32 squares q b magnitude",
  writes: "f32 rho gain",
  params: "u32 n r",
  code: perElement(`var sum = squares[i];
  for (var k = 0u; k < p.r; k++) { sum += q[k * p.n + i] * b[i * p.r + k]; }
  let inverse = select(0.0, inverseSqrt(sum), sum > 0.0);
  rho[i] = inverse;
  gain[i] = magnitude[i] * inverse;`),
});

export const doraGainWebgpu: WebgpuOp<DoraGainArgs> = ({ r, d, ...buffers }, ctx) =>
  ctx.dispatch({
    kernel: gains,
    buffers: { ...buffers },
    params: { n: d, r },
  });

const scales = (index: string) => ({
  reads: "f32 x gain",
  writes: "f32 scaled",
  params: "u32 n d first",
  code: perElement(`scaled[i] = x[i] * gain[${index}];`),
} as const);
const byColumns = kernel({ name: "scale_columns", ...scales("i % p.d") });
const byRows = kernel({ name: "scale_rows", ...scales("p.first + i / p.d") });

export const scaleColumnsWebgpu: WebgpuOp<ScaleColumnsArgs> = (args, ctx) => {
  const { x, gain, out, rows, d, byRow = false } = args;
  inRowParts(ctx, rows, d, (part, count, first) =>
    ctx.dispatch({
      kernel: byRow ? byRows : byColumns,
      buffers: { x: part(x, d), gain, scaled: part(out, d) },
      params: { n: count * d, d, first },
    }));
};

const chunks = columnChunks(
  "scale_columns_backward",
  "f32 dout x rho",
  "sum += dout[at] * x[at] * rho[column];",
);

export const scaleColumnsBackwardWebgpu: WebgpuOp<ScaleColumnsBackwardArgs> = (args, ctx) => {
  const { dout, x, rho, dmagnitude, rows, d } = args;
  inRowParts(ctx, rows, d, (part, count) => {
    const sizes = { sums: dmagnitude, rows: count, d };
    addColumnSums(ctx, chunks, { dout: part(dout, d), x: part(x, d), rho }, sizes);
  });
};

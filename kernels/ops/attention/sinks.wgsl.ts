/**
 * WGSL of sinks (spec.ts): what attention without them computed is scaled, because e^sink is only
 * one more term of the softmax's sum; and the gradient, with a workgroup for each head.
 */
import { inRowParts } from "../common/webgpu_parts.ts";
import type { WebgpuContext, WebgpuOp } from "../common/webgpu_op.ts";
import { entryPoint, perElement } from "../common/wgsl/entry.ts";
import { kernel } from "../common/wgsl/kernel.ts";
import { EXP, SIGMOID } from "../common/wgsl/math.ts";
import type { AttentionForwardArgs, SinksBackwardArgs } from "./spec.ts";

/** One invocation for each row and head. Both forms of lse + log(1 + e^(sink − lse)) are ≥ 0. */
const scaled = kernel({
  name: "attention.sinks",
  reads: "f32 sinks",
  writes: "f32 outputs lses",
  params: "u32 n heads head_dim",
  code: EXP + SIGMOID + perElement(`
  let more = sinks[i % p.heads] - lses[i];
  let share = sigmoid_f32(-more);
  for (var e = i * p.head_dim; e < (i + 1u) * p.head_dim; e++) { outputs[e] *= share; }
  lses[i] += max(more, 0.0) + log(1.0 + exp_f32(-abs(more)));`),
});

/** Scales `out` and completes `lse`. */
export function addSinks(
  { out, lse, sinks, rows, heads, headDim }: AttentionForwardArgs & SinksOnly,
  ctx: WebgpuContext,
): void {
  inRowParts(ctx, rows, heads * headDim, (part, count) => {
    ctx.dispatch({
      kernel: scaled,
      buffers: { sinks, outputs: part(out, heads * headDim), lses: part(lse, heads) },
      params: { n: count * heads, heads, head_dim: headDim },
    });
  });
}

type SinksOnly = Required<Pick<AttentionForwardArgs, "sinks">>;

const THREADS = 64;
const gradient = kernel({
  name: "sinks_backward",
  reads: "f32 douts outputs lses sinks",
  writes: "f32 dsinks",
  params: "u32 rows heads head_dim",
  code: `${EXP}
var<workgroup> sums: array<f32, ${THREADS}>;
${entryPoint(THREADS)}
  let head = group.x + group.y * groups.x;
  if (head >= p.heads) { return; }
  var sum = 0.0;
  for (var row = local; row < p.rows; row += ${THREADS}u) {
    let at = row * p.heads + head;
    var delta = 0.0;
    for (var e = at * p.head_dim; e < (at + 1u) * p.head_dim; e++) {
      delta += douts[e] * outputs[e];
    }
    sum += exp_f32(sinks[head] - lses[at]) * delta;
  }
  sums[local] = sum;
  workgroupBarrier();
  if (local > 0u) { return; }
  var total = 0.0;
  for (var t = 0u; t < ${THREADS}u; t++) { total += sums[t]; }
  dsinks[head] -= total;
}`,
});

export const sinksBackwardWebgpu: WebgpuOp<SinksBackwardArgs> = (args, ctx) => {
  const { dout, out, lse, sinks, dsinks, rows, heads, headDim } = args;
  inRowParts(ctx, rows, heads * headDim, (part, count) => {
    const width = heads * headDim;
    ctx.dispatch({
      kernel: gradient,
      buffers: {
        douts: part(dout, width),
        outputs: part(out, width),
        lses: part(lse, heads),
        sinks,
        dsinks,
      },
      params: { rows: count, heads, head_dim: headDim },
      groups: heads,
    });
  });
};

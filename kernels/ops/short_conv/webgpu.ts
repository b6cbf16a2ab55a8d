/**
 * GPU bindings of the short convolution and its gradients: one invocation for each element.
 * Left out (the device refuses it): tensors beyond one binding.
 */
import { perElement } from "../common/wgsl/entry.ts";
import { variants } from "../common/wgsl/kernel.ts";
import type { WebgpuOp } from "../common/webgpu_op.ts";
import { NO_ROW, type ShortConvArgs, type ShortConvBackwardArgs } from "./spec.ts";

const PARAMS = "u32 n d taps";

/** WGSL: `sum`, Σ_t w_t·x(row, t) of channel c, from `table`. */
const convolved = (table: string) =>
  `let row = i / p.d;
  let c = i % p.d;
  let newest = (c + 1u) * p.taps - 1u;
  var sum = weight[newest] * x[i];
  for (var t = 1u; t < p.taps; t++) {
    let other = before[row * (p.taps - 1u) + t - 1u];
    if (other != ${NO_ROW}u) { sum = fma(weight[newest - t], ${table}[other * p.d + c], sum); }
  }`;

/** Whether there is a gate. */
interface Variant {
  gated: boolean;
}
const gateBuffer = ({ gated }: Variant) => gated ? ", f32 gate" : "";
/** WGSL: the gate of an element. */
const gateAt = ({ gated }: Variant, i: string) => gated ? `gate[${i}]` : "1.0";

const forward = variants((variant: Variant) => ({
  name: `short_conv${variant.gated ? "" : ".ungated"}`,
  reads: `f32 x rows weight, u32 before${gateBuffer(variant)}`,
  writes: "f32 mixed",
  params: PARAMS,
  code: perElement(`${convolved("rows")}
  mixed[i] = ${gateAt(variant, "i")} * sum;`),
}));

export const shortConvWebgpu: WebgpuOp<ShortConvArgs> = (args, ctx) => {
  const { x, table, before, weight, gate, out, rows, d, taps } = args, n = rows * d;
  if (n === 0) return;
  ctx.dispatch({
    kernel: forward({ gated: gate !== undefined }),
    buffers: { x, rows: table, before, weight, ...(gate && { gate }), mixed: out },
    params: { n, d, taps },
  });
};

const backward = variants((variant: Variant) => ({
  name: `short_conv_backward${variant.gated ? "" : ".ungated"}`,
  reads: `f32 dout x weight, u32 before after users${gateBuffer(variant)}`,
  writes: `f32 dx${variant.gated ? " dgate" : ""}`,
  params: PARAMS,
  code: perElement(`${convolved("x")}
  ${variant.gated ? "dgate[i] = dout[i] * sum;" : ""}
  var slope = dout[i] * ${gateAt(variant, "i")} * weight[newest];
  for (var t = 1u; t < p.taps; t++) {
    let place = row * (p.taps - 1u) + t - 1u;
    for (var user = after[place]; user < after[place + 1u]; user++) {
      let there = users[user] * p.d + c;
      slope = fma(dout[there] * ${gateAt(variant, "there")}, weight[newest - t], slope);
    }
  }
  dx[i] = slope;`),
}));

/** One invocation for each channel and tap, which goes through all rows. */
const weightGradient = variants((variant: Variant) => ({
  name: `short_conv_backward.weight${variant.gated ? "" : ".ungated"}`,
  reads: `f32 dout x, u32 before${gateBuffer(variant)}`,
  writes: "f32 dweight",
  params: `u32 rows, ${PARAMS}`,
  code: perElement(`let c = i % p.d;
  let t = i / p.d;
  var sum = 0.0;
  for (var row = 0u; row < p.rows; row++) {
    var other = row;
    if (t > 0u) { other = before[row * (p.taps - 1u) + t - 1u]; }
    if (other == ${NO_ROW}u) { continue; }
    let at = row * p.d + c;
    sum = fma(dout[at] * ${gateAt(variant, "at")}, x[other * p.d + c], sum);
  }
  dweight[(c + 1u) * p.taps - 1u - t] += sum;`),
}));

export const shortConvBackwardWebgpu: WebgpuOp<ShortConvBackwardArgs> = (args, ctx) => {
  const { dout, x, before, after, users, weight, gate, dx, dgate, dweight } = args;
  const { rows, d, taps } = args, n = rows * d, shape = { d, taps };
  if (n === 0) return;
  const variant = { gated: gate !== undefined }, gates = gate && { gate };
  ctx.dispatch({
    kernel: backward(variant),
    buffers: { dout, x, before, after, users, weight, ...gates, dx, ...(dgate && { dgate }) },
    params: { n, ...shape },
  });
  if (dweight === undefined) return;
  ctx.dispatch({
    kernel: weightGradient(variant),
    buffers: { dout, x, before, ...gates, dweight },
    params: { n: d * taps, ...shape, rows },
  });
};

/**
 * GPU bindings of SwiGLU: one invocation for each element. The exponential is that of
 * common/wgsl/math.ts, whose error is at most 2 units in the last place.
 */
import { perElement } from "../common/wgsl/entry.ts";
import { kernel, variants } from "../common/wgsl/kernel.ts";
import { EXP, SIGMOID } from "../common/wgsl/math.ts";
import { eachElement } from "../common/webgpu_parts.ts";
import type { WebgpuOp } from "../common/webgpu_op.ts";
import type { SwigluArgs, SwigluBackwardArgs } from "./spec.ts";

const forward = kernel({
  name: "swiglu",
  buffers: { gate: "read f32", up: "read f32", product: "write f32" },
  params: { n: "u32" },
  code: EXP + SIGMOID + perElement(`
  let x = gate[i];
  product[i] = x * sigmoid_f32(x) * up[i];`),
});

export const swigluWebgpu: WebgpuOp<SwigluArgs> = ({ gate, up, out, n }, ctx) =>
  eachElement(ctx, forward, n, { gate, up, product: out });

const backward = variants(({ activated }: { activated: boolean }) => ({
  name: `swiglu_backward${activated ? ".activated" : ""}`,
  buffers: {
    dout: "read f32",
    gate: "read f32",
    up: "read f32",
    dgate: "write f32",
    dup: "write f32",
    ...(activated ? { activation: "write f32" } : {}),
  },
  params: { n: "u32" as const },
  code: EXP + SIGMOID + perElement(`
  let x = gate[i];
  let u = up[i];
  let s = sigmoid_f32(x);
  let d = dout[i];
  dgate[i] = d * u * s * fma(x, 1.0 - s, 1.0);
  dup[i] = d * x * s;
  ${activated ? "activation[i] = x * s * u;" : ""}`),
}));

export const swigluBackwardWebgpu: WebgpuOp<SwigluBackwardArgs> = (args, ctx) => {
  const { dout, gate, up, dgate, dup, activated, n } = args;
  const kernel = backward({ activated: activated !== undefined });
  eachElement(ctx, kernel, n, { dout, gate, up, dgate, dup, activation: activated });
};

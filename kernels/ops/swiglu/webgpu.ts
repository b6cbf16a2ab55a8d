/**
 * GPU bindings of SwiGLU: one invocation for each element. The exponential is that of
 * common/wgsl/math.ts, whose error is at most 2 units in the last place. In the code `s` is the
 * logistic gate of `a`, so the gate's function is a·s for SiLU and for GELU.
 */
import { perElement } from "../common/wgsl/entry.ts";
import { variants } from "../common/wgsl/kernel.ts";
import { EXP, SIGMOID } from "../common/wgsl/math.ts";
import { GATE, SLOPE } from "../gelu/webgpu.ts";
import { eachElement } from "../common/webgpu_parts.ts";
import type { WebgpuOp } from "../common/webgpu_op.ts";
import type { SwigluArgs, SwigluBackwardArgs } from "./spec.ts";

/** WGSL: `s` of `a`, and what the derivative of a·s needs. */
const gateCode = (gelu: boolean) => gelu ? GATE : "let s = sigmoid_f32(a);";
const functions = (gelu: boolean) => gelu ? EXP : EXP + SIGMOID;

const forward = variants(({ gelu }: { gelu: boolean }) => ({
  name: gelu ? "geglu" : "swiglu",
  buffers: { gate: "read f32", up: "read f32", product: "write f32" },
  params: { n: "u32" as const },
  code: functions(gelu) + perElement(`
  let a = gate[i];
  ${gateCode(gelu)}
  product[i] = a * s * up[i];`),
}));

export const swigluWebgpu: WebgpuOp<SwigluArgs> = ({ gate, up, out, n, gelu = false }, ctx) =>
  eachElement(ctx, forward({ gelu }), n, { gate, up, product: out });

const backward = variants(({ activated, gelu }: { activated: boolean; gelu: boolean }) => ({
  name: `${gelu ? "geglu" : "swiglu"}_backward${activated ? ".activated" : ""}`,
  buffers: {
    dout: "read f32",
    gate: "read f32",
    up: "read f32",
    dgate: "write f32",
    dup: "write f32",
    ...(activated ? { activation: "write f32" } : {}),
  },
  params: { n: "u32" as const },
  code: functions(gelu) + perElement(`
  let a = gate[i];
  let u = up[i];
  ${gateCode(gelu)}
  let d = dout[i];
  dgate[i] = d * u * ${gelu ? SLOPE : "s * fma(a, 1.0 - s, 1.0)"};
  dup[i] = d * a * s;
  ${activated ? "activation[i] = a * s * u;" : ""}`),
}));

export const swigluBackwardWebgpu: WebgpuOp<SwigluBackwardArgs> = (args, ctx) => {
  const { dout, gate, up, dgate, dup, activated, n, gelu = false } = args;
  const kernel = backward({ activated: activated !== undefined, gelu });
  eachElement(ctx, kernel, n, { dout, gate, up, dgate, dup, activation: activated });
};

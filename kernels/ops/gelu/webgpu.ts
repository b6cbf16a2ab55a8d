/**
 * GPU bindings of GELU: one invocation for each element. u is the argument of tanh. With
 * s = ½·(1 + tanh u) = σ(2u), y = x·s and dy/dx = s + s·(1 − s)·x·2·du/dx. σ uses the exponential
 * of math.ts and does not overflow; s·(1 − s) is computed from the exponential.
 */
import { perElement } from "../common/wgsl/entry.ts";
import { kernel, variants } from "../common/wgsl/kernel.ts";
import { EXP } from "../common/wgsl/math.ts";
import { eachElement } from "../common/webgpu_parts.ts";
import type { WebgpuOp } from "../common/webgpu_op.ts";
import type { GeluArgs, GeluBackwardArgs } from "./spec.ts";

/**
 * WGSL: the logistic gate s of a, with its exponential e. The factors here and in SLOPE are
 * 2·√(2/π) and its products with 0.044715 and 0.134145. For |x| above 12 the results do not change.
 */
export const GATE = `let c = clamp(a, -12.0, 12.0);
  let z = c * fma(c * c, 0.07135481627159625, 1.5957691216057308);
  let e = exp_f32(-abs(z));
  let t = 1.0 / (1.0 + e);
  let s = select(e * t, t, z >= 0.0);`;
/** WGSL: dy/dx. */
export const SLOPE = `fma(e * t * t, c * fma(c * c, 0.21406444881478875, 1.5957691216057308), s)`;

const forward = kernel({
  name: "gelu",
  reads: "f32 x",
  writes: "f32 activation",
  params: "u32 n",
  code: EXP + perElement(`let a = x[i];
  ${GATE}
  activation[i] = a * s;`),
});

export const geluWebgpu: WebgpuOp<GeluArgs> = ({ x, out, n }, ctx) =>
  eachElement(ctx, forward, n, { x, activation: out });

const backward = variants(({ activated }: { activated: boolean }) => ({
  name: `gelu_backward${activated ? ".activated" : ""}`,
  reads: "f32 dout x",
  writes: `f32 dx${activated ? " activation" : ""}`,
  params: "u32 n",
  code: EXP + perElement(`let a = x[i];
  ${GATE}
  dx[i] = dout[i] * ${SLOPE};
  ${activated ? "activation[i] = a * s;" : ""}`),
}));

export const geluBackwardWebgpu: WebgpuOp<GeluBackwardArgs> = (args, ctx) => {
  const { dout, x, dx, activated, n } = args;
  const kernel = backward({ activated: activated !== undefined });
  eachElement(ctx, kernel, n, { dout, x, dx, activation: activated });
};

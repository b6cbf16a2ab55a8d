/**
 * GPU bindings of SwiGLU: one invocation for each element. The exponential is that of
 * common/wgsl/math.ts, whose error is at most 2 units in the last place. In the code `s` is the
 * logistic gate of `a`, so the gate's function is a·s for SiLU and for GELU, and s for σ. With a
 * limit, `a` and `u` are limited first.
 */
import { perElement } from "../common/wgsl/entry.ts";
import { variants } from "../common/wgsl/kernel.ts";
import { EXP, SIGMOID } from "../common/wgsl/math.ts";
import { GATE, SLOPE } from "../gelu/webgpu.ts";
import { eachElement } from "../common/webgpu_parts.ts";
import type { WebgpuOp } from "../common/webgpu_op.ts";
import { type GateOptions, STEEPNESS, type SwigluArgs, type SwigluBackwardArgs } from "./spec.ts";

type Gate = "gelu" | "sigmoid" | "silu" | "clamped";
const gateOf = ({ gelu, sigmoid, limit }: GateOptions): Gate =>
  gelu ? "gelu" : sigmoid ? "sigmoid" : limit !== undefined ? "clamped" : "silu";
const NAMES: Record<Gate, string> = {
  gelu: "geglu",
  sigmoid: "sigmoid_gate",
  silu: "swiglu",
  clamped: "clamped_swiglu",
};
/** WGSL: `s` of `a`, and what the derivative of a·s needs; the value; its derivative. */
const gateCode = (gate: Gate) =>
  gate === "gelu" ? GATE : `let s = sigmoid_f32(${gate === "clamped" ? `${STEEPNESS} * a` : "a"});`;
/** WGSL: `a` and `u`, the inputs of element i. */
const inputs = (gate: Gate) =>
  gate === "clamped"
    ? "let a = min(gate[i], p.limit); let u = clamp(up[i], -p.limit, p.limit) + 1.0;"
    : "let a = gate[i]; let u = up[i];";
const params = (gate: Gate) => `u32 n${gate === "clamped" ? ", f32 limit" : ""}`;
const limited = ({ limit }: GateOptions) => limit === undefined ? {} : { limit };
const value = (gate: Gate) => gate === "sigmoid" ? "s" : "a * s";
const SLOPES: Record<Gate, string> = {
  gelu: SLOPE,
  sigmoid: "s * (1.0 - s)",
  silu: "s * fma(a, 1.0 - s, 1.0)",
  clamped: `select(0.0, s * fma(${STEEPNESS} * a, 1.0 - s, 1.0), gate[i] <= p.limit)`,
};
const functions = (gate: Gate) => gate === "gelu" ? EXP : EXP + SIGMOID;

const forward = variants(({ gate }: { gate: Gate }) => ({
  name: NAMES[gate],
  reads: "f32 gate up",
  writes: "f32 product",
  params: params(gate),
  code: functions(gate) + perElement(`
  ${inputs(gate)}
  ${gateCode(gate)}
  product[i] = ${value(gate)} * u;`),
}));

export const swigluWebgpu: WebgpuOp<SwigluArgs> = ({ gate, up, out, n, ...kind }, ctx) =>
  eachElement(ctx, forward({ gate: gateOf(kind) }), n, { gate, up, product: out }, limited(kind));

const backward = variants(({ activated, gate }: { activated: boolean; gate: Gate }) => ({
  name: `${NAMES[gate]}_backward${activated ? ".activated" : ""}`,
  reads: "f32 dout gate up",
  writes: `f32 dgate dup${activated ? " activation" : ""}`,
  params: params(gate),
  code: functions(gate) + perElement(`
  ${inputs(gate)}
  ${gateCode(gate)}
  let d = dout[i];
  dgate[i] = d * u * ${SLOPES[gate]};
  ${
    gate === "clamped"
      ? "dup[i] = select(0.0, d * a * s, abs(up[i]) <= p.limit);"
      : `dup[i] = d * ${value(gate)};`
  }
  ${activated ? `activation[i] = ${value(gate)} * u;` : ""}`),
}));

export const swigluBackwardWebgpu: WebgpuOp<SwigluBackwardArgs> = (args, ctx) => {
  const { dout, gate, up, dgate, dup, activated, n } = args;
  const kernel = backward({ activated: activated !== undefined, gate: gateOf(args) });
  const buffers = { dout, gate, up, dgate, dup, activation: activated };
  eachElement(ctx, kernel, n, buffers, limited(args));
};

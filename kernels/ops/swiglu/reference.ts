/** Reference of SwiGLU and its gradient. */
import { floats } from "../common/reference_tensor.ts";
import { geluOf } from "../gelu/reference.ts";
import type { SwigluArgs, SwigluBackwardArgs } from "./spec.ts";

/** σ(a) without overflow for any a. */
function sigmoid(a: number): number {
  if (a >= 0) return 1 / (1 + Math.exp(-a));
  const e = Math.exp(a);
  return e / (1 + e);
}

/** The gate's function of a number, and its derivative. */
function gateOf(
  a: number,
  { gelu, sigmoid: plain }: Pick<SwigluArgs, "gelu" | "sigmoid">,
): { value: number; slope: number } {
  if (gelu) return geluOf(a);
  const s = sigmoid(a);
  if (plain) return { value: s, slope: s * (1 - s) };
  return { value: a * s, slope: s * (1 + a * (1 - s)) };
}

export function swiglu(args: SwigluArgs): void {
  const gate = floats(args.gate), up = floats(args.up), out = floats(args.out);
  const { n } = args;
  for (let i = 0; i < n; i++) out[i] = gateOf(gate[i]!, args).value * up[i]!;
}

export function swigluBackward(args: SwigluBackwardArgs): void {
  const dout = floats(args.dout), gate = floats(args.gate), up = floats(args.up);
  const dgate = floats(args.dgate), dup = floats(args.dup);
  const activated = args.activated && floats(args.activated);
  const { n } = args;
  for (let i = 0; i < n; i++) {
    // All inputs are read first, because dgate may be gate and dup may be up.
    const dz = dout[i]!, b = up[i]!, { value, slope } = gateOf(gate[i]!, args);
    dgate[i] = dz * b * slope;
    dup[i] = dz * value;
    if (activated) activated[i] = value * b;
  }
}

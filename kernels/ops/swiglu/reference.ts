/** Reference of SwiGLU and its gradient. */
import { floats } from "../common/reference_tensor.ts";
import { geluOf } from "../gelu/reference.ts";
import { type GateOptions, STEEPNESS, type SwigluArgs, type SwigluBackwardArgs } from "./spec.ts";

/** σ(a) without overflow for any a. */
function sigmoid(a: number): number {
  if (a >= 0) return 1 / (1 + Math.exp(-a));
  const e = Math.exp(a);
  return e / (1 + e);
}

/** The gate's function of a number, and its derivative. */
function gateOf(
  a: number,
  { gelu, sigmoid: plain, limit }: GateOptions,
): { value: number; slope: number } {
  if (gelu) return geluOf(a);
  if (limit !== undefined) {
    const x = Math.min(a, limit), c = STEEPNESS * x, s = sigmoid(c);
    return { value: x * s, slope: a > limit ? 0 : s * (1 + c * (1 - s)) };
  }
  const s = sigmoid(a);
  if (plain) return { value: s, slope: s * (1 - s) };
  return { value: a * s, slope: s * (1 + a * (1 - s)) };
}

/** What up multiplies with, and its derivative. */
function upOf(b: number, { limit }: GateOptions): { factor: number; slope: number } {
  if (limit === undefined) return { factor: b, slope: 1 };
  return { factor: Math.max(-limit, Math.min(limit, b)) + 1, slope: Math.abs(b) > limit ? 0 : 1 };
}

export function swiglu(args: SwigluArgs): void {
  const gate = floats(args.gate), up = floats(args.up), out = floats(args.out);
  const { n } = args;
  for (let i = 0; i < n; i++) {
    out[i] = gateOf(gate[i]!, args).value * upOf(up[i]!, args).factor;
  }
}

export function swigluBackward(args: SwigluBackwardArgs): void {
  const dout = floats(args.dout), gate = floats(args.gate), up = floats(args.up);
  const dgate = floats(args.dgate), dup = floats(args.dup);
  const activated = args.activated && floats(args.activated);
  const { n } = args;
  for (let i = 0; i < n; i++) {
    // All inputs are read first, because dgate may be gate and dup may be up.
    const dz = dout[i]!, { value, slope } = gateOf(gate[i]!, args), b = upOf(up[i]!, args);
    dgate[i] = dz * b.factor * slope;
    dup[i] = dz * value * b.slope;
    if (activated) activated[i] = value * b.factor;
  }
}

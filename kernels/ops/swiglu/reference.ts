/** Reference of SwiGLU and its gradient. */
import { floats } from "../common/reference_tensor.ts";
import type { SwigluArgs, SwigluBackwardArgs } from "./spec.ts";

/** σ(a) without overflow for any a. */
function sigmoid(a: number): number {
  if (a >= 0) return 1 / (1 + Math.exp(-a));
  const e = Math.exp(a);
  return e / (1 + e);
}

export function swiglu(args: SwigluArgs): void {
  const gate = floats(args.gate), up = floats(args.up), out = floats(args.out);
  for (let i = 0; i < args.n; i++) out[i] = gate[i]! * sigmoid(gate[i]!) * up[i]!;
}

export function swigluBackward(args: SwigluBackwardArgs): void {
  const dout = floats(args.dout), gate = floats(args.gate), up = floats(args.up);
  const dgate = floats(args.dgate), dup = floats(args.dup);
  const activated = args.activated && floats(args.activated);
  for (let i = 0; i < args.n; i++) {
    // All inputs are read first, because dgate may be gate and dup may be up.
    const dz = dout[i]!, a = gate[i]!, b = up[i]!, s = sigmoid(a);
    dgate[i] = dz * b * s * (1 + a * (1 - s));
    dup[i] = dz * a * s;
    if (activated) activated[i] = a * s * b;
  }
}

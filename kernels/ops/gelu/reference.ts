/** Reference of GELU (tanh form) and its gradient. */
import { floats } from "../common/reference_tensor.ts";
import type { GeluArgs, GeluBackwardArgs } from "./spec.ts";

const K = Math.sqrt(2 / Math.PI);

/** GELU of a number, and its derivative. */
export function geluOf(a: number): { value: number; slope: number } {
  const t = Math.tanh(K * (a + 0.044715 * a ** 3));
  const slope = 0.5 * (1 + t) + 0.5 * a * (1 - t * t) * K * (1 + 0.134145 * a * a);
  return { value: 0.5 * a * (1 + t), slope };
}

export function gelu(args: GeluArgs): void {
  const x = floats(args.x), out = floats(args.out);
  for (let i = 0; i < args.n; i++) out[i] = geluOf(x[i]!).value;
}

export function geluBackward(args: GeluBackwardArgs): void {
  const dout = floats(args.dout), x = floats(args.x), dx = floats(args.dx);
  const activated = args.activated && floats(args.activated);
  for (let i = 0; i < args.n; i++) {
    const { value, slope } = geluOf(x[i]!);
    dx[i] = dout[i]! * slope;
    if (activated) activated[i] = value;
  }
}

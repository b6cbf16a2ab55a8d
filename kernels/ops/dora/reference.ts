/** Reference of DoRA's magnitudes. */
import { floats } from "../common/reference_tensor.ts";
import type { DoraGainArgs, ScaleColumnsArgs, ScaleColumnsBackwardArgs } from "./spec.ts";

export function doraGain({ r, d, ...args }: DoraGainArgs): void {
  const squares = floats(args.squares), q = floats(args.q), b = floats(args.b);
  const magnitude = floats(args.magnitude), rho = floats(args.rho), gain = floats(args.gain);
  for (let o = 0; o < d; o++) {
    let sum = squares[o]!;
    for (let k = 0; k < r; k++) sum += q[k * d + o]! * b[o * r + k]!;
    rho[o] = sum > 0 ? 1 / Math.sqrt(sum) : 0;
    gain[o] = magnitude[o]! * rho[o]!;
  }
}

export function scaleColumns({ rows, d, byRow = false, ...args }: ScaleColumnsArgs): void {
  const x = floats(args.x), gain = floats(args.gain), out = floats(args.out);
  for (let r = 0, at = 0; r < rows; r++) {
    for (let j = 0; j < d; j++, at++) out[at] = x[at]! * gain[byRow ? r : j]!;
  }
}

export function scaleColumnsBackward({ rows, d, ...args }: ScaleColumnsBackwardArgs): void {
  const dout = floats(args.dout), x = floats(args.x), rho = floats(args.rho);
  const dmagnitude = floats(args.dmagnitude);
  for (let j = 0; j < d; j++) {
    let sum = 0;
    for (let at = j; at < rows * d; at += d) sum += dout[at]! * x[at]!;
    dmagnitude[j] = dmagnitude[j]! + rho[j]! * sum;
  }
}

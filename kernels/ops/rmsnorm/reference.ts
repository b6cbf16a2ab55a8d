/** Reference of RMSNorm and its gradient. */
import { floats } from "../common/reference_tensor.ts";
import type { RmsnormArgs, RmsnormBackwardArgs } from "./spec.ts";

export function rmsnorm(args: RmsnormArgs): void {
  const { rows, d, eps, offset = 0 } = args;
  const x = floats(args.x), weight = floats(args.weight), out = floats(args.out);
  const rho = floats(args.rho);
  const add = args.add && floats(args.add), sum = args.sum && floats(args.sum);
  const h = new Float64Array(d);
  for (let r = 0; r < rows; r++) {
    let squares = 0;
    for (let j = 0, at = r * d; j < d; j++, at++) {
      h[j] = x[at]!;
      if (add && sum) {
        sum[at] = h[j]! + add[at]!;
        // The backward reads the rounded sum, so the forward uses it, too.
        h[j] = sum[at]!;
      }
      squares += h[j]! * h[j]!;
    }
    const scale = 1 / Math.sqrt(squares / d + eps);
    rho[r] = scale;
    for (let j = 0, at = r * d; j < d; j++, at++) out[at] = h[j]! * scale * (weight[j]! + offset);
  }
}

export function rmsnormBackward(args: RmsnormBackwardArgs): void {
  const { rows, d, accumulate = false, offset = 0 } = args;
  const dout = floats(args.dout), h = floats(args.x), weight = floats(args.weight);
  const rho = floats(args.rho), dx = floats(args.dx);
  const weightSum = new Float64Array(d); // Σ_rows dout·h·ρ
  for (let r = 0; r < rows; r++) {
    const scale = rho[r]!;
    let dot = 0; // Σ_j g_j·h_j
    for (let j = 0, at = r * d; j < d; j++, at++) {
      dot += dout[at]! * (weight[j]! + offset) * h[at]!;
      weightSum[j] = weightSum[j]! + dout[at]! * h[at]! * scale;
    }
    const along = scale * scale * (dot / d);
    for (let j = 0, at = r * d; j < d; j++, at++) {
      const derivative = scale * (dout[at]! * (weight[j]! + offset) - h[at]! * along);
      dx[at] = (accumulate ? dx[at]! : 0) + derivative;
    }
  }
  if (!args.dweight) return;
  const dweight = floats(args.dweight);
  for (let j = 0; j < d; j++) dweight[j] = dweight[j]! + weightSum[j]!;
}

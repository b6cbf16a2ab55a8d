/**
 * Reference of LayerNorm and its gradient. The variance takes a second pass, because E[h²] − μ²
 * would lose digits.
 */
import { floats } from "../common/reference_tensor.ts";
import type { LayernormArgs, LayernormBackwardArgs } from "./spec.ts";

export function layernorm(args: LayernormArgs): void {
  const { rows, d, eps } = args;
  const x = floats(args.x), weight = floats(args.weight), bias = floats(args.bias);
  const out = floats(args.out), means = floats(args.mean), rho = floats(args.rho);
  const add = args.add && floats(args.add), sum = args.sum && floats(args.sum);
  const h = new Float64Array(d);
  for (let r = 0; r < rows; r++) {
    let total = 0;
    for (let j = 0, at = r * d; j < d; j++, at++) {
      h[j] = x[at]!;
      if (add && sum) {
        sum[at] = h[j]! + add[at]!;
        // The backward reads the rounded sum, so the forward uses it, too.
        h[j] = sum[at]!;
      }
      total += h[j]!;
    }
    const mean = total / d;
    let squares = 0;
    for (let j = 0; j < d; j++) squares += (h[j]! - mean) ** 2;
    const scale = 1 / Math.sqrt(squares / d + eps);
    means[r] = mean;
    rho[r] = scale;
    for (let j = 0, at = r * d; j < d; j++, at++) {
      out[at] = (h[j]! - mean) * scale * weight[j]! + bias[j]!;
    }
  }
}

export function layernormBackward(args: LayernormBackwardArgs): void {
  const { rows, d, accumulate = false } = args;
  const dout = floats(args.dout), h = floats(args.x), weight = floats(args.weight);
  const means = floats(args.mean), rho = floats(args.rho), dx = floats(args.dx);
  const weightSum = new Float64Array(d); // Σ_rows dout·x̂
  for (let r = 0; r < rows; r++) {
    const scale = rho[r]!, mean = means[r]!;
    let slope = 0, along = 0; // Σ_j g_j and Σ_j g_j·x̂_j
    for (let j = 0, at = r * d; j < d; j++, at++) {
      const normed = (h[at]! - mean) * scale;
      slope += dout[at]! * weight[j]!;
      along += dout[at]! * weight[j]! * normed;
      weightSum[j] = weightSum[j]! + dout[at]! * normed;
    }
    for (let j = 0, at = r * d; j < d; j++, at++) {
      const normed = (h[at]! - mean) * scale;
      const derivative = scale * (dout[at]! * weight[j]! - slope / d - normed * (along / d));
      dx[at] = (accumulate ? dx[at]! : 0) + derivative;
    }
  }
  if (!args.dweight) return;
  const dweight = floats(args.dweight);
  for (let j = 0; j < d; j++) dweight[j] = dweight[j]! + weightSum[j]!;
}

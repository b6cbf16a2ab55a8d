/** Reference of AdamW and of the sums of squares for gradient clipping. */
import { floats } from "../common/reference_tensor.ts";
import { type AdamwArgs, SUM_CHUNK, type SumSquaresArgs } from "./spec.ts";

export function adamw(args: AdamwArgs): void {
  const { n, lr, beta1, beta2, eps, weightDecay, correction1, correction2, gradScale } = args;
  const param = floats(args.param), grad = floats(args.grad);
  const m = floats(args.m), v = floats(args.v);
  const rootCorrection = Math.sqrt(correction2);
  for (let i = 0; i < n; i++) {
    const g = grad[i]! * gradScale;
    const mean = beta1 * m[i]! + (1 - beta1) * g;
    const square = beta2 * v[i]! + (1 - beta2) * g * g;
    const decayed = param[i]! * (1 - lr * weightDecay);
    param[i] = decayed - (lr / correction1) * mean / (Math.sqrt(square) / rootCorrection + eps);
    m[i] = mean;
    v[i] = square;
  }
}

export function sumSquares(args: SumSquaresArgs): void {
  const { n } = args;
  const x = floats(args.x), partial = floats(args.partial);
  for (let chunk = 0; chunk * SUM_CHUNK < n; chunk++) {
    let sum = 0;
    const end = Math.min(n, (chunk + 1) * SUM_CHUNK);
    for (let i = chunk * SUM_CHUNK; i < end; i++) sum += x[i]! * x[i]!;
    partial[chunk] = sum;
  }
}

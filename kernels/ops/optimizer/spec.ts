/**
 * AdamW (Loshchilov & Hutter 2019, as PyTorch computes it) over a flat block of parameters, and the
 * sums of squares for gradient clipping.
 *
 * adamw:
 *   g = grad·gradScale; p ← p·(1 − lr·weightDecay); m ← β₁m + (1−β₁)g; v ← β₂v + (1−β₂)g²;
 *   p ← p − lr/correction1 · m/(√v/√correction2 + eps)
 *   The host computes correctionᵢ = 1 − βᵢ^t in float64.
 *
 * sum_squares:
 *   partial[c] = Σ x² over the elements [c·SUM_CHUNK, (c+1)·SUM_CHUNK) ∩ [0, n)
 *   The host adds the partial sums in order, in float64.
 */
import type { Tensor } from "../../tensor.ts";

export const SUM_CHUNK = 4096;

export interface AdamwArgs {
  param: Tensor; // [n]
  grad: Tensor; // [n]
  m: Tensor; // [n]
  v: Tensor; // [n]
  n: number;
  lr: number;
  beta1: number;
  beta2: number;
  eps: number;
  weightDecay: number;
  correction1: number;
  correction2: number;
  gradScale: number;
}

/** What kernels take of the settings, computed in float64 so that each is rounded once. */
export function adamwFactors(args: Omit<AdamwArgs, "m" | "v">) {
  const { lr, beta1, beta2, weightDecay, correction1, correction2 } = args;
  return {
    keep: 1 - lr * weightDecay,
    rest1: 1 - beta1,
    rest2: 1 - beta2,
    step: lr / correction1,
    root: Math.sqrt(correction2),
  };
}

export interface SumSquaresArgs {
  x: Tensor; // [n]
  partial: Tensor; // [ceil(n / SUM_CHUNK)]
  n: number;
}

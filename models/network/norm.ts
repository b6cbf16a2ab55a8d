/** The norm of a decoder: RMSNorm, or LayerNorm where there is a bias. */
import type { Device } from "../../kernels/device.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import type { Parameter } from "./types.ts";

export interface NormWeights {
  weight: Parameter; // [d]
  /** [d]; null for RMSNorm. */
  bias: Parameter | null;
  /** 1 where the weight is stored as its difference from 1, else 0; only RMSNorm. */
  offset: number;
  /** Elements that the norm sees at once. */
  d: number;
  /** How often a row has them: for each head, or once. */
  repeats: number;
  eps: number;
}

/** A norm in a pass, with what its backward needs of its forward. */
export interface NormPass {
  norm: NormWeights;
  /** Null for RMSNorm. */
  mean: Tensor | null; // [rows·repeats]
  rho: Tensor; // [rows·repeats]
}

export interface NormForward {
  x: Tensor; // [rows, repeats·d]
  /** A residual branch that is added to x first, and where the sum is stored. */
  add?: Tensor; // [rows, d]
  sum?: Tensor; // [rows, d]
  out: Tensor; // [rows, repeats·d]
  rows: number;
}

export function normForward(
  device: Device,
  { norm, mean, rho }: NormPass,
  args: NormForward,
): void {
  const { weight: { value: weight }, bias, offset, repeats, d, eps } = norm;
  const shared = { ...args, rows: args.rows * repeats, d, eps, weight, rho };
  if (bias === null) device.run("rmsnorm", { ...shared, offset });
  else device.run("layernorm", { ...shared, mean: mean!, bias: bias.value });
}

export interface NormBackward {
  dout: Tensor; // [rows, repeats·d]
  /** The norm's input. */
  x: Tensor; // [rows, repeats·d]
  dx: Tensor; // [rows, repeats·d]
  accumulate?: boolean;
  rows: number;
}

/** Writes dx, and adds the gradients of the norm's trained weights. */
export function normBackward(
  device: Device,
  { norm: { weight: { value: weight, grad }, bias, offset, repeats, d }, mean, rho }: NormPass,
  args: NormBackward,
): void {
  const trained = grad === null ? {} : { dweight: grad }, rows = args.rows * repeats;
  const shared = { ...args, rows, d, weight, rho, ...trained };
  if (bias === null) return device.run("rmsnorm_backward", { ...shared, offset });
  if (bias.grad !== null) {
    device.run("add_bias_backward", { dout: args.dout, dbias: bias.grad, rows, d });
  }
  device.run("layernorm_backward", { ...shared, mean: mean! });
}

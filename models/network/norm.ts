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
}

export interface NormForward {
  x: Tensor; // [rows, d]
  /** A residual branch that is added to x first, and where the sum is stored. */
  add?: Tensor; // [rows, d]
  sum?: Tensor; // [rows, d]
  out: Tensor; // [rows, d]
  /** Only for LayerNorm. */
  mean: Tensor | null; // [rows]
  rho: Tensor; // [rows]
  rows: number;
  d: number;
  eps: number;
}

export function normForward(device: Device, norm: NormWeights, args: NormForward): void {
  const { mean, ...shared } = args, weight = norm.weight.value, { offset } = norm;
  if (norm.bias === null) device.run("rmsnorm", { ...shared, weight, offset });
  else device.run("layernorm", { ...shared, mean: mean!, weight, bias: norm.bias.value });
}

export interface NormBackward {
  dout: Tensor; // [rows, d]
  /** The norm's input. */
  x: Tensor; // [rows, d]
  mean: Tensor | null; // [rows]
  rho: Tensor; // [rows]
  dx: Tensor; // [rows, d]
  accumulate?: boolean;
  rows: number;
  d: number;
}

/** Writes dx, and adds the gradients of the norm's trained weights. */
export function normBackward(device: Device, norm: NormWeights, args: NormBackward): void {
  const { mean, ...shared } = args, weight = norm.weight.value, { grad } = norm.weight;
  const trained = grad === null ? {} : { dweight: grad };
  if (norm.bias === null) {
    device.run("rmsnorm_backward", { ...shared, weight, offset: norm.offset, ...trained });
    return;
  }
  if (norm.bias.grad !== null) {
    const { dout, rows, d } = args;
    device.run("add_bias_backward", { dout, dbias: norm.bias.grad, rows, d });
  }
  device.run("layernorm_backward", { ...shared, mean: mean!, weight, ...trained });
}

/** Reference of a bias and its gradient. */
import { floats } from "../common/reference_tensor.ts";
import type { AddBiasArgs, AddBiasBackwardArgs } from "./spec.ts";

export function addBias({ rows, d, scale = 1, ...args }: AddBiasArgs): void {
  const x = floats(args.x), bias = floats(args.bias);
  for (let r = 0, at = 0; r < rows; r++) {
    for (let j = 0; j < d; j++, at++) x[at] = x[at]! + scale * bias[j]!;
  }
}

export function addBiasBackward({ rows, d, scale = 1, ...args }: AddBiasBackwardArgs): void {
  const dout = floats(args.dout), dbias = floats(args.dbias);
  for (let j = 0; j < d; j++) {
    let sum = 0;
    for (let r = 0; r < rows; r++) sum += dout[r * d + j]!;
    dbias[j] = dbias[j]! + scale * sum;
  }
}

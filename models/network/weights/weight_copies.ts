/**
 * Buffers for float copies of weights with adapters merged in: packed for generation
 * (../../generation/packed_weights.ts), plain for passes over many rows
 * (../merged_copies.ts). Both kinds of copies use the same buffer of a weight, since a
 * model does one thing at a time. Whoever fills the buffers claims them, and can check later
 * whether another owner has claimed them since.
 */
import { packedLength } from "../../../kernels/ops/matmul/spec.ts";
import type { Device } from "../../../kernels/device.ts";
import type { Tensor } from "../../../kernels/tensor.ts";
import type { Module } from "../../architectures/architecture.ts";
import type { Linear } from "../linear.ts";
import { Workspace } from "../workspace.ts";

/** Elements of the buffer for a weight; with `inOut` the weight is [in, out] and is not packed. */
export function copyLength(inOut: boolean, inDim: number, outDim: number): number {
  return inOut ? inDim * outDim : packedLength(outDim, inDim);
}

export class WeightCopies {
  /** Buffers other than the copies of single linear layers. */
  readonly workspace: Workspace;
  #owner: object | null = null;

  constructor(device: Device) {
    this.workspace = new Workspace(device, "copies");
  }

  /** Makes `owner` the owner. The previous contents must not be used any more. */
  claim(owner: object): void {
    this.#owner = owner;
  }

  belongTo(owner: object): boolean {
    return this.#owner === owner;
  }

  /** The buffer of a linear layer for both kinds of copies, the same at every call. */
  buffer({ inDim, outDim, inOut }: Linear, layer: number, module: Module): Tensor {
    return this.workspace.fixed(`${layer}.${module}`, copyLength(inOut, inDim, outDim));
  }

  dispose(): void {
    this.workspace.dispose();
  }
}

/**
 * The buffers for float copies of weights with adapters merged in: packed for generation (packed_weights.ts), plain
 * for passes over many rows (merge_lora.ts). Both kinds of a weight take turns in one buffer, since a model does one
 * thing at a time; whoever fills them makes them its own, and can ask later whether they still are.
 */
import { packedLength } from "../../../kernels/ops/matmul/spec.ts";
import type { Device } from "../../../kernels/device.ts";
import type { Tensor } from "../../../kernels/tensor.ts";
import type { Module } from "../../architectures/architecture.ts";
import type { Linear } from "../linear.ts";
import { Workspace } from "../workspace.ts";

/** Elements of the buffer for a weight, [in, out] with `inOut`, otherwise its transpose. */
export function copyLength(inOut: boolean, inDim: number, outDim: number): number {
  return inOut ? inDim * outDim : packedLength(outDim, inDim);
}

export class WeightCopies {
  /** For what is not the copy of one linear layer's weight. */
  readonly workspace: Workspace;
  #owner: object | null = null;

  constructor(device: Device) {
    this.workspace = new Workspace(device, "copies");
  }

  /** What lay here before is no longer to be used. */
  claim(owner: object): void {
    this.#owner = owner;
  }

  belongTo(owner: object): boolean {
    return this.#owner === owner;
  }

  /** The buffer of a linear layer, large enough for either kind; the same one at every call. */
  buffer({ inDim, outDim, inOut }: Linear, layer: number, module: Module): Tensor {
    return this.workspace.fixed(`${layer}.${module}`, copyLength(inOut, inDim, outDim));
  }

  dispose(): void {
    this.workspace.dispose();
  }
}

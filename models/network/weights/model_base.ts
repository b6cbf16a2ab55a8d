/**
 * What models with different adapters on the same base share: the base's weights, the RoPE tables,
 * and the buffers of passes without gradient. It is freed with the last of these models.
 */
import { packedLength } from "../../../kernels/ops/matmul/spec.ts";
import type { Device } from "../../../kernels/device.ts";
import type { Tensor } from "../../../kernels/tensor.ts";
import type { Module } from "../../architectures/architecture.ts";
import type { Linear } from "../linear.ts";
import type { Parameters } from "./parameters.ts";
import { RopeTables } from "../rope_table.ts";
import type { ModelConfig } from "../../architectures/model_config.ts";
import type { RowReader } from "../../formats/row_reader.ts";
import { Workspace } from "../workspace.ts";

export class ModelBase {
  readonly rope: RopeTables;
  readonly inference: Workspace;
  /** Every pass and every generation that uses the copies makes them again. */
  readonly copies: WeightCopies;
  #users = 0;
  #lastTurn: Promise<void> = Promise.resolve();

  constructor(
    readonly device: Device,
    readonly config: ModelConfig,
    readonly parameters: Parameters,
    /** A base with the same configuration, whose buffers this one uses. */
    private readonly beside: ModelBase | null = null,
    /** Rows of a table that is not among the parameters. */
    readonly tokenRows: RowReader | null = null,
  ) {
    beside?.retain();
    this.rope = beside?.rope ?? new RopeTables(device, config);
    this.inference = beside?.inference ?? new Workspace(device, "inference");
    this.copies = beside?.copies ?? new WeightCopies(device);
  }

  retain(): void {
    this.#users++;
  }

  /** Runs work that needs the buffers for itself, after all work that was asked for before. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#lastTurn.then(work);
    this.#lastTurn = turn.then(() => {}, () => {});
    return turn;
  }

  /** Counts one model less; after the last one everything is freed. */
  release(): void {
    if (--this.#users > 0) return;
    this.parameters.dispose();
    if (this.beside !== null) return this.beside.release();
    this.inference.dispose();
    this.copies.dispose();
    this.rope.dispose();
  }
}

// Buffers for float copies of weights with adapters merged in: packed for generation
// (../../generation/packed_weights.ts), plain for passes over many rows (../merged_copies.ts). Both
// kinds of copies use the same buffer of a weight, since a model does one thing at a time. Whoever
// fills the buffers claims them, and can check later whether another owner has claimed them since.

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

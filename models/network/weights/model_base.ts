/**
 * What models with different adapters on the same base share: the base's weights, the RoPE tables,
 * and the buffers of passes without gradient. It is freed with the last of these models.
 */
import type { Device } from "../../../kernels/device.ts";
import type { Parameters } from "./parameters.ts";
import { RopeTables } from "../rope_table.ts";
import type { ModelConfig } from "../../architectures/model_config.ts";
import { WeightCopies } from "./weight_copies.ts";
import { Workspace } from "../workspace.ts";

export class ModelBase {
  readonly rope: RopeTables;
  /** Buffers of passes without gradient. */
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
  ) {
    beside?.retain();
    this.rope = beside?.rope ?? new RopeTables(device, config);
    this.inference = beside?.inference ?? new Workspace(device, "inference");
    this.copies = beside?.copies ?? new WeightCopies(device);
  }

  /** Counts one more model that uses the base. */
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

/**
 * What models with different adapters on one base share: the base's weights, the tables of its rotation, and the
 * buffers of passes without gradient. It lives as long as one of them does.
 */
import type { Device } from "../../../kernels/device.ts";
import type { Parameters } from "./parameters.ts";
import { RopeTable } from "../rope_table.ts";
import type { ModelConfig } from "../../architectures/model_config.ts";
import { WeightCopies } from "./weight_copies.ts";
import { Workspace } from "../workspace.ts";

export class ModelBase {
  readonly rope: RopeTable;
  readonly inference: Workspace;
  /** Made anew by every pass and every generation that uses them. */
  readonly copies: WeightCopies;
  #users = 0;
  #lastTurn: Promise<void> = Promise.resolve();

  constructor(
    readonly device: Device,
    readonly config: ModelConfig,
    readonly parameters: Parameters,
  ) {
    this.rope = new RopeTable(device, config);
    this.inference = new Workspace(device, "inference");
    this.copies = new WeightCopies(device);
  }

  /** One more model is on it. */
  retain(): void {
    this.#users++;
  }

  /** Does work that needs the buffers for itself, when what was asked for before has ended. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#lastTurn.then(work);
    this.#lastTurn = turn.then(() => {}, () => {});
    return turn;
  }

  /** One model less is on it; the last one takes everything with it. */
  release(): void {
    if (--this.#users > 0) return;
    this.inference.dispose();
    this.copies.dispose();
    this.rope.dispose();
    this.parameters.dispose();
  }
}

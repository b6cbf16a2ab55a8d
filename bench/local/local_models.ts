/**
 * The models on this machine, which a benchmark asks one after the other. Models with the same
 * weights (adapters of one base, or the base itself; workers/run_jobs.ts puts them in a row) share
 * them on the device. Other weights are freed before the next ones are read.
 */
import { LocalModel, type ModelDevice } from "./local_model.ts";
import type { Answerer, Answerers } from "../answerer.ts";
import { type ModelRequest, sharedWeights } from "../plan/model_request.ts";

export class LocalModels implements Answerers {
  #last: { model: LocalModel; weights: string | null } | null = null;

  constructor(readonly device: ModelDevice) {}

  /** @throws UsageError when there is no such model, RgxError when a file is damaged */
  async open(request: ModelRequest, onLoad?: (share: number) => void): Promise<Answerer> {
    const weights = sharedWeights(request);
    if (weights === null || this.#last?.weights !== weights) this.close();
    const model = await LocalModel.open(request, this.device, this.#last?.model, onLoad);
    this.close();
    this.#last = { model, weights };
    return model;
  }

  close(): void {
    this.#last?.model.close();
    this.#last = null;
  }
}

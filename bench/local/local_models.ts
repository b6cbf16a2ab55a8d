/**
 * The models of this machine that a benchmark asks one after the other. Where the next one is on the same weights
 * (adapters of one base, or the base itself; run_jobs.ts puts them in a row) these stay on the device and are not
 * read again; otherwise they are freed before the next are read.
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

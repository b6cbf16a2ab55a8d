/** The sampler that a run's configuration asks for. */
import type { RunContext } from "../run/run_context.ts";
import { OwnSampler, type Sampler } from "../rollout/sampler.ts";
import { RemoteSampler } from "./remote_sampler.ts";

/** @param stale older policies that a checkpoint holds, by the number of their steps */
export function samplerOf(run: RunContext, stale: ReadonlyMap<number, Uint8Array>): Sampler {
  const { config, model, modelWriter, device } = run.options;
  if (config.generation.backend === "in_process") {
    return new OwnSampler(model, config.training, () => run.prompts);
  }
  return new RemoteSampler({
    config,
    model,
    modelWriter,
    stale,
    eosIds: run.prompts.eosIds,
    device: device.name,
    // A note that cannot be written to the log is still shown.
    onNote: (message) => void run.report.warn(message).catch(() => {}),
  });
}

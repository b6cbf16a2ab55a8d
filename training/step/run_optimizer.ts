/** The optimizer of a phase of a run and the sum of its gradients, from the configuration. */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { DROPOUT_PASS } from "../../core/philox.ts";
import type { Device } from "../../kernels/device.ts";
import type { CausalLM } from "../../models/causal_lm.ts";
import type { Ranks } from "../../cluster/ranks/ranks.ts";
import { GradientSum, type Reduction, reductionOf } from "./gradient_sum.ts";
import { optimizerKind } from "./state_tensors.ts";
import { AdamW } from "./optimizer.ts";
import { Shards } from "./shards.ts";

interface Trained {
  config: RunConfig;
  device: Device;
  model: CausalLM;
}

/** @param phase a key of DROPOUT_PASS */
export function createOptimizer(
  { config: { training }, device, model }: Trained,
  ranks: Ranks,
  { weight_decay, max_grad_norm }: { weight_decay: number; max_grad_norm: number },
  phase: keyof typeof DROPOUT_PASS,
): AdamW {
  const kind = optimizerKind(training), pass = DROPOUT_PASS[phase];
  const settings = { ...training, weight_decay, max_grad_norm, kind, pass };
  return new AdamW(device, model, settings, shardsOf(training, model, ranks));
}

export function createGradientSum(
  { config: { training }, device, model }: Trained,
  ranks: Ranks,
  microBatches: number,
): GradientSum {
  return new GradientSum(model, device, {
    reduction: runReduction(training, model, microBatches),
    ranks,
    shards: shardsOf(training, model, ranks),
    halves: training.reduce_dtype === "bfloat16",
  });
}

export function runReduction(
  training: RunConfig["training"],
  model: CausalLM,
  microBatches: number,
): Reduction {
  const bytes = model.trainableArenas.reduce((sum, { length }) => sum + 4 * length, 0);
  return reductionOf(training.reduction, microBatches, bytes);
}

/** Which rank keeps which states of the optimizer; null: each one has all (`training.zero`). */
function shardsOf(
  training: RunConfig["training"],
  model: CausalLM,
  ranks: Ranks,
): Shards | null {
  if (training.zero === 0 || ranks.size === 1) return null;
  return new Shards(ranks, model, optimizerKind(training));
}

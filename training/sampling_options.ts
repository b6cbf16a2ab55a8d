/** How completions are sampled, the same in training and evaluation. */
import type { RunConfig } from "../configs/run_config.ts";
import type { GenerateOptions } from "../models/types.ts";
import type { PromptEncoder } from "./prompts.ts";

/** `temperature` 0 = greedy; default: that of training. */
export function samplingOptions(
  training: RunConfig["training"],
  prompts: PromptEncoder,
  shouldStop: () => boolean,
  temperature: number = training.temperature,
): GenerateOptions {
  return {
    maxNewTokens: training.max_completion_length,
    temperature,
    topK: training.top_k,
    topP: training.top_p,
    minP: training.min_p ?? 0,
    seed: training.generation_seed ?? training.seed,
    eosIds: prompts.eosIds,
    shouldStop,
  };
}

/** How completions are sampled, the same in training and evaluation. */
import type { RunConfig } from "../configs/schema/run_config.ts";
import type { GenerateOptions } from "../models/generation/types.ts";
import { stopStrings } from "../models/generation/stop_strings.ts";
import type { PromptEncoder } from "./prompts.ts";

/** `temperature` 0 = greedy; default: that of training. */
export function samplingOptions(
  training: RunConfig["training"],
  prompts: PromptEncoder,
  shouldStop: () => boolean,
  temperature: number = training.temperature,
): GenerateOptions {
  const stopWhen = stopStrings(prompts.tokenizer, training.stop);
  return {
    maxNewTokens: training.max_completion_length,
    temperature,
    topK: training.top_k,
    topP: training.top_p,
    minP: training.min_p ?? 0,
    repetitionPenalty: training.repetition_penalty,
    minNewTokens: training.min_new_tokens,
    seed: training.generation_seed ?? training.seed,
    eosIds: prompts.eosIds,
    shouldStop,
    ...(stopWhen === null ? {} : { stopWhen }),
  };
}

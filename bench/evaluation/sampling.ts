/**
 * How completions are sampled. The same settings make the rollouts and the evaluations of a run,
 * and the answers of a benchmark.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import type { ComputeDtype } from "../../kernels/ops/common/compute_dtype.ts";
import { stopStrings } from "../../models/generation/sampling/stop_strings.ts";
import type { GenerateOptions } from "../../models/generation/types.ts";
import type { ActivationType, KvCacheDtype } from "../../models/network/types.ts";
import type { PromptEncoder } from "./prompt_encoder.ts";

/** How completions are drawn. */
export interface SamplingSettings {
  /** 0 = greedy. */
  temperature: number;
  /** Only the likeliest tokens that have this probability together; 1 = all. */
  top_p: number;
  /** 0 = off. */
  top_k: number;
  /** Only tokens with min_p × the probability of the likeliest, or more; 0 = all. */
  min_p: number;
  /**
   * Logits of tokens that occurred before are divided by it if positive, multiplied by it if
   * negative; 1 = off.
   */
  repetition_penalty: number;
  /** Maximum number of tokens of a completion. */
  max_new_tokens: number;
  /** A completion ends after one of these texts. */
  stop?: string[];
  /** Minimum number of tokens before the end-of-text token; default 0. */
  min_new_tokens?: number;
  /** Type of the inputs of products with 4-bit weights (GenerateOptions); absent: float32. */
  activations?: ActivationType;
  /** Type of keys and values (GenerateOptions); absent: float32. */
  kv_cache_dtype?: KvCacheDtype;
  /** Type of both sides of matrix products, which the device obeys; absent: float32. */
  compute_dtype?: ComputeDtype;
}

/** The settings of a run. @param temperature default: that of the rollouts */
export function runSampling(
  training: RunConfig["training"],
  temperature: number = training.temperature,
): SamplingSettings {
  return {
    temperature,
    top_p: training.top_p,
    top_k: training.top_k,
    min_p: training.min_p ?? 0,
    repetition_penalty: training.repetition_penalty,
    max_new_tokens: training.max_completion_length,
    stop: training.stop,
    min_new_tokens: training.min_new_tokens,
  };
}

/** The seed of a run's draws. */
export function runSamplingSeed(training: RunConfig["training"]): number {
  return training.generation_seed ?? training.seed;
}

/**
 * The settings as options of a generation, with the tokenizer's end tokens and the stop strings.
 */
function generateOptions(
  sampling: SamplingSettings,
  { tokenizer, eosIds }: Pick<PromptEncoder, "tokenizer" | "eosIds">,
  seed: number,
  shouldStop: () => boolean,
): GenerateOptions {
  const { max_new_tokens: maxNewTokens, min_new_tokens = 0 } = sampling;
  const { activations, kv_cache_dtype: kvCacheDtype } = sampling;
  const stopWhen = stopStrings(tokenizer, sampling.stop ?? []);
  return {
    maxNewTokens,
    temperature: sampling.temperature,
    topK: sampling.top_k,
    topP: sampling.top_p,
    minP: sampling.min_p,
    repetitionPenalty: sampling.repetition_penalty,
    minNewTokens: Math.min(min_new_tokens, maxNewTokens),
    seed,
    eosIds,
    shouldStop,
    ...(activations === undefined ? {} : { activations }),
    ...(kvCacheDtype === undefined ? {} : { kvCacheDtype }),
    ...(stopWhen === null ? {} : { stopWhen }),
  };
}

/** How the completions of an evaluation are drawn, beside its sampling. */
export interface DrawOptions {
  /** Seed of the draws. */
  seed: number;
  /**
   * Maximum number of completions that are decoded together; fewer where the device is faster with
   * fewer, or where memory is short. Default: no limit.
   */
  slots?: number;
  /** Take `slots` as given, even where the device is faster with fewer. */
  slotsAreFixed?: boolean;
  /** @see GenerateOptions.shouldStop */
  shouldStop: () => boolean;
}

/**
 * What `generate` gets after the requests of an evaluation. The draws depend only on the seed, the
 * request's number and the sample's: neither batches nor an interruption change a completion, and a
 * benchmark with a run's problems, seed and sampling gives the completions of the run's own
 * evaluation.
 */
export function drawArguments(
  sampling: SamplingSettings,
  prompts: Pick<PromptEncoder, "tokenizer" | "eosIds">,
  { seed, slots, slotsAreFixed = false, shouldStop }: DrawOptions,
): [options: GenerateOptions, limits: { slots?: number }] {
  const limits = slots === undefined ? {} : { slots };
  return [
    { ...generateOptions(sampling, prompts, seed, shouldStop), ...limits },
    slotsAreFixed ? limits : {},
  ];
}

/** The options of a run's rollouts. */
export function rolloutOptions(
  training: RunConfig["training"],
  prompts: PromptEncoder,
  shouldStop: () => boolean,
): GenerateOptions {
  return generateOptions(runSampling(training), prompts, runSamplingSeed(training), shouldStop);
}

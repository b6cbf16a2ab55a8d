/** The input of a generation, its sampling options, and its result. */
import type { TokenConstraint } from "../grammar/token_constraint.ts";
import type { ActivationStore } from "../network/activation_store.ts";
import type { ActivationType, KvCacheDtype } from "../network/types.ts";

/**
 * Asks for `n` branches of one prompt. `promptId` is the prompt's number in the whole run, which
 * keys the random draws.
 */
export interface GenerateRequest {
  /** The prompt's number in the whole run. */
  promptId: number;
  /** Token ids of the prompt. */
  promptIds: readonly number[];
  /** Number of its completions. */
  n: number;
  /** Number of the first branch; default 0. */
  firstBranch?: number;
  /** Position of its first token for the draws: what its prompt has of it already. Default 0. */
  firstPosition?: number;
  /**
   * For a turn of a dialogue: where the prompt has the model's earlier answers, in order. They then
   * have the keys that decoding makes, and those of the new answer stay for the next turn.
   * @internal
   */
  answers?: readonly AnswerSpan[];
  /** Sampling options that differ from those of the other requests. */
  sampling?: Partial<SamplingOptions>;
  /** The model that generates: one with another adapter that has joined the generation. */
  model?: JoinedModel;
  /**
   * Gets the logits of each next token, before anything changes them, right before its `onToken`:
   * [vocabSize], valid during the call only. They then come to the host in each step.
   */
  onLogits?: (branch: number, logits: Float32Array | Float64Array) => void;
  /** Called for every token of branches 0 … n − 1, in order within a branch. */
  onToken?: (branch: number, token: number, logprob: number) => void;
  /** Called for each of these branches when it has ended; must not throw. */
  onBranch?: (branch: number, completion: Completion) => void;
  /** When it is aborted, the request soon ends and fails with the signal's reason. */
  signal?: AbortSignal;
}

/** Tokens [begin, end) of a prompt that were sampled as one answer. */
export interface AnswerSpan {
  begin: number;
  end: number;
}

/** A model with another adapter on the same base that a generation serves, too. */
export interface JoinedModel {
  /** Ends it; none of its requests may be under way. Its copies of weights are freed. */
  leave(): void;
}

/** Token counts and times of a generation. */
export interface GenerationTiming {
  /** Tokens of all prompts. */
  promptTokens: number;
  /** Those of them that were copied from another prompt of the cache. */
  sharedTokens: number;
  /** Tokens that were sampled. */
  newTokens: number;
  /** Time of all prefills, up to the read of the first tokens. */
  prefillSeconds: number;
  /** Time of all steps after the first tokens. */
  decodeSeconds: number;
}

/** How tokens are sampled, and when a completion ends. */
export interface SamplingOptions {
  /** Maximum number of tokens of a completion. */
  maxNewTokens: number;
  /** 0 = greedy. */
  temperature: number;
  /** Only this many of the likeliest tokens; 0 = all. */
  topK?: number; // 0 = off
  /** Only the likeliest tokens that have this probability together; 1 = all. */
  topP?: number; // 1 = off
  /** Only tokens with minP × the probability of the likeliest, or more; 0 = all. */
  minP?: number; // 0 = off
  /**
   * Logits of tokens that are in the prompt or the completion are divided (> 0) or multiplied (≤ 0)
   * by it, before the temperature; 1 = off.
   */
  repetitionPenalty?: number;
  /**
   * Until a completion has n tokens, `eosIds` are impossible and `stopWhen` is not called.
   * Default 0.
   */
  minNewTokens?: number;
  /**
   * Called after each token that is not one of `eosIds`. When it returns true, the completion ends
   * with that token, which is kept. It must depend on the ids alone (stop_strings.ts).
   */
  stopWhen?: (ids: readonly number[]) => boolean;
  /**
   * Changes the logits of a completion's next token in place, before everything else; `ids` are the
   * tokens so far. It must depend on its arguments alone. The logits of each token then go to the
   * host and back.
   */
  adjust?: (ids: readonly number[], logits: Float32Array | Float64Array) => void;
  /**
   * Holds completions to a form: only tokens that go on with it can be sampled, and a completion
   * ends with it. The maximum length may cut it off.
   */
  constraint?: TokenConstraint;
  /** Keys the random draws, with the prompt, the branch and the position. */
  seed: number;
  /** A completion ends with the first of these ids, which is kept. Empty = never end early. */
  eosIds: readonly number[];
}

/** Options of a whole generation. */
export interface GenerateOptions extends SamplingOptions {
  /** Whether the adapter takes part; default true. */
  adapter?: boolean;
  /**
   * "int8": products with frozen 4-bit weights round their activations to bytes, as llama.cpp does.
   * This is about twice as fast on a CPU, and logits differ a little from those of training.
   * Default: float32.
   */
  activations?: ActivationType;
  /**
   * "bfloat16": keys and values take half of the memory, rounded; only on a CPU. Logits differ a
   * little from those of training. Default: float32.
   */
  kvCacheDtype?: KvCacheDtype;
  /**
   * Keeps the activations of all tokens for the training pass. Not with rounded activations, keys
   * or values. A store has room for each prompt and for the maximum length of each completion.
   * @internal
   */
  keep?: ActivationStore | undefined;
  /**
   * Maximum number of completions that are decoded together. Default: the best number for the
   * device that fits in memory.
   */
  slots?: number;
  /** Called when all completions of a request have ended; must not throw. */
  onEnd?: (request: GenerateRequest, completions: readonly Completion[]) => void;
  /** Called at the end with the token counts and times. */
  onTiming?: (timing: GenerationTiming) => void;
  /**
   * Called between tokens. When it returns true, generation ends early and throws `Interrupted`.
   */
  shouldStop?: () => boolean;
}

/** Dialogues that share a generation, in tokens. */
export interface DialogueRoom {
  /** Of the prompt of each dialogue. */
  prompts: readonly number[];
  /** The maximum after the prompt, of all turns together. */
  tokens: number;
  /** The maximum of one answer. */
  turnTokens: number;
}

/** Samples one answer for each branch of a request. */
export type Ask = (request: GenerateRequest) => Promise<readonly Completion[]>;

/** What a model generated after a prompt. */
export interface Completion {
  /** Token ids, with the one that ended it. */
  ids: number[];
  /**
   * For each id, log p of the policy at the sampling temperature, without penalty, minimum length,
   * top-k, top-p or min-p.
   */
  logprobs: number[];
  /** "stop": ended by one of `eosIds` or by `stopWhen`. "length": it reached its maximum length. */
  finishReason: "stop" | "length";
}

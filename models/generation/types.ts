/** What a generation is asked for, how its tokens are drawn, and what it gives back. */
import type { ActivationType } from "../network/types.ts";

/** `n` branches of one prompt. `promptId` is the prompt's number in the whole run (it keys the random draws). */
export interface GenerateRequest {
  promptId: number;
  promptIds: readonly number[];
  n: number;
  /** Number of the first branch; default 0. */
  firstBranch?: number;
  /** Where this request is sampled otherwise than the others. */
  sampling?: Partial<SamplingOptions>;
  /** Told of every token of branch 0 … n − 1, in order within a branch. */
  onToken?: (branch: number, token: number, logprob: number) => void;
  /** Aborted: the request ends soon, and fails with the signal's reason. */
  signal?: AbortSignal;
}

/** What a generation took. */
export interface GenerationTiming {
  promptTokens: number;
  newTokens: number;
  /** Of all prompts, up to the look at their first tokens. */
  prefillSeconds: number;
  decodeSeconds: number;
}

/** How tokens are drawn, and when a completion ends. */
export interface SamplingOptions {
  maxNewTokens: number;
  /** 0 = greedy. */
  temperature: number;
  topK?: number; // 0 = off
  topP?: number; // 1 = off
  minP?: number; // 0 = off
  /**
   * Logits of tokens that stand in the prompt or the completion are divided (> 0) or multiplied (≤ 0) by it,
   * before temperature; 1 = off.
   */
  repetitionPenalty?: number;
  /** `eosIds` are impossible, and `stopWhen` is not asked, until a completion has so many tokens. Default 0. */
  minNewTokens?: number;
  /**
   * Asked after each further token of a completion that `eosIds` does not end: true ends it with that token,
   * which is kept. It must be a function of the ids alone (stop_strings.ts).
   */
  stopWhen?: (ids: readonly number[]) => boolean;
  /**
   * Changes the logits of a completion's next token in place, before all other rules; `ids` are those it has. Must
   * be a function of its arguments alone. Each token then costs a way of its logits to the host and back.
   */
  adjust?: (ids: readonly number[], logits: Float32Array | Float64Array) => void;
  seed: number;
  /** A completion ends with the first of these, which is kept. Empty = never stop early. */
  eosIds: readonly number[];
}

/** How a batch is generated. */
export interface GenerateOptions extends SamplingOptions {
  adapter?: boolean;
  /**
   * "int8": products with frozen weights of 4 bits take their inputs rounded to bytes, as llama.cpp does: about
   * twice as fast on a CPU, with logits that differ a little from those of training. Default: float32.
   */
  activations?: ActivationType;
  /** Most completions at once; default: as many as suit the device and fit the memory. */
  slots?: number;
  /** Told when all completions of a request have ended; must not throw. */
  onEnd?: (request: GenerateRequest) => void;
  /** Told at the end what it took. */
  onTiming?: (timing: GenerationTiming) => void;
  /** Asked between tokens: true ends generation early by throwing `Interrupted`. */
  shouldStop?: () => boolean;
}

/** What a model added to a prompt. */
export interface Completion {
  ids: number[];
  /** log p of the policy at sampling, per id: temperature applied, no penalty, minimum, top-k, top-p or min-p. */
  logprobs: number[];
  /** "stop": ended by one of `eosIds` or by `stopWhen`. */
  finishReason: "stop" | "length";
}

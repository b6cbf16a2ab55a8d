/**
 * A prompt's request to the completions endpoint of an OpenAI-compatible server, and its answer as
 * completions. Prompts and answers are token ids, so that nothing is tokenised twice. A server that
 * is rgx gets the keys of the random draws (`prompt_id`, `first_branch`), and so samples the same
 * tokens as the trainer's own process would.
 */
import { BadReply, excerpt } from "../../core/remote/refusal.ts";
import type { SamplingSettings } from "../../bench/evaluation/sampling.ts";
import type { Completion, GenerateRequest } from "../../models/generation/types.ts";

export interface WireOptions {
  sampling: SamplingSettings;
  seed: number;
  /** A completion ends with the first of these ids, which is kept. */
  eosIds: readonly number[];
}

/** @param model the name under which the server has the adapter */
export function completionBody(
  { promptId, promptIds, n, firstBranch = 0, firstPosition = 0, answers, sampling: own = {} }:
    GenerateRequest,
  { sampling, seed, eosIds }: WireOptions,
  model: string,
  isRgx: boolean,
): Record<string, unknown> {
  const { stop = [], min_new_tokens = 0, max_new_tokens } = sampling;
  const most = own.maxNewTokens ?? max_new_tokens, least = Math.min(min_new_tokens, most);
  const keys = isRgx
    ? {
      seed,
      prompt_id: promptId,
      first_branch: firstBranch,
      ...(firstPosition === 0 ? {} : { first_position: firstPosition }),
      ...(answers && { answers: answers.map(({ begin, end }) => [begin, end]) }),
      logprobs_mode: "policy_logprobs",
    }
    : {
      seed: promptSeed(seed, promptId, firstBranch, ...firstPosition === 0 ? [] : [firstPosition]),
    };
  return {
    model,
    prompt: promptIds,
    n,
    max_tokens: most,
    temperature: own.temperature ?? sampling.temperature,
    top_p: sampling.top_p,
    top_k: sampling.top_k === 0 ? -1 : sampling.top_k,
    min_p: sampling.min_p,
    repetition_penalty: sampling.repetition_penalty,
    ...(stop.length === 0 ? {} : { stop }),
    ...(least === 0 ? {} : { min_tokens: least }),
    // The trainer's end tokens, whatever the server takes from the model's files.
    ignore_eos: true,
    stop_token_ids: eosIds,
    ...keys,
    logprobs: 0,
    return_token_ids: true,
    return_tokens_as_token_ids: true,
  };
}

/** For servers that know no other key: of each prompt and turn; < 2^31. */
function promptSeed(...values: number[]): number {
  let hash = 0x811c9dc5;
  for (const value of values) {
    for (const word of [value >>> 0, Math.floor(value / 2 ** 32) >>> 0]) {
      hash = Math.imul(hash ^ word, 0x01000193);
      hash ^= hash >>> 15;
    }
  }
  return hash & 0x7fffffff;
}

/**
 * The completions of an answer, in the order of their branches. A log-probability that the server
 * does not know is NaN.
 * @throws BadReply for an answer without ids and log-probabilities of each of `n` completions
 */
export function readCompletions(json: unknown, n: number, vocabSize: number): Completion[] {
  const choices = (json as Json | null)?.["choices"];
  const bad = (what: string): never => {
    throw new BadReply(`the answer ${what}: ${excerpt(JSON.stringify(json) ?? "")}`);
  };
  if (!Array.isArray(choices) || choices.length !== n) {
    return bad(`has ${Array.isArray(choices) ? choices.length : "no"} choices, expected ${n}`);
  }
  const out: (Completion | undefined)[] = Array.from({ length: n });
  for (const [i, choice] of (choices as Json[]).entries()) {
    const index = typeof choice["index"] === "number" ? choice["index"] : i;
    const logprobs = choice["logprobs"] as Json | null;
    const ids = choice["token_ids"] ?? idsOfTokens(logprobs?.["tokens"]);
    const values = logprobs?.["token_logprobs"];
    if (!isIds(ids, vocabSize)) return bad("has no token_ids of the model's vocabulary");
    if (!isNumbers(values) || values.length !== ids.length) {
      return bad(`does not have a log-probability for each of its ${ids.length} tokens`);
    }
    const reason = choice["finish_reason"];
    if (reason !== "stop" && reason !== "length") return bad(`ended by ${JSON.stringify(reason)}`);
    if (!(index in out) || out[index] !== undefined) return bad(`has no choice ${i}`);
    out[index] = {
      ids,
      logprobs: values.map((value) => value ?? Number.NaN),
      finishReason: reason,
    };
  }
  return out as Completion[];
}

type Json = Record<string, unknown>;

/** The ids of tokens that are written as "token_id:N"; null for other texts. */
function idsOfTokens(tokens: unknown): number[] | null {
  if (!Array.isArray(tokens)) return null;
  const ids = tokens.map((token) => /^token_id:(\d+)$/.exec(String(token))?.[1]);
  return ids.every((id) => id !== undefined) ? ids.map(Number) : null;
}

function isIds(ids: unknown, vocabSize: number): ids is number[] {
  return Array.isArray(ids) && ids.length > 0 &&
    ids.every((id) => Number.isInteger(id) && id >= 0 && id < vocabSize);
}

function isNumbers(values: unknown): values is (number | null)[] {
  return Array.isArray(values) &&
    values.every((value) => value === null || typeof value === "number");
}

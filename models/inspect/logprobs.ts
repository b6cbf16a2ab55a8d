/**
 * Log-probabilities of a given sequence at temperature 1, with the most likely tokens at each
 * position.
 */
import { UsageError } from "../../core/errors.ts";
import type { CausalLM } from "../causal_lm.ts";
import { entropyOf, largest, logSumExp, type TopToken } from "../logits.ts";

/** What a model gives to each token of a sequence. */
export interface SequenceLogprobs {
  /** The ids of the sequence. */
  ids: number[];
  /** `logprobs[t]` = log p(ids[t] | ids[0…t−1]) in nats; null for the first id. */
  logprobs: (number | null)[];
  /** `ranks[t]` = number of tokens that are at least as likely there as ids[t]; null as above. */
  ranks: (number | null)[];
  /** `entropies[t]` = entropy of the distribution that ids[t] is of, in nats; null as above. */
  entropies: (number | null)[];
  /** The most likely tokens at that position, in descending order; null for the first. */
  top: (TopToken[] | null)[];
  /** The most likely tokens after the last id. */
  next_top: TopToken[];
}

/**
 * Log-probabilities of `ids`, and the `topCount` most likely tokens at each position.
 * @throws UsageError for no ids, more ids than the model has positions, an invalid id or count
 */
export async function logprobs(
  model: CausalLM,
  ids: readonly number[],
  topCount: number,
): Promise<SequenceLogprobs> {
  const { maxPositions, vocabSize } = model.config;
  if (ids.length === 0 || ids.length > maxPositions) {
    throw new UsageError(
      `log-probabilities of ${ids.length} tokens: the model takes from 1 to ${maxPositions}`,
    );
  }
  const wrong = ids.find((id) => !Number.isInteger(id) || id < 0 || id >= vocabSize);
  if (wrong !== undefined) {
    throw new UsageError(`token ${wrong} is no id from 0 to ${vocabSize - 1}`);
  }
  if (!(Number.isInteger(topCount) && topCount >= 0)) {
    throw new UsageError(
      `logprobs: ${topCount} likeliest tokens, expected an integer of at least 0`,
    );
  }
  const result: SequenceLogprobs = {
    ids: [...ids],
    logprobs: [null],
    ranks: [null],
    entropies: [null],
    top: [null],
    next_top: [],
  };
  await model.positionLogits(ids, (position, logits) => {
    const lse = logSumExp(logits);
    const top = largest(logits, topCount).map((id) => ({ id, logprob: logits[id]! - lse }));
    const next = ids[position + 1];
    if (next === undefined) result.next_top = top;
    else {
      result.logprobs.push(logits[next]! - lse);
      let rank = 0;
      for (const z of logits) if (z >= logits[next]!) rank++;
      result.ranks.push(rank);
      result.entropies.push(entropyOf(logits, lse));
      result.top.push(top);
    }
  });
  return result;
}

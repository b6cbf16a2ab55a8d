/**
 * Processors of logits that the OpenAI API has and devices do not, as a function for
 * `SamplingOptions.adjust`:
 *   logit_bias: l[t] += bias[t];
 *   frequency and presence penalty: l[t] −= frequency·count(t) + presence·[count(t) > 0],
 *   where count(t) is the number of times that t is in the completion (not in the prompt).
 */
import { UsageError } from "../../../core/errors.ts";
import type { SamplingOptions } from "../types.ts";

/** Options of the OpenAI API that change logits. */
export interface LogitsProcessorOptions {
  /** 0 = off. */
  presencePenalty?: number;
  /** 0 = off. */
  frequencyPenalty?: number;
  /** Bias by token id. */
  logitBias?: ReadonlyMap<number, number>;
}

/**
 * Makes the function; null when the options change nothing.
 * @throws UsageError for a token id that is not in the vocabulary, or a number that is not finite
 */
export function logitsProcessor(
  {
    presencePenalty: presence = 0,
    frequencyPenalty: frequency = 0,
    logitBias,
  }: LogitsProcessorOptions,
  vocabSize: number,
): NonNullable<SamplingOptions["adjust"]> | null {
  const bias = [...logitBias ?? []].filter(([, value]) => value !== 0);
  for (const [id, value] of bias) {
    if (!(Number.isInteger(id) && id >= 0 && id < vocabSize)) {
      throw new UsageError(
        `logit bias: token id ${id} is not in the vocabulary (0 … ${vocabSize - 1})`,
      );
    }
    checkFinite(`logit bias of token ${id}`, value);
  }
  checkFinite("presence penalty", presence);
  checkFinite("frequency penalty", frequency);
  const counts = presence !== 0 || frequency !== 0;
  if (bias.length === 0 && !counts) return null;
  return (ids, logits) => {
    for (const [id, value] of bias) logits[id]! += value;
    if (counts) penalise(ids, logits, presence, frequency);
  };
}

function penalise(
  ids: readonly number[],
  logits: Float32Array | Float64Array,
  presence: number,
  frequency: number,
): void {
  const counts = new Map<number, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  for (const [id, count] of counts) logits[id]! -= presence + frequency * count;
}

function checkFinite(what: string, value: number): void {
  if (!Number.isFinite(value)) {
    throw new UsageError(`${what} is ${value}, expected a finite number`);
  }
}

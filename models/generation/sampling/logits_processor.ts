/**
 * Processors of logits that the OpenAI API and vLLM have and devices do not, as a function for
 * `SamplingOptions.adjust`:
 *   logit_bias: l[t] += bias[t];
 *   frequency and presence penalty: l[t] −= frequency·count(t) + presence·[count(t) > 0],
 *   where count(t) is the number of times that t is in the completion (not in the prompt);
 *   allowed tokens: all others become impossible;
 *   bad words: the last token of a word becomes impossible where its other tokens stand before.
 */
import { UsageError } from "../../../core/errors.ts";
import type { SamplingOptions } from "../types.ts";

/** The logit of an impossible token. It is finite: where all are, one of them is still drawn. */
const IMPOSSIBLE = -1e30;

/** Options of the OpenAI API and of vLLM that change logits. */
export interface LogitsProcessorOptions {
  /** 0 = off. */
  presencePenalty?: number;
  /** 0 = off. */
  frequencyPenalty?: number;
  /** Bias by token id. */
  logitBias?: ReadonlyMap<number, number>;
  /** Ids of the vocabulary; null = all. */
  allowedIds?: readonly number[] | null;
  /** Token ids of words that are not made; none is empty. */
  badWords?: readonly (readonly number[])[];
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
    allowedIds = null,
    badWords = [],
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
  const forbids = allowedIds !== null || badWords.length > 0;
  if (bias.length === 0 && !counts && !forbids) return null;
  const allowed = allowedIds === null ? null : new Set(allowedIds);
  return (ids, logits) => {
    for (const [id, value] of bias) logits[id]! += value;
    if (counts) penalise(ids, logits, presence, frequency);
    for (let id = 0; allowed !== null && id < logits.length; id++) {
      if (!allowed.has(id)) logits[id] = IMPOSSIBLE;
    }
    for (const word of badWords) {
      const before = word.length - 1, begin = ids.length - before;
      if (begin < 0 || word.some((id, i) => i < before && ids[begin + i] !== id)) continue;
      logits[word[before]!] = IMPOSSIBLE;
    }
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

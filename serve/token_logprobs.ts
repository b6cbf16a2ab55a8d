/** Log-probabilities of tokens in the modes of logprobs_modes.ts. */
import { keptWeights } from "../kernels/ops/sample/reference.ts";
import type { ConstrainedText, TokenConstraint } from "../models/grammar/token_constraint.ts";
import type { LogprobsMode } from "./logprobs_modes.ts";
import { largest, logSumExp, type TopToken } from "../models/logits.ts";

/** A token with its log-probability, and the likeliest ones at its place. */
export interface TokenLogprob extends TopToken {
  top: readonly TopToken[];
}

/** The sampling parameters that a distribution depends on. */
export interface Distribution {
  temperature: number;
  topK: number;
  topP: number;
  minP: number;
  repetitionPenalty: number;
  adjust: ((ids: readonly number[], logits: Float32Array | Float64Array) => void) | null;
  /** What the completion is held to; null = nothing. */
  constraint: TokenConstraint | null;
}

type Logits = Float32Array | Float64Array;

/**
 * Whether the engine's own log-probabilities are those of a mode. They are at the sampling
 * temperature (1 when greedy), before penalties and filters.
 */
export function engineHas(mode: LogprobsMode, distribution: Distribution): boolean {
  const { temperature, topK, topP, minP, repetitionPenalty, adjust, constraint } = distribution;
  if (mode === "policy_logprobs") return true;
  if (mode === "raw_logprobs") return temperature === 0 || temperature === 1;
  return temperature > 0 && topK === 0 && topP === 1 && minP === 0 && repetitionPenalty === 1 &&
    adjust === null && constraint === null;
}

/**
 * Log-probabilities from the model's logits [vocabSize].
 * @param context the prompt and the completion before the token
 * @param completion the completion before the token
 * @param count number of likeliest tokens
 * @param form the completion before the token, if it is held to a form
 * @param known the token's log-probability if the engine has computed it. It differs in the last
 *   digits; all others are moved by the same amount, so that equal ones stay equal.
 */
export function tokenLogprob(
  token: number,
  logits: Logits,
  mode: LogprobsMode,
  distribution: Distribution,
  context: Iterable<number>,
  completion: readonly number[],
  count: number,
  form: ConstrainedText | null,
  known: number | null,
): TokenLogprob {
  const { temperature } = distribution;
  let values: Logits = logits;
  if (mode === "processed_logprobs") {
    values = processed(logits, distribution, context, completion, form);
  } else if (mode === "policy_logprobs" && temperature > 0 && temperature !== 1) {
    values = logits.map((x) => x / temperature);
  }
  const lse = logSumExp(values);
  const own = values[token]! - lse, moved = known === null ? 0 : known - own;
  const top = largest(values, count).map((id) => ({ id, logprob: values[id]! - lse + moved }));
  return { id: token, logprob: own + moved, top };
}

/** log e^z of the tokens that sampling can draw, −∞ for the others. */
function processed(
  logits: Logits,
  distribution: Distribution,
  context: Iterable<number>,
  completion: readonly number[],
  form: ConstrainedText | null,
): Float64Array {
  const { temperature, repetitionPenalty: penalty, adjust } = distribution;
  const z = Float64Array.from(logits);
  adjust?.(completion, z);
  if (penalty !== 1) {
    for (const id of new Set(context)) z[id] = z[id]! > 0 ? z[id]! / penalty : z[id]! * penalty;
  }
  if (form !== null) {
    const { allowed } = form;
    for (let id = 0; id < z.length; id++) {
      if ((allowed[id >>> 5]! >>> (id & 31) & 1) === 0) z[id] = -Infinity;
    }
  }
  const max = z.reduce((a, b) => Math.max(a, b), -Infinity);
  if (temperature === 0) {
    const best = z.indexOf(max);
    return z.fill(-Infinity).fill(0, best, best + 1);
  }
  const scaled = z.map((x) => x / temperature);
  return keptWeights(scaled, max / temperature, distribution).map(Math.log);
}

/**
 * The divergence of a student from a teacher of which only some log-probabilities are known, as the
 * ServerDistillationTrainer of TRL 1.16 computes it. The distributions are compared over a few
 * tokens and over all others together (TRL's `loss_add_tail`):
 *
 *     beta 0         the teacher's likeliest tokens
 *     0 < beta < 1   its likeliest token, and the one that the student sampled
 *     beta 1         the one that the student sampled
 *
 * The student's own likeliest tokens are never compared: that reverse KL is unstable.
 */
import type { TopToken } from "../../models/logits.ts";
import { divergence } from "../../models/network/divergence.ts";

/** What a teacher says in the place of a token. */
export interface TeacherPlace {
  logprob: number;
  /** Its likeliest tokens, in descending order. */
  top: readonly TopToken[];
}

/** The tokens whose log-probabilities the comparison needs, besides that of the place's own. */
export function comparedTokens({ top }: TeacherPlace, own: number, beta: number): TopToken[] {
  if (beta === 1) return [];
  return (beta === 0 ? top : top.slice(0, 1)).filter(({ id }) => id !== own);
}

/** They count as at most exp(−this) of the probability, which leaves some for the rest (TRL). */
const MIN_REST = 1e-7;

/**
 * The divergence in a place, and its derivatives by the student's log-probabilities: of the own
 * token, then of each of `others`.
 * @param others of `comparedTokens`
 * @param student log-probabilities of the own token and of `others`
 */
export function topDivergence(
  place: TeacherPlace,
  own: number,
  others: readonly TopToken[],
  student: ArrayLike<number>,
  beta: number,
): { value: number; slopes: number[] } {
  // Forward KL compares the own token only where it is among the teacher's likeliest.
  const compared = [
    ...(beta > 0 || place.top.some(({ id }) => id === own)
      ? [{ at: 0, logprob: place.logprob }]
      : []),
    ...others.map(({ logprob }, i) => ({ at: 1 + i, logprob })),
  ];
  const ours = withRest(compared.map(({ at }) => student[at]!));
  const theirs = withRest(compared.map(({ logprob }) => logprob));
  const by = new Float64Array(ours.values.length);
  const value = divergence(ours.values, theirs.values, { beta, temperature: 1 }, by);
  const slopes = Array<number>(1 + others.length).fill(0), rest = compared.length;
  compared.forEach(({ at }, i) => {
    // What a token gains, the rest loses.
    const lost = ours.isBounded ? 0 : Math.exp(ours.values[i]! - ours.values[rest]!) * by[rest]!;
    slopes[at] = by[i]! - lost;
  });
  return { value, slopes };
}

/**
 * The log-probabilities, and that of all other tokens together.
 * @returns `isBounded`: that of the others is a bound, which does not follow the values
 */
function withRest(values: readonly number[]): { values: Float64Array; isBounded: boolean } {
  const sum = values.reduce((total, value) => total + Math.exp(value), 0);
  const isBounded = Math.log(sum) > -MIN_REST;
  const rest = Math.log(-Math.expm1(isBounded ? -MIN_REST : Math.log(sum)));
  return { values: Float64Array.from([...values, rest]), isBounded };
}

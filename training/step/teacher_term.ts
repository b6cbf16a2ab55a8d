/**
 * The term of a teacher in the loss of a micro-batch: the divergence of each token's distribution
 * from the teacher's, averaged over the tokens of the step. The teacher is asked before the forward
 * pass of the policy, whose activations the backward pass needs.
 */
import type { CausalLM } from "../../models/causal_lm.ts";
import type { TopToken } from "../../models/logits.ts";
import type { Group } from "../../models/network/types.ts";
import { comparedTokens, type TeacherPlace, topDivergence } from "../loss/top_divergence.ts";
import type { Teacher } from "../model/teacher.ts";

export interface TeacherTerm {
  /** @see ForwardOptions.alternatives */
  alternatives: readonly (readonly number[])[];
  /**
   * Adds the term to what the next backward pass takes the gradient of.
   * @param logp what the policy's forward pass gave: of all tokens, then of the alternatives
   * @param slopes by `logp`, to which the term adds
   * @returns the rows' share of the step's mean divergence, without the teacher's weight
   */
  add(logp: ArrayLike<number>, slopes: Float64Array): Promise<number>;
}

/**
 * Asks a teacher about the rows of a pass.
 * @param groups the rows after the prompts that the teacher sees
 * @param shares of each token in the step's mean; 0 where the loss does not count it
 */
export async function teacherTerm(
  teacher: Teacher,
  model: CausalLM,
  groups: readonly Group[],
  shares: Float64Array,
  { temperature, lossScale }: { temperature: number; lossScale: number },
): Promise<TeacherTerm> {
  const { beta, weight } = teacher, view = await teacher.ask(groups, temperature);
  const weights = shares.map((share) => share * weight * lossScale);
  const sum = (values: ArrayLike<number>) =>
    shares.reduce((total, share, i) => total + share * values[i]!, 0);
  if (!Array.isArray(view)) {
    return {
      alternatives: [],
      add: async () => sum(await model.addDivergence(view, { beta, temperature, weights })),
    };
  }
  const ids = groups.flatMap(({ branches }) => branches.flat());
  const others = (view as TeacherPlace[]).map((place, i): TopToken[] =>
    shares[i] === 0 ? [] : comparedTokens(place, ids[i]!, beta)
  );
  return {
    alternatives: others.map((list) => list.map(({ id }) => id)),
    add(logp, slopes) {
      let next = ids.length;
      const values = others.map((list, i) => {
        const from = next;
        next += list.length;
        if (shares[i] === 0) return 0;
        const student = [logp[i]!, ...list.map((_, k) => logp[from + k]!)];
        const { value, slopes: by } = topDivergence(view[i]!, ids[i]!, list, student, beta);
        by.forEach((slope, k) => slopes[k === 0 ? i : from + k - 1]! += weights[i]! * slope);
        return value;
      });
      return Promise.resolve(sum(values));
    },
  };
}

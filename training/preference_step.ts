/**
 * A step of `rgx dpo`: preference rows, each a prompt with a chosen and a rejected answer. The two
 * answers are branches of one prompt, so the prompt is computed once for both, by the policy and by
 * the reference. The loss is the mean over the pairs of the step, however many micro-batches it
 * has; metrics have TRL's names.
 */
import type { DpoSection } from "../configs/schema/run_config.ts";
import { DROPOUT_PASS } from "../core/philox.ts";
import { mean } from "../core/statistics.ts";
import type { LanguageModel } from "../models/language_model.ts";
import type { Group } from "../models/network/types.ts";
import type { Metrics } from "./metrics/metrics.ts";
import { type PairLogps, pairLoss } from "./loss/preference_loss.ts";
import type { GradientSum } from "./step/gradient_sum.ts";
import type { ReferencePolicy } from "./step/reference_policy.ts";
import { occasionalPause } from "./step/yield_to_events.ts";

/** The tokens of a preference. */
export interface TokenPair {
  promptIds: readonly number[];
  chosen: readonly number[];
  rejected: readonly number[];
}

interface PreferenceResult {
  loss: number;
  /** Mean over the micro-batches of each one's mean over the tokens of its answers, as in TRL. */
  entropy: number;
  metrics: Metrics;
  /** Tokens of the answers. */
  tokens: number;
  /** Tokens of the prompts: once for each answer, as in TRL. */
  promptTokens: number;
}

/**
 * Zeroes the model's gradients, then computes those of all pairs.
 * @param options as of `supervisedStep`; `microBatchSize`: pairs of a forward pass. `reference`:
 *   null = there is none (`reference_free`)
 */
export async function preferenceStep(
  model: LanguageModel,
  pairs: readonly TokenPair[],
  options: {
    seed: number;
    firstPromptId: number;
    microBatchSize: number;
    sum: GradientSum;
    lossScale?: number;
    settings: DpoSection;
    reference: ReferencePolicy | null;
  },
): Promise<PreferenceResult> {
  const { microBatchSize: size, settings, reference, lossScale = 1 } = options;
  const pause = occasionalPause();
  const parts = await options.sum.over(Math.ceil(pairs.length / size), async (index) => {
    const first = index * size, batch = pairs.slice(first, first + size);
    const groups: Group[] = batch.map(({ promptIds, chosen, rejected }, i) => ({
      promptId: options.firstPromptId + first + i,
      promptIds,
      branches: [chosen, rejected],
    }));
    // Before the forward pass of the policy, whose activations the backward pass needs.
    const refLogp = await reference?.logp(groups, 1) ?? null;
    const { logp, entropy } = await model.forward(groups, {
      temperature: 1,
      train: true,
      dropout: { seed: options.seed, pass: DROPOUT_PASS.supervised },
    });
    const slopes = new Float64Array(logp.length);
    let begin = 0;
    const done = batch.map(({ chosen, rejected }) => {
      const middle = begin + chosen.length, end = middle + rejected.length;
      const sums: PairLogps = {
        chosen: total(logp, begin, middle),
        rejected: total(logp, middle, end),
        refChosen: refLogp === null ? 0 : total(refLogp, begin, middle),
        refRejected: refLogp === null ? 0 : total(refLogp, middle, end),
        chosenTokens: chosen.length,
        rejectedTokens: rejected.length,
      };
      const { loss, byChosen, byRejected } = pairLoss(sums, settings);
      slopes.fill(byChosen * lossScale / pairs.length, begin, middle);
      slopes.fill(byRejected * lossScale / pairs.length, middle, end);
      begin = end;
      return { ...sums, loss };
    });
    model.backward(slopes);
    await pause();
    return { pairs: done, entropy: total(entropy, 0, entropy.length) / entropy.length };
  });
  const all = parts.flatMap(({ pairs }) => pairs);
  const tokens = all.reduce((sum, pair) => sum + pair.chosenTokens + pair.rejectedTokens, 0);
  const chosen = all.map((pair) => settings.beta * (pair.chosen - pair.refChosen));
  const rejected = all.map((pair) => settings.beta * (pair.rejected - pair.refRejected));
  return {
    loss: mean(all.map(({ loss }) => loss)),
    entropy: mean(parts.map(({ entropy }) => entropy)),
    metrics: {
      "rewards/chosen": mean(chosen),
      "rewards/rejected": mean(rejected),
      "rewards/accuracies": mean(chosen.map((value, i) => value > rejected[i]! ? 1 : 0)),
      "rewards/margins": mean(chosen.map((value, i) => value - rejected[i]!)),
      "logps/chosen": mean(all.map((pair) => pair.chosen)),
      "logps/rejected": mean(all.map((pair) => pair.rejected)),
    },
    tokens,
    promptTokens: pairs.reduce((sum, { promptIds }) => sum + 2 * promptIds.length, 0),
  };
}

function total(values: ArrayLike<number>, begin: number, end: number): number {
  let sum = 0;
  for (let i = begin; i < end; i++) sum += values[i]!;
  return sum;
}

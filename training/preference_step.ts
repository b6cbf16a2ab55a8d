/**
 * A step of `rgx dpo`: preference rows, each a prompt with a chosen and a rejected answer. The two
 * answers are branches of one prompt, so the prompt is computed once for both, by the policy and by
 * the reference. The loss is the mean over the pairs of the step, however many micro-batches it
 * has; metrics have TRL's names. Held-out pairs are evaluated in the same way.
 */
import type { DpoSection } from "../configs/schema/run_config.ts";
import { DROPOUT_PASS } from "../core/philox.ts";
import { mean } from "../core/statistics.ts";
import type { Ranks } from "../cluster/ranks/ranks.ts";
import type { CausalLM } from "../models/causal_lm.ts";
import type { Group } from "../models/network/types.ts";
import type { Metrics } from "./metrics/metrics.ts";
import type { GradientSum } from "./step/gradient_sum.ts";
import type { ReferencePolicy } from "./step/reference_policy.ts";
import { occasionalPause } from "./step/yield_to_events.ts";

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
  tokens: number;
  /** Tokens of the prompts: once for each answer, as in TRL. */
  contextTokens: number;
}

/**
 * Zeroes the model's gradients, then computes those of all pairs.
 * @param options as of `supervisedStep`; `microBatchSize`: pairs of a forward pass. `reference`:
 *   null = there is none (`reference_free`)
 */
export async function preferenceStep(
  model: CausalLM,
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
  const microBatches = Math.ceil(pairs.length / size), share = 1 / microBatches;
  const parts = await options.sum.over(microBatches, async (index) => {
    const first = index * size, batch = pairs.slice(first, first + size);
    const groups = groupsOf(batch, options.firstPromptId + first);
    // Before the forward pass of the policy, whose activations the backward pass needs.
    const refLogp = await reference?.logp(groups, 1) ?? null;
    const { logp, entropy, balance = 0 } = await model.forward(groups, {
      temperature: 1,
      train: true,
      dropout: { seed: options.seed, pass: DROPOUT_PASS.supervised },
    });
    const slopes = new Float64Array(logp.length);
    const done = compared(batch, logp, refLogp).map(({ begin, middle, end, ...sums }) => {
      const { loss, byChosen, byRejected } = pairLoss(sums, settings);
      slopes.fill(byChosen * lossScale / pairs.length, begin, middle);
      slopes.fill(byRejected * lossScale / pairs.length, middle, end);
      return { ...sums, loss };
    });
    model.backward(slopes, undefined, share * lossScale);
    await pause();
    return {
      pairs: done,
      balance: share * balance,
      entropy: total(entropy, 0, entropy.length) / entropy.length,
    };
  });
  const all = parts.flatMap(({ pairs }) => pairs);
  return {
    // All pairs may have been left out because of their length.
    loss: (all.length === 0 ? 0 : mean(all.map(({ loss }) => loss))) +
      parts.reduce((sum, { balance }) => sum + balance, 0),
    entropy: mean(parts.map(({ entropy }) => entropy)),
    metrics: pairMetrics(all, settings.beta),
    tokens: all.reduce((sum, pair) => sum + pair.chosenTokens + pair.rejectedTokens, 0),
    contextTokens: pairs.reduce((sum, { promptIds }) => sum + 2 * promptIds.length, 0),
  };
}

/**
 * Loss and metrics of pairs, without gradient: those of a step, and TRL's of logits. Each is the
 * mean over the pairs, or over the tokens of answers.
 */
export async function evaluatePairs(
  model: CausalLM,
  pairs: readonly TokenPair[],
  { microBatchSize: size, settings, reference, ranks }: {
    microBatchSize: number;
    settings: DpoSection;
    reference: ReferencePolicy | null;
    ranks: Ranks;
  },
): Promise<Metrics> {
  const pause = occasionalPause();
  const parts = await ranks.map(Math.ceil(pairs.length / size), async (index) => {
    const batch = pairs.slice(index * size, (index + 1) * size), groups = groupsOf(batch, 0);
    const refLogp = await reference?.logp(groups, 1) ?? null;
    const { logp, entropy } = await model.forward(groups, { temperature: 1, train: false });
    const logits = await model.logitSummaries();
    const sums = { entropy: total(entropy, 0, entropy.length), chosen: 0, rejected: 0, right: 0 };
    const done = compared(batch, logp, refLogp).map(({ begin, middle, end, ...pair }, i) => {
      for (let t = begin; t < end; t++) {
        sums[t < middle ? "chosen" : "rejected"] += logits[t]!.mean;
        if (t < middle && logits[t]!.top === batch[i]!.chosen[t - begin]) sums.right++;
      }
      return { ...pair, loss: pairLoss(pair, settings).loss };
    });
    await pause();
    return { pairs: done, sums };
  });
  const all = parts.flatMap(({ pairs }) => pairs);
  const sumOf = (name: keyof typeof parts[number]["sums"]) =>
    parts.reduce((sum, { sums }) => sum + sums[name], 0);
  const tokensOf = (name: "chosenTokens" | "rejectedTokens") =>
    all.reduce((sum, pair) => sum + pair[name], 0);
  const chosen = tokensOf("chosenTokens"), rejected = tokensOf("rejectedTokens");
  return {
    loss: mean(all.map(({ loss }) => loss)),
    ...pairMetrics(all, settings.beta),
    "logits/chosen": sumOf("chosen") / chosen,
    "logits/rejected": sumOf("rejected") / rejected,
    mean_token_accuracy: sumOf("right") / chosen,
    entropy: sumOf("entropy") / (chosen + rejected),
  };
}

function groupsOf(batch: readonly TokenPair[], firstPromptId: number): Group[] {
  return batch.map(({ promptIds, chosen, rejected }, i) => ({
    promptId: firstPromptId + i,
    promptIds,
    branches: [chosen, rejected],
  }));
}

/** The sums of each pair, and where its answers are among the tokens of the pass. */
function compared(
  batch: readonly TokenPair[],
  logp: ArrayLike<number>,
  refLogp: ArrayLike<number> | null,
): (PairLogps & { begin: number; middle: number; end: number })[] {
  let next = 0;
  return batch.map(({ chosen, rejected }) => {
    const begin = next, middle = begin + chosen.length, end = next = middle + rejected.length;
    return {
      begin,
      middle,
      end,
      chosen: total(logp, begin, middle),
      rejected: total(logp, middle, end),
      refChosen: refLogp === null ? 0 : total(refLogp, begin, middle),
      refRejected: refLogp === null ? 0 : total(refLogp, middle, end),
      chosenTokens: chosen.length,
      rejectedTokens: rejected.length,
    };
  });
}

function pairMetrics(all: readonly PairLogps[], beta: number): Metrics {
  const chosen = all.map((pair) => beta * (pair.chosen - pair.refChosen));
  const rejected = all.map((pair) => beta * (pair.rejected - pair.refRejected));
  return {
    "rewards/chosen": mean(chosen),
    "rewards/rejected": mean(rejected),
    "rewards/accuracies": mean(chosen.map((value, i) => value > rejected[i]! ? 1 : 0)),
    "rewards/margins": mean(chosen.map((value, i) => value - rejected[i]!)),
    "logps/chosen": mean(all.map((pair) => pair.chosen)),
    "logps/rejected": mean(all.map((pair) => pair.rejected)),
  };
}

function total(values: ArrayLike<number>, begin: number, end: number): number {
  let sum = 0;
  for (let i = begin; i < end; i++) sum += values[i]!;
  return sum;
}

/** Sums over the tokens of the two answers; the reference's are 0 where there is none. */
export interface PairLogps {
  chosen: number;
  rejected: number;
  refChosen: number;
  refRejected: number;
  chosenTokens: number;
  rejectedTokens: number;
}

/** The loss of a pair, and its derivatives by the sums of the policy. */
export interface PairLoss {
  loss: number;
  byChosen: number;
  byRejected: number;
}

/** The loss of x = beta · (chosen log-ratio − rejected log-ratio), and its derivative. */
type MarginLoss = (x: number, smoothing: number) => { loss: number; slope: number };

const MARGIN_LOSSES: Record<Exclude<DpoSection["loss_type"], "ipo">, MarginLoss> = {
  /** DPO itself: −log σ(x). */
  sigmoid: (x) => ({ loss: softplus(-x), slope: -sigmoid(-x) }),
  /** Zhao et al. 2023, "SLiC-HF", with the log-ratio as the score. */
  hinge: (x) => ({ loss: Math.max(0, 1 - x), slope: x < 1 ? -1 : 0 }),
  /** Chowdhury et al. 2024: unbiased where a share of the labels is wrong. */
  robust: (x, smoothing) => {
    const right = 1 - smoothing, scale = 1 - 2 * smoothing;
    return {
      loss: (right * softplus(-x) - smoothing * softplus(x)) / scale,
      slope: -(right * sigmoid(-x) + smoothing * sigmoid(x)) / scale,
    };
  },
};

export function pairLoss(pair: PairLogps, settings: DpoSection): PairLoss {
  const { beta, loss_type: type, label_smoothing: smoothing } = settings;
  const chosen = pair.chosen - pair.refChosen, rejected = pair.rejected - pair.refRejected;
  if (type === "ipo") {
    // Azar et al. 2023, "A General Theoretical Paradigm": of means over tokens, as TRL has it.
    const { chosenTokens, rejectedTokens } = pair;
    const off = chosen / chosenTokens - rejected / rejectedTokens - 1 / (2 * beta);
    return {
      loss: off ** 2,
      byChosen: 2 * off / chosenTokens,
      byRejected: -2 * off / rejectedTokens,
    };
  }
  const { loss, slope } = MARGIN_LOSSES[type](beta * (chosen - rejected), smoothing);
  return { loss, byChosen: beta * slope, byRejected: -beta * slope };
}

function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

/** log(1 + e^x) without overflow. */
function softplus(x: number): number {
  return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
}

/**
 * TRL's metrics of a generation batch: lengths, rewards, and the share of groups without a signal.
 */
import type { ImportanceMode } from "../../configs/schema/run_config.ts";
import { maxOf, mean, minOf, sampleStd } from "../../core/statistics.ts";
import type { Advantages } from "../loss/advantages.ts";
import { finiteOrNull, type Metrics } from "./metrics.ts";

export interface RolloutCounts {
  /** Number of tokens of each completion, including the end token. [N] */
  lengths: readonly number[];
  /** [N] */
  truncated: readonly boolean[];
  /** Values of the rewards, unweighted. [N][K] */
  rewards: readonly (readonly (number | null)[])[];
  rewardNames: readonly string[];
  advantages: Advantages;
}

const valid = (values: Iterable<number | null>): number[] =>
  Array.from(values).filter((value): value is number => value !== null && !Number.isNaN(value));

/** A mean without a value to average, as of a reward that applies to nothing, is null. */
export function rolloutMetrics(batch: RolloutCounts): Metrics {
  const { lengths, truncated, rewards, rewardNames, advantages } = batch;
  const ended = lengths.filter((_, i) => !truncated[i]);
  const metrics: Metrics = {
    "completions/mean_length": mean(lengths),
    "completions/min_length": minOf(lengths),
    "completions/max_length": maxOf(lengths),
    "completions/clipped_ratio": 1 - ended.length / lengths.length,
    "completions/mean_terminated_length": ended.length === 0 ? 0 : mean(ended),
    "completions/min_terminated_length": ended.length === 0 ? 0 : minOf(ended),
    "completions/max_terminated_length": ended.length === 0 ? 0 : maxOf(ended),
  };
  for (const [k, name] of rewardNames.entries()) {
    const column = valid(rewards.map((row) => row[k]!));
    metrics[`rewards/${name}/mean`] = mean(column);
    metrics[`rewards/${name}/std`] = sampleStd(column);
  }
  const totals = valid(advantages.rewards);
  metrics.reward = mean(totals);
  metrics.reward_std = sampleStd(totals);
  metrics.frac_reward_zero_std = mean(advantages.zeroStd);
  return finiteOrNull(metrics);
}

/** Sums over values, which can be joined with those of other micro-batches and ranks. */
export interface ValueSums {
  sum: number;
  count: number;
  min: number;
  max: number;
}

class SummedValues {
  readonly sums: ValueSums = { sum: 0, count: 0, min: Infinity, max: -Infinity };

  protected one(value: number): void {
    this.join({ sum: value, count: 1, min: value, max: value });
  }

  join({ sum, count, min, max }: ValueSums): void {
    this.sums.sum += sum;
    this.sums.count += count;
    this.sums.min = Math.min(this.sums.min, min);
    this.sums.max = Math.max(this.sums.max, max);
  }
}

/** The difference between the trainer's and the sampler's log-probabilities of the same tokens. */
export class SamplerDrift extends SummedValues {
  /** Adds tokens: elements [at, at + sampler.length) of `trainer`. NaN is left out. */
  add(trainer: ArrayLike<number>, at: number, sampler: ArrayLike<number>): void {
    for (let t = 0; t < sampler.length; t++) {
      const difference = Math.abs(trainer[at + t]! - sampler[t]!);
      if (!Number.isNaN(difference)) this.one(difference);
    }
  }

  /** TRL's names; empty if there were no tokens. */
  metrics(): Metrics {
    const { sum, count, max } = this.sums;
    if (count === 0) return {};
    return {
      "sampling/sampling_logp_difference/mean": sum / count,
      "sampling/sampling_logp_difference/max": max,
    };
  }
}

/** The size of the correction over a step: the ratios of its tokens, or of its completions. */
export class ImportanceMetrics extends SummedValues {
  /** Adds the ratios of a micro-batch, as `loss/importance_ratio.ts` has them. */
  add(
    ratios: Float64Array,
    offsets: ArrayLike<number>,
    mode: ImportanceMode,
  ): void {
    if (mode.startsWith("token")) return ratios.forEach((ratio) => this.one(ratio));
    for (let row = 0; row + 1 < offsets.length; row++) {
      // A completion that is masked as a whole has no tokens, and the ratio 1 as in TRL.
      this.one(offsets[row + 1]! > offsets[row]! ? ratios[offsets[row]!]! : 1);
    }
  }

  /** TRL's names; empty if nothing was added. */
  metrics(): Metrics {
    const { sum, count, min, max } = this.sums;
    if (count === 0) return {};
    return {
      "sampling/importance_sampling_ratio/min": min,
      "sampling/importance_sampling_ratio/mean": sum / count,
      "sampling/importance_sampling_ratio/max": max,
    };
  }
}

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

/** The sums of values or of their sums. */
export function joinedSums(parts: Iterable<number | ValueSums>): ValueSums {
  const all = { sum: 0, count: 0, min: Infinity, max: -Infinity };
  for (const part of parts) {
    const { sum, count, min, max } = typeof part === "number"
      ? { sum: part, count: 1, min: part, max: part }
      : part;
    all.sum += sum;
    all.count += count;
    all.min = Math.min(all.min, min);
    all.max = Math.max(all.max, max);
  }
  return all;
}

/** Of log-probabilities of the same tokens; NaN is left out. */
export function driftOf(trainer: ArrayLike<number>, sampler: ArrayLike<number>): number[] {
  return Array.from(sampler, (value, t) => Math.abs(trainer[t]! - value))
    .filter((difference) => !Number.isNaN(difference));
}

/** TRL's metrics of such differences; none if there were no tokens. */
export function driftMetrics({ sum, count, max }: ValueSums): Metrics {
  if (count === 0) return {};
  return {
    "sampling/sampling_logp_difference/mean": sum / count,
    "sampling/sampling_logp_difference/max": max,
  };
}

/**
 * The size of the correction (`loss/importance_ratio.ts`): the ratios of tokens, or of completions.
 * @param offsets of the rows among the tokens
 */
export function importanceSizes(
  ratios: Float64Array,
  offsets: readonly number[],
  mode: ImportanceMode,
): Iterable<number> {
  if (mode.startsWith("token")) return ratios;
  // A completion that is masked as a whole has no tokens, and the ratio 1 as in TRL.
  return offsets.slice(0, -1).map((begin, row) => offsets[row + 1]! > begin ? ratios[begin]! : 1);
}

/** TRL's metrics of these sizes; none if there was no correction. */
export function importanceMetrics({ sum, count, min, max }: ValueSums): Metrics {
  if (count === 0) return {};
  return {
    "sampling/importance_sampling_ratio/min": min,
    "sampling/importance_sampling_ratio/mean": sum / count,
    "sampling/importance_sampling_ratio/max": max,
  };
}

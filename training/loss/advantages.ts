/**
 * Rewards → advantages, over a whole generation batch, in float64.
 *
 * The rewards of a completion are weighted and summed, and an estimator compares the sums. That of
 * GRPO is TRL 1.16's (Shao et al. 2024, "DeepSeekMath"): the sum is centred on its group's mean and
 * divided by a standard deviation (n − 1) plus 1e-4. Or, as in GDPO, each reward is normalised
 * within its group first. The others are those of TRL, verl and the authors of MaxRL.
 * One deliberate difference: where all that is compared is equal up to rounding, advantages are
 * exactly 0, so that rounding noise is never divided by a tiny deviation.
 */
import type { AlgorithmSection } from "../../configs/schema/run_config.ts";
import { mean, sampleStd } from "../../core/statistics.ts";

/** N completions (rows) with K rewards each. */
export interface AdvantageInput {
  /** [N][K], the rows of a group adjacent; null or NaN = the reward does not apply to this row. */
  rewards: readonly (readonly (number | null)[])[];
  /** [K] */
  weights: readonly number[];
  /** Rows of each group, in order; their sum is N. */
  groupSizes: readonly number[];
  scale: AlgorithmSection["scale_rewards"];
  aggregation: AlgorithmSection["multi_objective_aggregation"];
  /** Default: grpo. */
  estimator?: AlgorithmSection["advantage_estimator"];
  /** [N] tokens of each row, by which some estimators weigh rows; default: all equal. */
  lengths?: readonly number[];
  /**
   * [N][turns] what each turn of a dialogue has added to the sum of its row; what is left belongs
   * to the last turn. Turns are then compared too, by estimator grpo.
   */
  earned?: readonly (readonly number[])[];
  /** [groups][K] rewards of the greedy completion of each group's prompt (remax). */
  greedy?: readonly (readonly (number | null)[])[];
}

export interface Advantages {
  /** [N], finite: 0 where a row could not be scored. */
  advantages: Float64Array;
  /** [N] weighted sums of the rewards, under every aggregation; NaN where no reward applies. */
  rewards: Float64Array;
  /** [N] 1 where the standard deviation that belongs to the row is 0: the row teaches nothing. */
  zeroStd: Uint8Array;
  /** [N][turns] of each turn, where `earned` is given. */
  turns?: readonly (readonly number[])[];
}

/** TRL's addend of each divisor; verl's of a variance; that of the authors of MaxRL of a mean. */
const EPSILON = 1e-4, WHITEN_EPSILON = 1e-8, MAXRL_EPSILON = 1e-6;
/** A standard deviation up to this counts as 0. */
const ZERO_STD = 1e-8;
/** Relative spread of a group's rewards up to which they count as equal. */
const EQUAL_SPREAD = 1e-6;

const valid = (values: ArrayLike<number>): number[] =>
  Array.from(values).filter((value) => !Number.isNaN(value));

/** True for at least two values that are equal up to rounding. */
function equalValues(values: readonly number[]): boolean {
  if (values.length < 2) return false;
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return high - low <= EQUAL_SPREAD * Math.max(1, Math.abs(mean(values)));
}

/**
 * Standard deviation of the valid values of `rows` rows: 0 if the values are equal or there is one
 * row, NaN if fewer than two values are valid.
 */
function deviation(values: readonly number[], rows: number): number {
  return rows === 1 || equalValues(values) ? 0 : sampleStd(values);
}

/** What an estimator compares. */
interface Scored {
  /** [N] weighted sums; NaN where no reward applies. */
  scores: Float64Array;
  /** [N] tokens of each row. */
  lengths: readonly number[];
  /** The rows [begin, end) of each group, and the score of its greedy completion. */
  groups: readonly { begin: number; end: number; greedy: number | null }[];
  scale: AdvantageInput["scale"];
}

/** The advantages of all rows; NaN = 0. [N] */
type Estimator = (step: Scored) => Float64Array;

/**
 * One entry for each name that the configuration accepts. Each but `grpo` and the two of
 * REINFORCE++ compares completions with a baseline of their group, and does not scale them.
 */
const ESTIMATORS: Record<AlgorithmSection["advantage_estimator"], Estimator> = {
  /** The difference from the group's mean, divided by a deviation. */
  grpo: ({ scores, groups, scale }) => {
    const batchStd = deviation(valid(scores), scores.length);
    return perGroup({ scores, groups }, (group, size) => {
      if (scale === "group" && equalValues(group)) return () => 0;
      const center = mean(group), std = scale === "batch" ? batchStd : deviation(group, size);
      const divisor = scale === "none" ? 1 : std + EPSILON;
      return (score) => (score - center) / divisor;
    });
  },
  /** Ahmadian et al. 2024, "Back to Basics": the mean of the group's other completions. */
  rloo: (step) =>
    perGroup(step, (group) => {
      const total = sum(group), others = group.length - 1;
      return equalValues(group) ? () => 0 : (score) => score - (total - score) / others;
    }),
  /** Hu et al. 2025, "REINFORCE++": normalised over all tokens of the batch. */
  reinforce_plus_plus: ({ scores, lengths }) => whiten(scores, lengths),
  /** The same of what is left when the group's mean is taken off. */
  reinforce_plus_plus_baseline: (step) => {
    const centred = perGroup(step, (group) => {
      const center = mean(group);
      return (score) => score - center;
    });
    return whiten(centred, step.lengths);
  },
  /** Li et al. 2023, "ReMax": the greedy completion; the group's mean where there is none. */
  remax: (step) =>
    perGroup(step, (group, _size, { greedy }) => {
      const baseline = greedy ?? mean(group);
      return (score) => score - baseline;
    }),
  /** Hao et al. 2025, "On-Policy RL with Optimal Reward Baseline": the mean, by length. */
  opo: (step) =>
    perGroup(step, (group, _size, { begin, end }) => {
      const rows = Array.from({ length: end - begin }, (_, i) => begin + i)
        .filter((row) => !Number.isNaN(step.scores[row]!));
      const weighed = sum(rows.map((row) => step.lengths[row]! * step.scores[row]!));
      const baseline = weighed / sum(rows.map((row) => step.lengths[row]!));
      return equalValues(group) ? () => 0 : (score) => score - baseline;
    }),
  /**
   * Tajwar et al. 2026, "Maximum Likelihood Reinforcement Learning": divided by the mean. It is
   * the share of right answers, so a group whose mean is not positive teaches nothing.
   */
  maxrl: (step) =>
    perGroup(step, (group) => {
      const center = mean(group);
      if (equalValues(group) || !(center > 0)) return () => 0;
      return (score) => (score - center) / (center + MAXRL_EPSILON);
    }),
};

/** @throws RangeError when the sizes do not fit together */
export function groupAdvantages(input: AdvantageInput): Advantages {
  const { weights, groupSizes, scale, estimator = "grpo" } = input;
  const rows = input.rewards.length;
  if (groupSizes.reduce((a, b) => a + b, 0) !== rows) {
    throw new RangeError(`groups of ${groupSizes.join(", ")} rows do not make ${rows} rows`);
  }
  const table = asTable(input.rewards, weights.length);
  const rewards = weightedSums(table, table, weights);
  const zeroStd = new Uint8Array(rows);
  if (input.aggregation === "normalize_then_sum") {
    // What is centred and scaled; the rewards themselves stay what metrics report, as in TRL.
    const normalized = normalizeColumns(table, weights.length, groupSizes);
    const scores = weightedSums(normalized, table, weights), batch = valid(scores);
    const center = mean(batch), std = deviation(batch, rows), divisor = std + EPSILON;
    if (std <= ZERO_STD) zeroStd.fill(1);
    return {
      advantages: finite(scores.map((score) => (score - center) / divisor)),
      rewards,
      zeroStd,
    };
  }
  const greedy = input.greedy && asTable(input.greedy, weights.length);
  const baselines = greedy && weightedSums(greedy, greedy, weights);
  const batchStd = deviation(valid(rewards), rows);
  let end = 0;
  const groups = groupSizes.map((size, g) => {
    const begin = end;
    end += size;
    const group = valid(rewards.subarray(begin, end));
    const std = scale === "batch" && estimator === "grpo" ? batchStd : deviation(group, size);
    if (std <= ZERO_STD) zeroStd.fill(1, begin, end);
    return { begin, end, greedy: baselines?.[g] ?? null };
  });
  const lengths = input.lengths ?? Array<number>(rows).fill(1);
  const advantages = ESTIMATORS[estimator]({ scores: rewards, lengths, groups, scale });
  return {
    advantages: finite(advantages),
    rewards,
    zeroStd,
    ...(input.earned && { turns: turnAdvantages(rewards, input.earned, groups, scale) }),
  };
}

/**
 * The return of each turn, which is what its row gets from it on, beside those of the group's other
 * rows from the same turn on: 0 where they had ended. Its expectation is the gradient of the whole
 * return; to normalise by the number of the turn instead would favour going on or stopping. The
 * first turn has the advantage of grpo. [N][turns]
 */
function turnAdvantages(
  totals: Float64Array,
  earned: readonly (readonly number[])[],
  groups: Scored["groups"],
  scale: Scored["scale"],
): number[][] {
  const batchStd = deviation(valid(totals), totals.length);
  const returns = earned.map((turns, i) => {
    let left = totals[i]!;
    return turns.map((reward) => {
      const now = left;
      left -= reward;
      return now;
    });
  });
  return groups.flatMap(({ begin, end }) => {
    const own = returns.slice(begin, end), whole = totals.subarray(begin, end);
    const isEqual = scale === "group" && equalValues(valid(whole));
    const std = scale === "batch" ? batchStd : deviation(valid(whole), own.length);
    const divisor = scale === "none" ? 1 : std + EPSILON;
    const isScored = (i: number) => !Number.isNaN(whole[i]!);
    const scored = own.filter((_, i) => isScored(i));
    return own.map((turns, i) =>
      turns.map((value, t) => {
        const others = scored.map((row) => row[t] ?? 0);
        if (isEqual || !isScored(i) || equalValues(others)) return 0;
        return (value - mean(others)) / divisor;
      })
    );
  });
}

/** Numbers, NaN for null. @throws RangeError for a row of another length */
function asTable(rows: AdvantageInput["rewards"], columns: number): number[][] {
  return rows.map((row) => {
    if (row.length !== columns) {
      throw new RangeError(`${row.length} rewards in a row, ${columns} weights`);
    }
    return row.map((value) => value ?? NaN);
  });
}

/** The weighted sum of each row of `values`; NaN where no reward of `table` applies. [N] */
function weightedSums(
  values: readonly (readonly number[])[],
  table: readonly (readonly number[])[],
  weights: readonly number[],
): Float64Array {
  return Float64Array.from(values, (row, i) => {
    // A reward that is the only valid one of its group cannot be normalised: it counts 0, as in
    // TRL.
    if (table[i]!.every(Number.isNaN)) return NaN;
    const add = (total: number, value: number, k: number) =>
      Number.isNaN(value) ? total : total + weights[k]! * value;
    return row.reduce(add, 0);
  });
}

/** Applies to each score what `compare` makes of the valid scores of its group. [N] */
function perGroup(
  { scores, groups }: Pick<Scored, "scores" | "groups">,
  compare: (
    group: number[],
    size: number,
    place: Scored["groups"][number],
  ) => (score: number) => number,
): Float64Array {
  const out = new Float64Array(scores.length);
  for (const place of groups) {
    const own = scores.subarray(place.begin, place.end);
    out.set(own.map(compare(valid(own), own.length, place)), place.begin);
  }
  return out;
}

/** Mean 0 and variance 1 over all tokens, each of which has its row's value (verl's). [N] */
function whiten(values: Float64Array, lengths: readonly number[]): Float64Array {
  if (equalValues(valid(values))) return new Float64Array(values.length);
  const overTokens = (of: (value: number) => number) =>
    values.reduce(
      (total, value, i) => Number.isNaN(value) ? total : total + lengths[i]! * of(value),
      0,
    );
  const tokens = overTokens(() => 1), center = overTokens((value) => value) / tokens;
  const variance = overTokens((value) => (value - center) ** 2) / (tokens - 1);
  return values.map((value) => (value - center) / Math.sqrt(variance + WHITEN_EPSILON));
}

const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

const finite = (values: Float64Array) => values.map((value) => Number.isNaN(value) ? 0 : value);

/** The values of each reward, centred and scaled within their group (GDPO). [N][K] */
function normalizeColumns(
  table: readonly (readonly number[])[],
  columns: number,
  groupSizes: readonly number[],
): number[][] {
  const out = table.map((row) => row.slice());
  for (let k = 0; k < columns; k++) {
    let start = 0;
    for (const size of groupSizes) {
      const column = valid(table.slice(start, start + size).map((row) => row[k]!));
      const center = mean(column), divisor = deviation(column, size) + EPSILON;
      for (let i = start; i < start + size; i++) {
        out[i]![k] = equalValues(column) && !Number.isNaN(table[i]![k]!)
          ? 0
          : (table[i]![k]! - center) / divisor;
      }
      start += size;
    }
  }
  return out;
}

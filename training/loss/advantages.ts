/**
 * Rewards → advantages, over a whole generation batch, in float64.
 *
 * Formulas: TRL 1.16's GRPO (Shao et al. 2024, "DeepSeekMath"). The rewards of a completion are
 * weighted and summed; the sum is centred on its group's mean and divided by a standard deviation
 * (n − 1) plus 1e-4. Or, as in GDPO, each reward is normalised within its group first.
 * One deliberate difference: a group whose rewards are equal up to rounding gets advantages of
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
}

export interface Advantages {
  /** [N], finite: 0 where a row could not be scored. */
  advantages: Float64Array;
  /** [N] weighted sums of the rewards, under every aggregation; NaN where no reward applies. */
  rewards: Float64Array;
  /** [N] 1 where the standard deviation that belongs to the row is 0: the row teaches nothing. */
  zeroStd: Uint8Array;
}

/** TRL's addend of each divisor. */
const EPSILON = 1e-4;
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

/** @throws RangeError when the sizes do not fit together */
export function groupAdvantages(input: AdvantageInput): Advantages {
  const { weights, groupSizes } = input;
  const rows = input.rewards.length;
  if (groupSizes.reduce((a, b) => a + b, 0) !== rows) {
    throw new RangeError(`groups of ${groupSizes.join(", ")} rows do not make ${rows} rows`);
  }
  const table = input.rewards.map((row) => {
    if (row.length !== weights.length) {
      throw new RangeError(`${row.length} rewards in a row, ${weights.length} weights`);
    }
    return row.map((value) => value ?? NaN);
  });
  const normalizeFirst = input.aggregation === "normalize_then_sum";
  const sumsOf = (values: readonly (readonly number[])[]) =>
    Float64Array.from(values, (row, i) => {
      // A reward that is the only valid one of its group cannot be normalised: it counts 0, as in
      // TRL.
      if (table[i]!.every(Number.isNaN)) return NaN;
      const add = (sum: number, value: number, k: number) =>
        Number.isNaN(value) ? sum : sum + weights[k]! * value;
      return row.reduce(add, 0);
    });
  const rewards = sumsOf(table);
  // What is centred and scaled; the rewards themselves stay what metrics report, as in TRL.
  const scores = normalizeFirst
    ? sumsOf(normalizeColumns(table, weights.length, groupSizes))
    : rewards;
  const result: Advantages = {
    advantages: new Float64Array(rows),
    rewards,
    zeroStd: new Uint8Array(rows),
  };
  const batch = valid(scores);
  const batchStd = deviation(batch, rows);
  if (normalizeFirst) {
    finish(result, scores, 0, rows, mean(batch), batchStd, batchStd + EPSILON);
    return result;
  }
  let start = 0;
  for (const size of groupSizes) {
    const group = valid(rewards.subarray(start, start + size));
    const groupStd = deviation(group, size);
    const std = input.scale === "batch" ? batchStd : groupStd;
    finish(
      result,
      scores,
      start,
      start + size,
      mean(group),
      std,
      input.scale === "none" ? 1 : std + EPSILON,
    );
    if (input.scale === "group" && equalValues(group)) {
      result.advantages.fill(0, start, start + size);
    }
    start += size;
  }
  return result;
}

/** Writes the advantages and flags of the rows [begin, end). @param scores [N] */
function finish(
  result: Advantages,
  scores: Float64Array,
  begin: number,
  end: number,
  center: number,
  std: number,
  divisor: number,
): void {
  for (let i = begin; i < end; i++) {
    const advantage = (scores[i]! - center) / divisor;
    result.advantages[i] = Number.isNaN(advantage) ? 0 : advantage;
    result.zeroStd[i] = Math.abs(std) <= ZERO_STD ? 1 : 0;
  }
}

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

/**
 * Scores the completions of a run again, with other rewards, and says what that would have changed:
 * means, the order within groups, and the signs of advantages. The run is only read.
 */
import { mean, rankCorrelation, sampleStd } from "../../core/statistics.ts";
import type { RewardError, Rubric } from "../../rewards/rubric.ts";
import type { RewardValue } from "../../rewards/types.ts";
import { type AdvantageInput, groupAdvantages } from "../loss/advantages.ts";
import type { StoredStep } from "./stored_steps.ts";

export interface WeightedRewards {
  names: readonly string[];
  weights: readonly number[];
}

export interface RescoreOptions {
  before: WeightedRewards;
  rubric: Rubric;
  groupSize: number;
  scale: AdvantageInput["scale"];
  aggregation: AdvantageInput["aggregation"];
}

export interface RescoredRow {
  step: number;
  /** Number of the group in its step, and of the completion in its group, from 0. */
  group: number;
  branch: number;
  prompt: string;
  completion: string;
  /** Weighted sums; null where no reward applies. */
  before: number | null;
  after: number | null;
  /** The new values by the rewards' names, unweighted. */
  values: Record<string, RewardValue>;
  advantage_before: number;
  advantage_after: number;
}

/** How a set of rewards judges all completions. */
export interface Judgement {
  /** Unweighted; `applied`: completions to which the reward applies. */
  rewards: { name: string; weight: number; mean: number; applied: number }[];
  mean: number;
  std: number;
  /** Share of the groups in which all completions have the same reward, and teach nothing. */
  without_signal: number;
}

export interface RescoreSummary {
  steps: number;
  groups: number;
  completions: number;
  before: Judgement;
  after: Judgement;
  /** Spearman's correlation of the sums over all completions; NaN where one is constant. */
  correlation: number;
  /** Its mean within the groups with a signal both times, and how many these are; NaN for none. */
  correlation_in_groups: number;
  groups_compared: number;
  /** Share of these groups in which none of the completions that were best is best now. */
  other_best: number;
  /** Share of completions whose advantage has another sign (above, below or exactly 0). */
  other_sign: number;
  errors: number;
}

/** The rows of one step and its failures; nothing is kept but the sums that a summary needs. */
export class Rescoring {
  readonly rows: RescoredRow[] = [];
  readonly #before: RewardValue[][] = [];
  readonly #after: RewardValue[][] = [];
  #steps = 0;
  #errors = 0;

  constructor(private readonly options: RescoreOptions) {}

  /** Scores a step. @returns its failures */
  async add({ step, rows }: StoredStep): Promise<readonly RewardError[]> {
    const { rubric, before, groupSize } = this.options;
    const { values, errors } = await rubric.score(rows.map(({ sample }) => sample));
    const old = rows.map(({ rewards }) => rewards);
    const was = this.#advantages(old, before.weights);
    const is = this.#advantages(values, rubric.weights);
    for (const [i, { sample }] of rows.entries()) {
      this.rows.push({
        step,
        group: Math.floor(i / groupSize),
        branch: i % groupSize,
        prompt: sample.prompt,
        completion: sample.completion,
        before: orNull(was.rewards[i]!),
        after: orNull(is.rewards[i]!),
        values: Object.fromEntries(rubric.names.map((name, k) => [name, values[i]![k]!])),
        advantage_before: was.advantages[i]!,
        advantage_after: is.advantages[i]!,
      });
    }
    this.#before.push(...old);
    this.#after.push(...values);
    this.#steps++;
    this.#errors += errors.length;
    return errors;
  }

  summary(): RescoreSummary {
    const { before, rubric, groupSize } = this.options, { rows } = this;
    const groups = inGroups(rows, groupSize);
    const compared = groups.filter((group) =>
      varies(group.map((row) => row.before)) && varies(group.map((row) => row.after))
    );
    const scored = rows.filter((row) => row.before !== null && row.after !== null);
    return {
      steps: this.#steps,
      groups: groups.length,
      completions: rows.length,
      before: judgement(before, this.#before, rows.map((row) => row.before), groupSize),
      after: judgement(rubric, this.#after, rows.map((row) => row.after), groupSize),
      correlation: spearman(scored),
      correlation_in_groups: mean(compared.map(spearman)),
      groups_compared: compared.length,
      other_best: mean(compared.map((group) => Number(hasOtherBest(group)))),
      other_sign: mean(rows.map((row) => {
        return Number(Math.sign(row.advantage_before) !== Math.sign(row.advantage_after));
      })),
      errors: this.#errors,
    };
  }

  #advantages(rewards: readonly (readonly RewardValue[])[], weights: readonly number[]) {
    const { groupSize, scale, aggregation } = this.options;
    const groupSizes = Array<number>(rewards.length / groupSize).fill(groupSize);
    return groupAdvantages({ rewards, weights, groupSizes, scale, aggregation });
  }
}

function inGroups<T>(rows: readonly T[], size: number): T[][] {
  return Array.from({ length: rows.length / size }, (_, g) => rows.slice(g * size, (g + 1) * size));
}

const orNull = (value: number) => Number.isNaN(value) ? null : value;

function judgement(
  { names, weights }: WeightedRewards,
  values: readonly (readonly RewardValue[])[],
  sums: readonly (number | null)[],
  groupSize: number,
): Judgement {
  const known = sums.filter((sum) => sum !== null);
  return {
    rewards: names.map((name, k) => {
      const column = values.map((row) => row[k]!).filter((value) => value !== null);
      return { name, weight: weights[k]!, mean: mean(column), applied: column.length };
    }),
    mean: mean(known),
    std: sampleStd(known),
    without_signal: mean(inGroups(sums, groupSize).map((group) => varies(group) ? 0 : 1)),
  };
}

function varies(sums: readonly (number | null)[]): boolean {
  const known = sums.filter((sum) => sum !== null);
  return known.some((sum) => Math.abs(sum - known[0]!) > 1e-6 * Math.max(1, Math.abs(sum)));
}

function spearman(rows: readonly RescoredRow[]): number {
  const both = rows.filter((row) => row.before !== null && row.after !== null);
  return rankCorrelation(both.map((row) => row.before!), both.map((row) => row.after!));
}

function hasOtherBest(group: readonly RescoredRow[]): boolean {
  const best = (of: "before" | "after") => {
    const top = Math.max(...group.map((row) => row[of] ?? -Infinity));
    return group.filter((row) => row[of] === top);
  };
  const now = new Set(best("after"));
  return !best("before").some((row) => now.has(row));
}

/**
 * Several rewards with weights. Values are returned unweighted, as they are logged; the code that
 * computes advantages applies the weights. A reward that throws, exceeds its time limit or returns
 * anything but a finite number or null counts 0 for that completion and is reported; so does a
 * value that is too large for float32.
 */
import { UsageError } from "../core/errors.ts";
import { customScorer, type PythonOptions } from "./custom/custom_scorer.ts";
import type { RewardFile } from "./custom/reward_file.ts";
import { getReward, resolveRewardParams } from "./registry.ts";
import { inProcessScorer, RewardNotes, type Scorer } from "./scorer.ts";
import { DEFAULT_TIME_LIMIT } from "./time_limit.ts";
import type { ExtraValue, RewardSample, RewardValue, SamplePart } from "./types.ts";

/** A reward of a rubric, as a configuration lists it. */
export interface RubricSection {
  /** A name of the registry. */
  name: string;
  /** Its name in metrics and tables, if it is not that of the registry. */
  as?: string;
  /** Factor in the sum. */
  weight: number;
  /** Its parameters; missing ones have their defaults. */
  params: Readonly<Record<string, unknown>>;
  /** The time limit for one value, in seconds; default {@link RubricOptions.rewardTimeout}. */
  timeout?: number;
  /** The user's file with the reward. `name` is then only its name in metrics. */
  file?: RewardFile;
}

/** A reward that failed on a completion, and counts 0 for it. */
export interface RewardError {
  /** The reward's name in the metrics. */
  name: string;
  /** The exception, or the reason why there is no value. */
  message: string;
  /** The text that it failed on. */
  completion: string;
  /** Index of the completion in its batch. */
  row: number;
}

/** The scores of a batch. */
export interface RubricScores {
  /** [completions, rewards], unweighted; null = not applicable. */
  values: RewardValue[][];
  /** The errors of rewards, one for each value that is missing for it. */
  errors: RewardError[];
  /** Notes of the rewards: all values of each name. */
  logged: ReadonlyMap<string, readonly number[]>;
  /** Extra columns of the table of completions, by name. */
  extras: ReadonlyMap<string, readonly ExtraValue[]>;
  /** Metrics that count what the rewards have spent: requests, seconds, cost. */
  sums: ReadonlyMap<string, number>;
  /** Warnings for the user, each once. */
  warnings: readonly string[];
}

/** Several rewards with their weights. */
export interface Rubric {
  /** Names in metrics and tables. */
  readonly names: readonly string[];
  /** Factors of the rewards in the weighted sum, in the order of `names`. */
  readonly weights: readonly number[];
  /** Some values depend on other completions, so a batch is scored together; known after `open`. */
  readonly wholeBatch?: boolean;
  /** Parts of a sample that each reward needs; for files known after `open`. */
  readonly needs?: readonly (readonly SamplePart[])[];
  /** The values of all rewards for all completions, in their order. */
  score(samples: readonly RewardSample[]): Promise<RubricScores>;
  /** Checks files of rewards before the first score; leaves nothing open. @throws UsageError */
  open(): Promise<void>;
  /**
   * Ends the processes of rewards from files at once, and with them a batch that is being scored.
   * Call it after the last batch. Scoring again starts them again.
   */
  close(): Promise<void>;
}

/** Options for all rewards of a rubric. */
export interface RubricOptions extends PythonOptions {
  /** Seconds for one value of rewards without a `timeout`; default `DEFAULT_TIME_LIMIT`. */
  rewardTimeout?: number;
  /** Nothing will be scored, so there need not be a reward. */
  mayBeEmpty?: boolean;
}

/** Columns of the table of completions that are no rewards. */
export const TABLE_COLUMNS: readonly string[] = [
  "step",
  "prompt",
  "expected",
  "completion",
  "advantage",
  "entry",
  "completion_ids",
  "truncated",
];

/** Further columns of the table where completions are dialogues. */
export const DIALOGUE_COLUMNS: readonly string[] = ["dialogue", "turns", "stop"];

/**
 * Creates a rubric.
 * @throws UsageError for no rewards, unknown or duplicate ones, invalid weights or parameters
 */
export function createRubric(
  sections: readonly RubricSection[],
  { rewardTimeout = DEFAULT_TIME_LIMIT, mayBeEmpty = false, ...python }: RubricOptions = {},
): Rubric & AsyncDisposable {
  if (sections.length === 0 && !mayBeEmpty) {
    throw new UsageError("rewards: at least one reward is needed, found none");
  }
  const scorers = sections.map((section) => createScorer(section, rewardTimeout, python));
  const names = scorers.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) {
    throw new UsageError(`rewards: ${twice} is listed twice`, {
      advice: "Two rewards of one file need a `name` each; a built-in one used twice, `as`.",
    });
  }
  return {
    names,
    weights: sections.map(({ weight }) => weight),
    get needs() {
      return scorers.map(({ needs = [] }) => needs);
    },
    get wholeBatch() {
      return scorers.some((scorer) => scorer.wholeBatch);
    },
    async open() {
      for (const scorer of scorers) await scorer.open?.();
    },
    async close() {
      await Promise.all(scorers.map((scorer) => scorer.close?.()));
    },
    async [Symbol.asyncDispose]() {
      await this.close();
    },
    async score(samples) {
      const notes = new RewardNotes(samples.length, [...TABLE_COLUMNS, ...names]);
      const columns = await Promise.all(scorers.map((scorer) => scorer.score(samples, notes)));
      const errors: RewardError[] = [];
      const values = samples.map(({ completion }, row) =>
        columns.map((outcomes, k) => {
          const outcome = outcomes[row]!;
          const error = "error" in outcome
            ? outcome.error
            : overflow(outcome.value, sections[k]!.weight);
          if (error === null) return (outcome as { value: RewardValue }).value;
          errors.push({ name: names[k]!, message: error, completion, row });
          return 0;
        })
      );
      return {
        values,
        errors,
        logged: notes.logged,
        extras: notes.columns,
        sums: notes.sums,
        warnings: notes.warnings,
      };
    },
  };
}

const MAX_FLOAT32 = (2 - 2 ** -23) * 2 ** 127;

/** The reason why a value cannot be used: float32 would overflow. Null if it can be used. */
function overflow(value: RewardValue, weight: number): string | null {
  const largest = Math.abs(value ?? 0) * Math.max(1, Math.abs(weight));
  return largest <= MAX_FLOAT32
    ? null
    : `returned ${value}, which ${weight === 1 ? "" : `with its weight ${weight} `}is beyond the ` +
      "numbers of float32 (3.4e38)";
}

function createScorer(
  section: RubricSection,
  rewardTimeout: number,
  python: PythonOptions,
): Scorer {
  const { name, as, weight, params, timeout = rewardTimeout, file } = section;
  if (!Number.isFinite(weight)) {
    throw new UsageError(`reward ${name}: weight: must be a finite number, found ${weight}`);
  }
  if (!Number.isFinite(timeout) || timeout <= 0) {
    throw new UsageError(`reward ${name}: timeout: must be a number above 0, found ${timeout}`);
  }
  if (file !== undefined) return customScorer(as ?? name, file, params, timeout, python);
  const reward = getReward(name), shown = as ?? reward.metric ?? reward.name;
  const resolved = resolveRewardParams(name, params);
  if (!("createScorer" in reward)) return inProcessScorer(shown, reward, resolved, timeout);
  try {
    reward.check(resolved);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`reward ${shown}: ${error.message}`, { cause: error });
  }
  return reward.createScorer(shown, resolved, section.timeout);
}

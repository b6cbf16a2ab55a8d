/**
 * Several rewards with weights. Values are handed out unweighted, as they are logged; whoever computes
 * advantages applies the weights. A reward that throws, takes too long or returns something that is no
 * finite number counts 0 for that completion and is reported.
 */
import { UsageError } from "../core/errors.ts";
import { customScorer, type RewardFile } from "./custom/scorer.ts";
import { inProcessScorer } from "./in_process.ts";
import { getReward, resolveRewardParams } from "./registry.ts";
import { RewardNotes, type Scorer } from "./scorer.ts";
import type { ExtraValue, RewardSample, RewardValue } from "./types.ts";

/** A reward in a rubric, as a configuration names it. */
export interface RubricSection {
  name: string;
  weight: number;
  params: Readonly<Record<string, unknown>>;
  /** Seconds for one value; default {@link RubricOptions.rewardTimeout}. */
  timeout?: number;
  /** The user's file that is the reward; `name` then only names it. */
  file?: RewardFile;
}

/** A reward that failed on a completion, where it counts 0. */
export interface RewardError {
  /** The reward's name in the metrics. */
  name: string;
  message: string;
  completion: string;
}

/** What a rubric gave to a batch. */
export interface RubricScores {
  /** [completions, rewards], unweighted; null = not applicable. */
  values: RewardValue[][];
  errors: RewardError[];
  /** What the rewards logged: the mean of each name, and extra columns with a cell a completion. */
  logged: Record<string, number>;
  extras: ReadonlyMap<string, readonly ExtraValue[]>;
}

/** Several rewards with their weights. */
export interface Rubric {
  /** Names in metrics and tables. */
  readonly names: readonly string[];
  readonly weights: readonly number[];
  /** All rewards of all completions, in their order. */
  score(samples: readonly RewardSample[]): Promise<RubricScores>;
  /**
   * Finds out now instead of at the first score whether files of rewards can be used; leaves nothing open.
   * @throws UsageError
   */
  open(): Promise<void>;
  /**
   * Ends the processes of rewards from files, at once, and with them a batch that is being scored; to be
   * called when the last batch is scored. Scoring again starts them again.
   */
  close(): Promise<void>;
}

/** What holds for all rewards of a rubric. */
export interface RubricOptions {
  /** Seconds after which a value that is not there counts 0, where the section says nothing. */
  rewardTimeout?: number;
  /** Nothing will be scored: there need not be a reward. */
  mayBeEmpty?: boolean;
}

/** Columns of the completions table beside those of the rewards. */
const TABLE_COLUMNS = ["step", "prompt", "completion", "advantage"];

/** Throws UsageError for no rewards, unknown ones, one named twice, bad weights or parameters. */
export function createRubric(
  sections: readonly RubricSection[],
  { rewardTimeout = 5, mayBeEmpty = false }: RubricOptions = {},
): Rubric {
  if (sections.length === 0 && !mayBeEmpty) {
    throw new UsageError("rewards: at least one reward is needed, found none");
  }
  const scorers = sections.map((section) => createScorer(section, rewardTimeout));
  const names = scorers.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) {
    throw new UsageError(`rewards: ${twice} is listed twice`, {
      advice: "Two rewards of one file need a name each.",
    });
  }
  return {
    names,
    weights: sections.map(({ weight }) => weight),
    async open() {
      for (const scorer of scorers) await scorer.open?.();
    },
    async close() {
      await Promise.all(scorers.map((scorer) => scorer.close?.()));
    },
    async score(samples) {
      const notes = new RewardNotes(samples.length, [...TABLE_COLUMNS, ...names]);
      const columns = await Promise.all(scorers.map((scorer) => scorer.score(samples, notes)));
      const errors: RewardError[] = [];
      const values = samples.map(({ completion }, row) =>
        columns.map((outcomes, k) => {
          const outcome = outcomes[row]!;
          if ("value" in outcome) return outcome.value;
          errors.push({ name: names[k]!, message: outcome.error, completion });
          return 0;
        })
      );
      return { values, errors, logged: notes.metrics(), extras: notes.columns() };
    },
  };
}

function createScorer(section: RubricSection, rewardTimeout: number): Scorer {
  const { name, weight, params, timeout = rewardTimeout, file } = section;
  if (!Number.isFinite(weight)) {
    throw new UsageError(`reward ${name}: weight: must be a finite number, found ${weight}`);
  }
  if (!Number.isFinite(timeout) || timeout <= 0) {
    throw new UsageError(`reward ${name}: timeout: must be a number above 0, found ${timeout}`);
  }
  return file === undefined
    ? inProcessScorer(getReward(name), resolveRewardParams(name, params), timeout)
    : customScorer(name, file, params, timeout);
}

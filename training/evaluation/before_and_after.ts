/**
 * A run's accuracy on its held-out problems, before and after training: one completion of each
 * problem with the sampling of the rollouts, and one greedy completion. This is a benchmark of the
 * held-out problems with the run's prompts, sampling and seed (bench/same_as_training_test.ts). The
 * draws have keys that training never uses, the same ones before and after, so the two evaluations
 * differ by the model alone.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { hasAnswer } from "../../data/score_completion.ts";
import { sampledTokens } from "../../bench/dialogue/segments.ts";
import type { Entry } from "../../tasks/types.ts";
import {
  type Accuracy,
  accuracyByTask,
  accuracyOf,
  type TaskAccuracy,
} from "../../bench/evaluation/accuracy.ts";
import { runSampling } from "../../bench/evaluation/sampling.ts";
import { mean } from "../../core/statistics.ts";
import { bootstrapMean } from "../../bench/evaluation/intervals.ts";
import { ALONE } from "../../cluster/ranks/ranks.ts";
import type { Rubric } from "../../rewards/rubric.ts";
import type { RewardSample, RewardValue } from "../../rewards/types.ts";
import { addUp } from "../metrics/metrics.ts";
import { scoreBatch } from "../rollout/score.ts";
import { type AnswerOptions, answersTo, sampleOf, scoreOf } from "./answers.ts";

/** An accuracy; where the problems are of several tasks, also that of each task. */
export interface MixedAccuracy extends Accuracy {
  /** The accuracy on each task, by its name; only of several. */
  tasks?: Record<string, TaskAccuracy>;
}

/** The mean of a reward over the held-out problems that it applies to. */
export interface RewardMean {
  /** Over the completions. */
  mean: number;
  /** Percentile bootstrap over the problems, 95 %. */
  ci95: [low: number, high: number];
  /** Number of completions. */
  total: number;
}

/** The accuracy of completions sampled at `temperature`, and that of greedy ones. */
export interface EvalResult extends MixedAccuracy {
  /** Of the completions that were sampled. */
  temperature: number;
  /** The run's rewards of these completions, by name; none where the run has no rewards. */
  rewards?: Record<string, RewardMean>;
  /** Their weighted sum. */
  reward?: RewardMean;
  /** The accuracy of greedy completions. */
  greedy: MixedAccuracy;
}

export interface EvalOptions extends AnswerOptions {
  /** The rewards of the run, which score the completions too. */
  rubric?: Rubric;
  /** Receives what the rewards have spent. */
  onSpent?: (spent: Record<string, number>) => void;
  eval: RunConfig["eval"];
  /** Called for every completion, in the order of the problems. */
  onItem?: (item: EvalItem) => void;
}

/** One problem of an evaluation and its completion. */
export interface EvalItem {
  /** 0 = greedy. */
  temperature: number;
  /** The problem. */
  question: string;
  /** What the model wrote. */
  completion: string;
  /** null: the problem has many right answers. */
  expected: string | null;
  /** null: no answer could be extracted. */
  extracted: string | null;
  /** Whether the answer has the form that was asked for. */
  formatted: boolean;
  /** From 0 to 1. */
  score: number;
  /** Whether it was cut off at the longest completion. */
  truncated: boolean;
  /** Its length. */
  tokens: number;
  /** The run's rewards, by name; of the completions at the run's temperature. */
  rewards?: Record<string, RewardValue>;
}

/** @throws Interrupted when `shouldStop` returned true */
export async function evaluate(
  entries: readonly Entry[],
  options: EvalOptions,
): Promise<EvalResult> {
  const temperature = options.eval.temperature ?? options.training.temperature;
  const passes = temperature === 0 ? 1 : 2;
  const pass = (number: number, passTemperature: number) => {
    let ended = number * entries.length;
    const onEnd = () => options.onProgress?.(++ended, passes * entries.length);
    const rubric = number === 0 && options.rubric?.names.length ? options.rubric : null;
    return measure(entries, options, rubric, passTemperature, onEnd);
  };
  const sampled = await pass(0, temperature);
  const greedy = passes === 1 ? sampled : await pass(1, 0);
  return { ...sampled, temperature, greedy };
}

/** @param rubric null: no rewards score them */
async function measure(
  entries: readonly Entry[],
  options: EvalOptions,
  rubric: Rubric | null,
  temperature: number,
  onEnd: () => void,
): Promise<MixedAccuracy & Pick<EvalResult, "rewards" | "reward">> {
  const { prompts, training, onItem, ranks = ALONE } = options;
  const draws = {
    sampling: runSampling(training, temperature),
    samples: 1,
    scene: `${options.step ?? 0}, evaluation at ${temperature}`,
    slots: Math.max(1, options.eval.batch_size),
    onEnd,
  };
  const answered = await ranks.share(entries.length, async (begin, end) => {
    const own = await answersTo(entries.slice(begin, end), begin, options, draws);
    return own.flat();
  });
  const samples = entries.map((entry, i) => sampleOf(entry, answered[i]!, options));
  const values = rubric && await rewardsOf(rubric, samples, options);
  const answers = entries.map((entry, i) => {
    const answer = answered[i]!, { text: completion, truncated } = answer;
    const { score, extracted, formatted } = scoreOf(entry, answer, prompts);
    const scored = { score, formatted, truncated, tokens: sampledTokens(answer) };
    onItem?.({
      temperature,
      question: entry.question,
      expected: entry.answer,
      completion,
      extracted,
      ...scored,
      ...(values !== null && { rewards: named(rubric!, values[i]!) }),
    });
    return [scored];
  });
  // Where there is no right answer, nothing is right or wrong.
  const { accuracy, correct, total, ci95, mean_score } = accuracyOf(
    answers.map((answer, i) => hasAnswer(entries[i]!) ? answer : []),
  );
  const tasks = accuracyByTask(
    answers,
    entries.map(({ metadata }) => String(metadata["source_dataset"])),
  );
  return {
    ...accuracyOf(answers),
    accuracy,
    correct,
    total,
    ci95,
    mean_score,
    ...(Object.keys(tasks).length > 1 && { tasks }),
    ...(values !== null && rewardMeans(rubric!, values)),
  };
}

/** The values of the run's rewards, [problems, rewards]. Each rank scores a part of the batches. */
async function rewardsOf(
  rubric: Rubric,
  samples: readonly RewardSample[],
  { ranks = ALONE, shouldStop, onSpent, eval: { batch_size } }: EvalOptions,
): Promise<RewardValue[][]> {
  const size = Math.max(1, batch_size);
  const batches = await ranks.map(Math.ceil(samples.length / size), async (i) => {
    const some = samples.slice(i * size, (i + 1) * size);
    const { values, sums } = await scoreBatch(rubric, some, shouldStop);
    return { values, spent: Object.fromEntries(sums) };
  });
  onSpent?.(addUp(batches.map(({ spent }) => spent)));
  return batches.flatMap(({ values }) => values);
}

const named = ({ names }: Rubric, values: readonly RewardValue[]) =>
  Object.fromEntries(names.map((name, k) => [name, values[k]!]));

function rewardMeans({ names, weights }: Rubric, values: RewardValue[][]) {
  const of = (all: readonly number[]): RewardMean => ({
    mean: all.length === 0 ? 0 : mean(all),
    ci95: bootstrapMean(all),
    total: all.length,
  });
  return {
    rewards: Object.fromEntries(
      names.map((name, k) => [name, of(values.flatMap((row) => row[k] ?? []))]),
    ),
    reward: of(
      values.map((row) =>
        row.reduce<number>((sum, value, k) => sum + weights[k]! * (value ?? 0), 0)
      ),
    ),
  };
}

/** Rewards that accuracy and answer format say already. */
const SAID = ["correctness", "format_answer"];

/** The rewards of a result and their weighted sum; none where accuracy and format say the same. */
export function shownRewards(
  { rewards = {}, reward }: Pick<EvalResult, "rewards" | "reward">,
): [string, RewardMean][] {
  const all = Object.entries(rewards);
  if (all.every(([name]) => SAID.includes(name))) return [];
  return all.length === 1 ? all : [...all, ["weighted sum", reward!]];
}

/** The names in metrics of an accuracy, in their order. */
const MEASURED = [
  "accuracy",
  "correct",
  "total",
  "ci95",
  "mean_score",
  "format_rate",
  "truncated_rate",
  "mean_completion_tokens",
] as const;

/** The result as metrics of a line in metrics.jsonl. */
export function evalMetrics(result: EvalResult): Record<string, number | number[]> {
  const metrics: Record<string, number | number[]> = { eval_temperature: result.temperature };
  if (result.reward !== undefined) metrics["eval_reward"] = result.reward.mean;
  for (const [name, { mean }] of Object.entries(result.rewards ?? {})) {
    metrics[`eval_rewards/${name}/mean`] = mean;
  }
  for (const [prefix, accuracy] of [["eval_", result], ["eval_greedy_", result.greedy]] as const) {
    for (const name of MEASURED) metrics[prefix + name] = accuracy[name];
    for (const [task, ofTask] of Object.entries(accuracy.tasks ?? {})) {
      for (const name of ["accuracy", "total", "mean_score"] as const) {
        metrics[`${prefix}tasks/${task}/${name}`] = ofTask[name];
      }
    }
  }
  return metrics;
}

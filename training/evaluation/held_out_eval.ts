/**
 * Evaluation on held-out problems while training, as in TRL's trainer: `num_generations_eval`
 * completions of each problem, sampled as in training and scored by the rewards of the run. It
 * gives the loss and the metrics of a step under names that begin with `eval_`, and the accuracy.
 * Random numbers have keys that training never uses, the same in every evaluation. One difference:
 * rewards and lengths are means over all completions (TRL: means of the batches' means).
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { EVAL_PROMPT_ID } from "../../data/held_out.ts";
import { scoreCompletion } from "../../data/score_completion.ts";
import { accuracyOf, type ScoredAnswer } from "../../evaluation/accuracy.ts";
import { complete } from "../../evaluation/complete.ts";
import type { LanguageModel } from "../../models/language_model.ts";
import type { RewardValue } from "../../rewards/types.ts";
import type { Rubric } from "../../rewards/rubric.ts";
import type { Entry } from "../../tasks/types.ts";
import { groupAdvantages } from "../loss/advantages.ts";
import { addUp, averageMetrics, finiteOrNull, type Metrics } from "../metrics/metrics.ts";
import type { PromptEncoder } from "../../evaluation/prompt_encoder.ts";
import type { ReferencePolicy } from "../step/reference_policy.ts";
import { rolloutMetrics } from "../metrics/rollout_metrics.ts";
import { runSampling, runSamplingSeed } from "../../evaluation/sampling.ts";
import { ALONE, type Ranks } from "../../ranks/ranks.ts";
import { scoreBatch } from "../rollout/score_batch.ts";
import { taskMetrics, type TaskScore } from "../rollout/task_metrics.ts";
import { lossWithoutGradient, type TrainingRow } from "../step/gradient_accumulation.ts";

export interface HeldOutResult {
  /** Names begin with `eval_`. */
  metrics: Metrics;
  /** What rewards have spent; the metrics hold it too. */
  spent: Record<string, number>;
  /**
   * Confidence interval of eval_accuracy: Wilson's interval with one observation for each problem,
   * because the completions of a problem resemble each other.
   */
  ci95: [low: number, high: number];
  problems: number;
  completions: number;
  /** Number of batches of `per_device_eval_batch_size` completions. */
  batches: number;
}

export interface HeldOutOptions {
  model: LanguageModel;
  prompts: PromptEncoder;
  rubric: Rubric;
  training: RunConfig["training"];
  reference: ReferencePolicy | null;
  /** Optimizer steps done, for rewards that depend on it. */
  step: number;
  /** @see GenerateOptions.shouldStop */
  shouldStop: () => boolean;
  /** Called with the number of problems that are done, and of all. */
  onProgress?: (done: number, total: number) => void;
  /** The ranks of the run, which share the work. Default: this process alone. */
  ranks?: Ranks;
}

/** @throws Interrupted when `shouldStop` returns true */
export async function evaluateHeldOut(
  entries: readonly Entry[],
  options: HeldOutOptions,
): Promise<HeldOutResult> {
  const { training, rubric, ranks = ALONE } = options;
  const generations = training.num_generations_eval ?? training.num_generations;
  const perBatch = Math.max(1, Math.floor(training.per_device_eval_batch_size / generations));
  const rewards: RewardValue[][] = [], lengths: number[] = [], truncated: boolean[] = [];
  const losses: Metrics[] = [], scores: TaskScore[] = [], spent: Record<string, number>[] = [];
  const answers: ScoredAnswer[][] = [];
  let loss = 0, rows = 0;
  const starts = Array.from(
    { length: Math.ceil(entries.length / perBatch) },
    (_, i) => i * perBatch,
  );
  const measure = async (start: number) => {
    const { batch, sums } = await sample(
      entries.slice(start, start + perBatch),
      start,
      generations,
      options,
    );
    const advantages = groupAdvantages({
      rewards: batch.map((row) => row.rewards),
      weights: rubric.weights,
      groupSizes: Array<number>(batch.length / generations).fill(generations),
      scale: training.scale_rewards,
      aggregation: training.multi_objective_aggregation,
    }).advantages;
    const result = await lossWithoutGradient(
      options.model,
      batch.map((row, i) => ({
        ...row,
        ids: training.mask_truncated_completions && row.truncated ? [] : row.ids,
        advantage: advantages[i]!,
        oldLogp: null,
      })),
      {
        temperature: training.temperature,
        settings: training,
        maxCompletionLength: training.max_completion_length,
        reference: options.reference,
      },
    );
    options.onProgress?.(Math.min(start + perBatch, entries.length), entries.length);
    return { batch, sums, result };
  };
  const batches = await ranks.share(starts.length, async (begin, end) => {
    const own: Awaited<ReturnType<typeof measure>>[] = [];
    for (const start of starts.slice(begin, end)) own.push(await measure(start));
    return own;
  });
  for (const { batch, sums, result } of batches) {
    spent.push(sums);
    loss += result.loss * batch.length;
    losses.push(result.metrics);
    for (const row of batch) {
      rewards.push(row.rewards);
      lengths.push(row.ids.length);
      truncated.push(row.truncated);
      scores.push({ task: row.task, score: row.score });
    }
    for (let first = 0; first < batch.length; first += generations) {
      answers.push(
        batch.slice(first, first + generations).map(({ score, formatted, truncated, ids }) => ({
          score,
          formatted,
          truncated,
          tokens: ids.length,
        })),
      );
    }
    rows += batch.length;
  }
  const isMixed = new Set(scores.map(({ task }) => task)).size > 1;
  const { accuracy, correct, ci95, mean_score, format_rate } = accuracyOf(answers);
  const metrics: Metrics = {
    loss: loss / rows,
    accuracy,
    correct,
    mean_score,
    format_rate,
    ...rolloutMetrics({
      lengths,
      truncated,
      rewards,
      rewardNames: rubric.names,
      advantages: groupAdvantages({
        rewards,
        weights: rubric.weights,
        groupSizes: Array<number>(entries.length).fill(generations),
        scale: training.scale_rewards,
        aggregation: training.multi_objective_aggregation,
      }),
    }),
    ...averageMetrics(losses),
    ...(isMixed ? taskMetrics(scores) : {}),
    ...addUp(spent),
  };
  return {
    metrics: Object.fromEntries(
      Object.entries(finiteOrNull(metrics)).map(([name, value]) => [`eval_${name}`, value]),
    ),
    spent: addUp(spent),
    ci95,
    problems: entries.length,
    completions: rows,
    batches: losses.length,
  };
}

type SampledRow = Omit<TrainingRow, "advantage" | "oldLogp"> & {
  rewards: RewardValue[];
  truncated: boolean;
  /** The task of the problem. */
  task: string;
  /** The score of the task; partial credit counts. */
  score: number;
  /** Whether the answer has the requested format. */
  formatted: boolean;
};

/** Samples and scores completions of some problems; those of a problem are adjacent. */
async function sample(
  entries: readonly Entry[],
  first: number,
  generations: number,
  options: HeldOutOptions,
): Promise<{ batch: SampledRow[]; sums: Record<string, number> }> {
  const { model, prompts, rubric, training } = options;
  const encoded = entries.map((entry) => prompts.prompt(entry));
  const completions = await complete(
    model,
    prompts,
    encoded.map(({ ids }, i) => ({
      index: first + i,
      promptIds: ids,
      firstSample: 0,
      samples: generations,
    })),
    runSampling(training),
    { seed: runSamplingSeed(training), shouldStop: options.shouldStop },
  );
  const sampled = completions.flatMap((branches, group) =>
    branches.map((completion, branch) => ({
      group,
      branch,
      ids: completion.ids,
      ...prompts.read(completion),
    }))
  );
  const samples = sampled.map(({ group, ids, text, truncated }) => {
    const entry = entries[group]!;
    return {
      prompt: encoded[group]!.text,
      messages: entry.messages ?? null,
      completion: text,
      answer: entry.answer,
      info: entry.metadata,
      entry,
      completionIds: ids,
      truncated,
      step: options.step,
      maxCompletionLength: training.max_completion_length,
    };
  });
  const { values, sums } = await scoreBatch(rubric, samples, options.shouldStop);
  const batch = sampled.map(({ group, branch, ids, text, truncated }, i) => {
    const { score, formatted } = scoreCompletion(
      text,
      entries[group]!,
      prompts.settings.system_prompt,
    );
    return {
      group,
      promptId: EVAL_PROMPT_ID + first + group,
      branch,
      promptIds: encoded[group]!.ids,
      ids,
      rewards: values[i]!,
      truncated,
      task: String(entries[group]!.metadata["source_dataset"]),
      score,
      formatted,
    };
  });
  return { batch, sums: Object.fromEntries(sums) };
}

/**
 * Evaluation on held-out problems while training, as in TRL's trainer: `num_generations_eval`
 * completions of each problem, sampled as in training and scored by the rewards of the run. It
 * gives the loss and the metrics of a step under names that begin with `eval_`, and the accuracy.
 * Random numbers have keys that training never uses, the same in every evaluation. One difference:
 * rewards and lengths are means over all completions (TRL: means of the batches' means).
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { EVAL_PROMPT_ID } from "../../data/held_out.ts";
import { accuracyOf, type ScoredAnswer } from "../../bench/evaluation/accuracy.ts";
import { idsOf, lossMask, rowsOf, sampledTokens } from "../../bench/dialogue/segments.ts";
import type { CausalLM } from "../../models/causal_lm.ts";
import type { RewardValue } from "../../rewards/types.ts";
import type { Rubric } from "../../rewards/rubric.ts";
import type { Entry } from "../../tasks/types.ts";
import { groupAdvantages } from "../loss/advantages.ts";
import {
  addUp,
  averageMetrics,
  evalNames,
  finiteOrNull,
  type Metrics,
} from "../metrics/metrics.ts";
import type { ReferencePolicy } from "../step/reference_policy.ts";
import { rolloutMetrics } from "../metrics/rollout_metrics.ts";
import { runSampling } from "../../bench/evaluation/sampling.ts";
import { ALONE } from "../../cluster/ranks/ranks.ts";
import { scoreBatch } from "../rollout/score.ts";
import { taskMetrics } from "../rollout/task_metrics.ts";
import { lossWithoutGradient } from "../step/gradient_accumulation.ts";
import { type AnswerOptions, answersTo, sampleOf, scoreOf } from "./answers.ts";

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

export interface HeldOutOptions extends AnswerOptions {
  model: CausalLM;
  rubric: Rubric;
  reference: ReferencePolicy | null;
  step: number;
}

interface ScoredRow extends ScoredAnswer {
  rewards: RewardValue[];
  task: string;
}

/** The completions of a batch of problems, what their rewards have spent, and their loss. */
interface MeasuredBatch {
  rows: ScoredRow[];
  spent: Record<string, number>;
  loss: number;
  /** Of the loss. */
  metrics: Metrics;
}

/** @throws Interrupted when `shouldStop` returns true */
export async function evaluateHeldOut(
  entries: readonly Entry[],
  options: HeldOutOptions,
): Promise<HeldOutResult> {
  const { training, ranks = ALONE } = options, perProblem = generationsOf(training);
  const size = Math.max(1, Math.floor(training.per_device_eval_batch_size / perProblem));
  const batches = await ranks.map(Math.ceil(entries.length / size), async (i) => {
    const first = i * size, some = entries.slice(first, first + size);
    const batch = await measureBatch(some, first, options);
    options.onProgress?.(first + some.length, entries.length);
    return batch;
  });
  const rows = batches.flatMap(({ rows }) => rows);
  const spent = addUp(batches.map(({ spent }) => spent));
  const { ci95, accuracy, correct, mean_score, format_rate } = accuracyOf(
    entries.map((_, i) => rows.slice(i * perProblem, (i + 1) * perProblem)),
  );
  const isMixed = new Set(rows.map(({ task }) => task)).size > 1;
  const metrics = {
    loss: batches.reduce((sum, { loss, rows }) => sum + loss * rows.length, 0) / rows.length,
    accuracy,
    correct,
    mean_score,
    format_rate,
    ...rolloutMetrics({
      lengths: rows.map(({ tokens }) => tokens),
      truncated: rows.map(({ truncated }) => truncated),
      rewards: rows.map(({ rewards }) => rewards),
      rewardNames: options.rubric.names,
      advantages: advantagesOf(rows, options),
    }),
    ...averageMetrics(batches.map(({ metrics }) => metrics)),
    ...(isMixed ? taskMetrics(rows.map(({ task, score }) => ({ task, score }))) : {}),
    ...spent,
  };
  return {
    metrics: evalNames(finiteOrNull(metrics)),
    spent,
    ci95,
    problems: entries.length,
    completions: rows.length,
    batches: batches.length,
  };
}

function generationsOf(training: RunConfig["training"]): number {
  return training.num_generations_eval ?? training.num_generations;
}

/** @param first index of the first of these problems among all */
async function measureBatch(
  entries: readonly Entry[],
  first: number,
  options: HeldOutOptions,
): Promise<MeasuredBatch> {
  const { prompts, rubric, training, step } = options;
  const answers = await answersTo(entries, first, options, {
    sampling: runSampling(training),
    samples: generationsOf(training),
    scene: `${step}, held-out`,
  });
  // Completions of a problem are adjacent.
  const sampled = answers.flatMap((all, i) =>
    all.map((answer, branch) => ({ answer, branch, i, entry: entries[i]! }))
  );
  const samples = sampled.map(({ entry, answer }) => sampleOf(entry, answer, options));
  const { values, sums } = await scoreBatch(rubric, samples, options.shouldStop);
  const rows = sampled.map(({ entry, answer }, row): ScoredRow => {
    const { score, formatted } = scoreOf(entry, answer, prompts), { truncated } = answer;
    const task = String(entry.metadata["source_dataset"]), tokens = sampledTokens(answer);
    return { score, formatted, truncated, tokens, task, rewards: values[row]! };
  });
  const { advantages } = advantagesOf(rows, options);
  const { loss, metrics } = await lossWithoutGradient(
    options.model,
    sampled.flatMap(({ answer, branch, i }, row) => {
      const isMasked = training.mask_truncated_completions && answer.truncated;
      return rowsOf(answer).map((part, number, { length }) => ({
        // Dialogues of a problem may have different starts.
        group: options.dialogues ? first + row + number / length : i,
        promptId: EVAL_PROMPT_ID + first + i,
        branch,
        promptIds: part.prompt.ids,
        ids: isMasked ? [] : idsOf(part),
        mask: isMasked ? null : lossMask(part),
        advantage: advantages[row]!,
        oldLogp: null,
      }));
    }),
    {
      temperature: training.temperature,
      settings: training,
      maxCompletionLength: training.max_completion_length,
      reference: options.reference,
    },
  );
  return { rows, spent: Object.fromEntries(sums), loss, metrics };
}

function advantagesOf(rows: readonly ScoredRow[], { training, rubric }: HeldOutOptions) {
  const generations = generationsOf(training);
  return groupAdvantages({
    rewards: rows.map(({ rewards }) => rewards),
    weights: rubric.weights,
    groupSizes: Array<number>(rows.length / generations).fill(generations),
    scale: training.scale_rewards,
    aggregation: training.multi_objective_aggregation,
    estimator: training.advantage_estimator,
    lengths: rows.map(({ tokens }) => tokens),
  });
}

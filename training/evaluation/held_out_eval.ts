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
import { type Accuracy, accuracyOf, type ScoredAnswer } from "../../bench/evaluation/accuracy.ts";
import { complete } from "../../bench/evaluation/complete.ts";
import type { DialogueSetup } from "../../bench/dialogue/dialogue.ts";
import { evaluateDialogues } from "../../bench/dialogue/evaluate_dialogues.ts";
import { idsOf, lossMask } from "../../bench/dialogue/segments.ts";
import type { LanguageModel } from "../../models/language_model.ts";
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
import type { PromptEncoder } from "../../bench/evaluation/prompt_encoder.ts";
import type { ReferencePolicy } from "../step/reference_policy.ts";
import { rolloutMetrics } from "../metrics/rollout_metrics.ts";
import { runSampling, runSamplingSeed } from "../../bench/evaluation/sampling.ts";
import { ALONE, type Ranks } from "../../cluster/ranks/ranks.ts";
import { rewardSample, scoreBatch } from "../rollout/score.ts";
import { taskMetrics } from "../rollout/task_metrics.ts";
import { counted, lossWithoutGradient, type TrainingRow } from "../step/gradient_accumulation.ts";

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
  /** Environments and tools; default: an answer is one turn. */
  dialogues?: DialogueSetup | null;
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
  const { training, ranks = ALONE } = options;
  const perBatch = Math.floor(training.per_device_eval_batch_size / generationsOf(training));
  const size = Math.max(1, perBatch), count = Math.ceil(entries.length / size);
  const batches = await ranks.share(count, async (begin, end) => {
    const own: MeasuredBatch[] = [];
    for (let i = begin; i < end; i++) {
      const first = i * size, some = entries.slice(first, first + size);
      own.push(await measureBatch(some, first, options));
      options.onProgress?.(first + some.length, entries.length);
    }
    return own;
  });
  const rows = batches.flatMap(({ rows }) => rows),
    accuracy = accuracyOf(answersOf(rows, training));
  const spent = addUp(batches.map(({ spent }) => spent));
  const metrics = finiteOrNull({ ...heldOutMetrics(batches, accuracy, options), ...spent });
  return {
    metrics: evalNames(metrics),
    spent,
    ci95: accuracy.ci95,
    problems: entries.length,
    completions: rows.length,
    batches: batches.length,
  };
}

/** The tokens of a row that the model has written. */
function tokensOf({ ids, mask }: Pick<SampledRow, "ids" | "mask">): number {
  return counted(ids, mask).length;
}

/** Completions of each problem. */
function generationsOf(training: RunConfig["training"]): number {
  return training.num_generations_eval ?? training.num_generations;
}

/** The completions of a batch of problems, what their rewards have spent, and their loss. */
interface MeasuredBatch {
  rows: SampledRow[];
  spent: Record<string, number>;
  loss: number;
  /** Of the loss. */
  metrics: Metrics;
}

/** @param first index of the first of these problems among all */
async function measureBatch(
  entries: readonly Entry[],
  first: number,
  options: HeldOutOptions,
): Promise<MeasuredBatch> {
  const { training } = options;
  const { rows, spent } = await sample(entries, first, options);
  const { advantages } = advantagesOf(rows, options);
  const { loss, metrics } = await lossWithoutGradient(
    options.model,
    rows.map((row, i) => ({
      ...row,
      ...(training.mask_truncated_completions && row.truncated ? { ids: [], mask: null } : {}),
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
  return { rows, spent, loss, metrics };
}

function advantagesOf(rows: readonly SampledRow[], { training, rubric }: HeldOutOptions) {
  const generations = generationsOf(training);
  return groupAdvantages({
    rewards: rows.map(({ rewards }) => rewards),
    weights: rubric.weights,
    groupSizes: Array<number>(rows.length / generations).fill(generations),
    scale: training.scale_rewards,
    aggregation: training.multi_objective_aggregation,
    estimator: training.advantage_estimator,
    lengths: rows.map(({ ids }) => ids.length),
  });
}

/** The answers of each problem. */
function answersOf(
  rows: readonly SampledRow[],
  training: RunConfig["training"],
): ScoredAnswer[][] {
  const answers = rows.map(({ score, formatted, truncated, ids, mask }) => ({
    score,
    formatted,
    truncated,
    tokens: tokensOf({ ids, mask }),
  }));
  const n = generationsOf(training);
  return Array.from({ length: rows.length / n }, (_, i) => answers.slice(i * n, (i + 1) * n));
}

function heldOutMetrics(
  batches: readonly MeasuredBatch[],
  { accuracy, correct, mean_score, format_rate }: Accuracy,
  options: HeldOutOptions,
): Metrics {
  const rows = batches.flatMap(({ rows }) => rows);
  const isMixed = new Set(rows.map(({ task }) => task)).size > 1;
  return {
    loss: batches.reduce((sum, { loss, rows }) => sum + loss * rows.length, 0) / rows.length,
    accuracy,
    correct,
    mean_score,
    format_rate,
    ...rolloutMetrics({
      lengths: rows.map(tokensOf),
      truncated: rows.map(({ truncated }) => truncated),
      rewards: rows.map(({ rewards }) => rewards),
      rewardNames: options.rubric.names,
      advantages: advantagesOf(rows, options),
    }),
    ...averageMetrics(batches.map(({ metrics }) => metrics)),
    ...(isMixed ? taskMetrics(rows.map(({ task, score }) => ({ task, score }))) : {}),
  };
}

type SampledRow = Omit<TrainingRow, "advantage" | "oldLogp" | "mask"> & {
  mask: readonly number[] | null;
  rewards: RewardValue[];
  truncated: boolean;
  /** The task of the problem. */
  task: string;
  /** The score of the task; partial credit counts. */
  score: number;
  /** Whether the answer has the requested format. */
  formatted: boolean;
};

/** The answers to some problems, or the dialogues about them, those of a problem adjacent. */
async function answersTo(entries: readonly Entry[], first: number, options: HeldOutOptions) {
  const { model, prompts, training, shouldStop, dialogues = null } = options;
  const samples = generationsOf(training), sampling = runSampling(training);
  const about = { seed: runSamplingSeed(training), shouldStop };
  if (dialogues !== null) {
    const problems = entries.map((entry, i) => ({ entry, index: first + i, samples }));
    const setup = { ...about, setup: dialogues, scene: `${options.step}, held-out` };
    const played = await evaluateDialogues(model, prompts, problems, sampling, setup);
    return played.flatMap((branches, group) =>
      branches.map((dialogue, branch) => ({
        ...dialogue,
        group,
        branch,
        dialogue,
        ids: idsOf(dialogue),
        mask: lossMask(dialogue),
      }))
    );
  }
  const encoded = entries.map((entry) => prompts.prompt(entry));
  const problems = encoded.map(({ ids }, i) => ({
    index: first + i,
    promptIds: ids,
    firstSample: 0,
    samples,
  }));
  const completions = await complete(model, prompts, problems, sampling, about);
  return completions.flatMap((branches, group) =>
    branches.map((completion, branch) => ({
      group,
      branch,
      prompt: encoded[group]!,
      ids: completion.ids,
      mask: null,
      ...prompts.read(completion),
    }))
  );
}

/** Samples and scores completions of some problems; those of a problem are adjacent. */
async function sample(
  entries: readonly Entry[],
  first: number,
  options: HeldOutOptions,
): Promise<{ rows: SampledRow[]; spent: Record<string, number> }> {
  const { prompts, rubric, training } = options;
  const sampled = await answersTo(entries, first, options);
  const about = { step: options.step, maxCompletionLength: training.max_completion_length };
  const samples = sampled.map((row) =>
    rewardSample({ entry: entries[row.group]!, prompt: row.prompt }, row, about)
  );
  const { values, sums } = await scoreBatch(rubric, samples, options.shouldStop);
  const rows = sampled.map(({ group, branch, ids, mask, text, truncated, prompt }, i) => {
    const { score, formatted } = scoreCompletion(
      text,
      entries[group]!,
      prompts.settings.system_prompt,
      prompt.text,
    );
    return {
      // Dialogues of a problem may have different starts.
      group: options.dialogues ? first + i : group,
      promptId: EVAL_PROMPT_ID + first + group,
      branch,
      promptIds: prompt.ids,
      ids,
      mask,
      rewards: values[i]!,
      truncated,
      task: String(entries[group]!.metadata["source_dataset"]),
      score,
      formatted,
    };
  });
  return { rows, spent: Object.fromEntries(sums) };
}

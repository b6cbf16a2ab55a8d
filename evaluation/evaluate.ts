/**
 * Accuracy on held-out problems: one completion a problem, sampled at the training temperature, and one
 * greedy completion beside it. Deterministic: the draws are keyed by numbers that training never uses, and
 * the same before and after training, so the two evaluations differ by the model alone.
 */
import type { RunConfig } from "../configs/schema/run_config.ts";
import { wilson } from "../core/statistics.ts";
import { EVAL_PROMPT_ID } from "../data/held_out.ts";
import { CORRECT, scoreCompletion } from "../data/score.ts";
import type { LanguageModel } from "../models/language_model.ts";
import type { Entry } from "../tasks/types.ts";
import type { PromptEncoder } from "./prompts.ts";
import { samplingOptions } from "./sampling_options.ts";

/** How well held-out problems were answered. */
export interface Accuracy {
  accuracy: number;
  correct: number;
  total: number;
  /** Wilson's 95 % interval of the accuracy. */
  ci95: [low: number, high: number];
  /** With partial credit. */
  mean_score: number;
  /** Share of completions that give an answer in the form that was asked for. */
  format_rate: number;
  /** Share of completions that did not end by themselves. */
  truncated_rate: number;
  mean_completion_tokens: number;
  /** Of problems of several tasks: the same by task. */
  tasks?: Record<string, TaskAccuracy>;
}

export type TaskAccuracy = Pick<Accuracy, "accuracy" | "correct" | "total" | "ci95" | "mean_score">;

/** Sampled at `temperature`; `greedy` beside it. */
export interface EvalResult extends Accuracy {
  temperature: number;
  greedy: Accuracy;
}

export interface EvalOptions {
  model: LanguageModel;
  prompts: PromptEncoder;
  training: RunConfig["training"];
  eval: RunConfig["eval"];
  /** @see GenerateOptions.shouldStop */
  shouldStop: () => boolean;
  /** Completions so far, of all. */
  onProgress?: (done: number, total: number) => void;
  /** Told of every completion, in the order of the problems. */
  onItem?: (item: EvalItem) => void;
}

/** One problem of an evaluation. */
export interface EvalItem {
  /** 0 = greedy. */
  temperature: number;
  question: string;
  completion: string;
  /** null: the problem has many right answers. */
  expected: string | null;
  /** null: no answer could be extracted. */
  extracted: string | null;
  formatted: boolean;
  score: number;
  truncated: boolean;
  tokens: number;
}

/** @throws Interrupted when `shouldStop` said so. */
export async function evaluate(
  entries: readonly Entry[],
  options: EvalOptions,
): Promise<EvalResult> {
  const temperature = options.eval.temperature ?? options.training.temperature;
  const passes = temperature === 0 ? 1 : 2;
  const progress = (pass: number) => (done: number) =>
    options.onProgress?.(pass * entries.length + done, passes * entries.length);
  const sampled = await measure(entries, temperature, options, progress(0));
  const greedy = passes === 1 ? sampled : await measure(entries, 0, options, progress(1));
  return { ...sampled, temperature, greedy };
}

async function measure(
  entries: readonly Entry[],
  temperature: number,
  options: EvalOptions,
  onProgress: (done: number) => void,
): Promise<Accuracy> {
  const { model, prompts, training } = options;
  const requests = entries.map((entry, i) => ({
    promptId: EVAL_PROMPT_ID + i,
    promptIds: prompts.prompt(entry).ids,
    n: 1,
  }));
  let ended = 0;
  const completions = await model.generate(requests, {
    ...samplingOptions(training, prompts, options.shouldStop, temperature),
    slots: Math.max(1, options.eval.batch_size),
    onEnd: () => onProgress(++ended),
  });
  let formatted = 0, truncated = 0, tokens = 0;
  const scores = entries.map((entry, i) => {
    const { ids, finishReason } = completions[i]![0]!;
    const completion = prompts.text(ids);
    const { score, extracted, formatted: isFormatted } = scoreCompletion(
      completion,
      entry,
      prompts.data.system_prompt,
    );
    const isTruncated = prompts.truncated(ids, finishReason === "stop");
    if (isFormatted) formatted++;
    if (isTruncated) truncated++;
    tokens += ids.length;
    const { question } = entry;
    options.onItem?.({
      ...{ temperature, question, expected: entry.answer, completion, extracted, score },
      formatted: isFormatted,
      ...{ truncated: isTruncated, tokens: ids.length },
    });
    return score;
  });
  const total = entries.length;
  const tasks = accuracyByTask(entries, scores);
  return {
    ...accuracyOf(scores),
    format_rate: formatted / total,
    truncated_rate: truncated / total,
    mean_completion_tokens: tokens / total,
    ...(Object.keys(tasks).length > 1 && { tasks }),
  };
}

function accuracyOf(scores: readonly number[]): TaskAccuracy {
  const total = scores.length, correct = scores.filter((score) => score >= CORRECT).length;
  const mean_score = scores.reduce((sum, score) => sum + score, 0) / total;
  return { accuracy: correct / total, correct, total, ci95: wilson(correct, total), mean_score };
}

function accuracyByTask(
  entries: readonly Entry[],
  scores: readonly number[],
): Record<string, TaskAccuracy> {
  const byTask = new Map<string, number[]>();
  for (const [i, { metadata }] of entries.entries()) {
    const task = String(metadata["source_dataset"]), own = byTask.get(task);
    if (own === undefined) byTask.set(task, [scores[i]!]);
    else own.push(scores[i]!);
  }
  return Object.fromEntries(
    [...byTask].sort(([a], [b]) => a < b ? -1 : 1).map(([task, own]) => [task, accuracyOf(own)]),
  );
}

/** The result as metrics of a line in metrics.jsonl. */
export function evalMetrics(result: EvalResult): Record<string, number | number[]> {
  const out: Record<string, number | number[]> = { eval_temperature: result.temperature };
  for (const [prefix, accuracy] of [["eval_", result], ["eval_greedy_", result.greedy]] as const) {
    out[`${prefix}accuracy`] = accuracy.accuracy;
    out[`${prefix}correct`] = accuracy.correct;
    out[`${prefix}total`] = accuracy.total;
    out[`${prefix}ci95`] = accuracy.ci95;
    out[`${prefix}mean_score`] = accuracy.mean_score;
    out[`${prefix}format_rate`] = accuracy.format_rate;
    out[`${prefix}truncated_rate`] = accuracy.truncated_rate;
    out[`${prefix}mean_completion_tokens`] = accuracy.mean_completion_tokens;
    for (const [task, own] of Object.entries(accuracy.tasks ?? {})) {
      out[`${prefix}tasks/${task}/accuracy`] = own.accuracy;
      out[`${prefix}tasks/${task}/total`] = own.total;
      out[`${prefix}tasks/${task}/mean_score`] = own.mean_score;
    }
  }
  return out;
}

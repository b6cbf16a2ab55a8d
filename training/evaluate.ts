/**
 * Accuracy on held-out problems: one completion a problem, sampled at the training temperature, and one
 * greedy completion beside it. Deterministic: the draws are keyed by numbers that training never uses, and
 * the same before and after training, so the two evaluations differ by the model alone.
 */
import type { RunConfig } from "../configs/run_config.ts";
import { wilson } from "../core/statistics.ts";
import { scoreCompletion } from "../data/score.ts";
import type { LanguageModel } from "../models/types.ts";
import type { Entry } from "../tasks/types.ts";
import type { PromptEncoder } from "./prompts.ts";
import { samplingOptions } from "./sampling_options.ts";

/** Prompts of evaluations are numbered from here; those of training stay far below. */
export const EVAL_PROMPT_ID = 2 ** 48;

/** Scores from here on count as correct. */
export const CORRECT = 1 - 1e-9;

export interface Accuracy {
  accuracy: number;
  correct: number;
  total: number;
  /** Wilson's 95 % interval of the accuracy. */
  ci95: [low: number, high: number];
  /** With partial credit. */
  mean_score: number;
  /** Share of completions that an answer could be extracted from. */
  format_rate: number;
  /** Share of completions that did not end by themselves. */
  truncated_rate: number;
  mean_completion_tokens: number;
}

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
  const batchSize = Math.max(1, options.eval.batch_size);
  let correct = 0, score = 0, formatted = 0, truncated = 0, tokens = 0;
  for (let start = 0; start < entries.length; start += batchSize) {
    const batch = entries.slice(start, start + batchSize);
    const completions = await model.generate(
      batch.map((entry, i) => ({
        promptId: EVAL_PROMPT_ID + start + i,
        promptIds: prompts.prompt(entry).ids,
        n: 1,
      })),
      samplingOptions(training, prompts, options.shouldStop, temperature),
    );
    for (const [i, entry] of batch.entries()) {
      const { ids, finishReason } = completions[i]![0]!;
      const result = scoreCompletion(prompts.text(ids), entry);
      score += result.score;
      if (result.score >= CORRECT) correct++;
      if (result.extracted !== null) formatted++;
      if (prompts.truncated(ids, finishReason === "stop")) truncated++;
      tokens += ids.length;
    }
    onProgress(start + batch.length);
  }
  const total = entries.length;
  return {
    accuracy: correct / total,
    correct,
    total,
    ci95: wilson(correct, total),
    mean_score: score / total,
    format_rate: formatted / total,
    truncated_rate: truncated / total,
    mean_completion_tokens: tokens / total,
  };
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
  }
  return out;
}

/**
 * A run's accuracy on its held-out problems, before and after training: one completion of each
 * problem with the sampling of the rollouts, and one greedy completion. This is a benchmark of the
 * held-out problems with the run's prompts, sampling and seed (bench/same_as_training_test.ts). The
 * draws have keys that training never uses, the same ones before and after, so the two evaluations
 * differ by the model alone.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { scoreCompletion } from "../../data/score_completion.ts";
import type { CausalLM } from "../../models/causal_lm.ts";
import type { Entry } from "../../tasks/types.ts";
import {
  type Accuracy,
  accuracyByTask,
  accuracyOf,
  type TaskAccuracy,
} from "../../evaluation/accuracy.ts";
import { type AskedProblem, complete, type CompleteOptions } from "../../evaluation/complete.ts";
import type { PromptEncoder } from "../../evaluation/prompt_encoder.ts";
import { runSampling, runSamplingSeed, type SamplingSettings } from "../../evaluation/sampling.ts";
import { ALONE, type Ranks } from "../../ranks/ranks.ts";

/** An accuracy; where the problems are of several tasks, also that of each task. */
export interface MixedAccuracy extends Accuracy {
  /** The accuracy on each task, by its name; only of several. */
  tasks?: Record<string, TaskAccuracy>;
}

/** The accuracy of completions sampled at `temperature`, and that of greedy ones. */
export interface EvalResult extends MixedAccuracy {
  /** Of the completions that were sampled. */
  temperature: number;
  /** The accuracy of greedy completions. */
  greedy: MixedAccuracy;
}

export interface EvalOptions {
  model: Pick<CausalLM, "generate">;
  prompts: PromptEncoder;
  training: RunConfig["training"];
  eval: RunConfig["eval"];
  /** @see GenerateOptions.shouldStop */
  shouldStop: () => boolean;
  /** Called when a completion has ended: how many have, of how many. */
  onProgress?: (done: number, total: number) => void;
  /** Called for every completion, in the order of the problems. */
  onItem?: (item: EvalItem) => void;
  /** The ranks of the run, which share the work. Default: this process alone. */
  ranks?: Ranks;
}

/** One problem of an evaluation and its completion. */
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

/** @throws Interrupted when `shouldStop` returned true. */
export async function evaluate(
  entries: readonly Entry[],
  options: EvalOptions,
): Promise<EvalResult> {
  const { training } = options;
  const temperature = options.eval.temperature ?? training.temperature;
  const passes = temperature === 0 ? 1 : 2;
  const pass = (number: number, passTemperature: number) => {
    let ended = number * entries.length;
    return measure(entries, options, runSampling(training, passTemperature), {
      seed: runSamplingSeed(training),
      slots: Math.max(1, options.eval.batch_size),
      shouldStop: options.shouldStop,
      onEnd: () => options.onProgress?.(++ended, passes * entries.length),
    });
  };
  const sampled = await pass(0, temperature);
  const greedy = passes === 1 ? sampled : await pass(1, 0);
  return { ...sampled, temperature, greedy };
}

async function measure(
  entries: readonly Entry[],
  { model, prompts, onItem, ranks = ALONE }: EvalOptions,
  sampling: SamplingSettings,
  options: CompleteOptions<AskedProblem>,
): Promise<MixedAccuracy> {
  const { temperature } = sampling;
  const problems = entries.map((entry, index) => ({
    index,
    firstSample: 0,
    samples: 1,
    promptIds: prompts.prompt(entry).ids,
  }));
  const completions = await ranks.share(problems.length, async (begin, end) => {
    const own = problems.slice(begin, end);
    return own.length === 0 ? [] : await complete(model, prompts, own, sampling, options);
  });
  const answers = entries.map((entry, i) => {
    const completion = completions[i]![0]!, { question, answer: expected } = entry;
    const { text, truncated } = prompts.read(completion), tokens = completion.ids.length;
    const systemPrompt = prompts.settings.system_prompt;
    const { score, extracted, formatted } = scoreCompletion(text, entry, systemPrompt);
    onItem?.({
      temperature,
      question,
      expected,
      completion: text,
      extracted,
      score,
      formatted,
      truncated,
      tokens,
    });
    return [{ score, formatted, truncated, tokens }];
  });
  const tasks = accuracyByTask(
    answers,
    entries.map(({ metadata }) => String(metadata["source_dataset"])),
  );
  return { ...accuracyOf(answers), ...(Object.keys(tasks).length > 1 && { tasks }) };
}

/** The result as metrics of a line in metrics.jsonl. */
export function evalMetrics(result: EvalResult): Record<string, number | number[]> {
  const metrics: Record<string, number | number[]> = { eval_temperature: result.temperature };
  for (const [prefix, accuracy] of [["eval_", result], ["eval_greedy_", result.greedy]] as const) {
    metrics[`${prefix}accuracy`] = accuracy.accuracy;
    metrics[`${prefix}correct`] = accuracy.correct;
    metrics[`${prefix}total`] = accuracy.total;
    metrics[`${prefix}ci95`] = accuracy.ci95;
    metrics[`${prefix}mean_score`] = accuracy.mean_score;
    metrics[`${prefix}format_rate`] = accuracy.format_rate;
    metrics[`${prefix}truncated_rate`] = accuracy.truncated_rate;
    metrics[`${prefix}mean_completion_tokens`] = accuracy.mean_completion_tokens;
    for (const [task, ofTask] of Object.entries(accuracy.tasks ?? {})) {
      metrics[`${prefix}tasks/${task}/accuracy`] = ofTask.accuracy;
      metrics[`${prefix}tasks/${task}/total`] = ofTask.total;
      metrics[`${prefix}tasks/${task}/mean_score`] = ofTask.mean_score;
    }
  }
  return metrics;
}

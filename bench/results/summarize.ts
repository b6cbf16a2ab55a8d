/** Computes the numbers of results: of a model on a task, of comparisons, and of averages. */
import { maxOf, mean } from "../../core/statistics.ts";
import { publishedFormat } from "../../data/published_formats.ts";
import { accuracyOf, isCorrect } from "../evaluation/accuracy.ts";
import { dialogueMetrics } from "../dialogue/dialogue.ts";
import { averageAccuracy, bootstrapMean } from "../evaluation/intervals.ts";
import { pairedTest } from "../evaluation/matched_pairs.ts";
import { majorityIndex, passAtK, passLevels } from "../evaluation/pass_at_k.ts";
import type { Entry } from "../../tasks/types.ts";
import {
  type ExampleResult,
  type ModelAverage,
  type ModelResult,
  type PairedComparison,
  type SampleResult,
  samplesOf,
  type SampleStatistics,
  type TaskResults,
} from "./result_file.ts";
import type { SampleLine } from "./sample_store.ts";

const answered = (samples: readonly SampleResult[]) => samples.filter((s) => s.error === undefined);

/** @param lines the samples of the model on the task, in any order; other problems are left out */
export function summarize(
  entries: readonly Entry[],
  lines: readonly SampleLine[],
  about: Pick<ModelResult, "prompt" | "overlap" | "device"> & {
    seconds: number;
    /** Names of environments and of files with tools. */
    dialoguesWith?: string[];
  },
): ModelResult {
  const groups = new Map<number, SampleLine[]>();
  for (const line of lines) {
    const group = groups.get(line.index);
    if (group === undefined) groups.set(line.index, [line]);
    else group.push(line);
  }
  const examples: ExampleResult[] = [];
  for (const [index, group] of [...groups].sort(([a], [b]) => a - b)) {
    const entry = entries[index]!;
    const samples = group.sort((a, b) => a.sample - b.sample).map(({ result }) => result);
    const { question, answer: expected, metadata } = entry;
    const example = { index, question, expected, ...samples[0]!, metadata };
    examples.push(samples.length > 1 ? { ...example, samples } : example);
  }
  const { seconds, dialoguesWith = [], ...rest } = about;
  const perExample = examples.map(samplesOf), all = perExample.flat();
  const scored = perExample.map((samples) =>
    answered(samples).map(({ score, extracted, formatted, truncated, completion_tokens }) => ({
      score,
      formatted: extracted !== null && formatted !== false,
      truncated,
      tokens: completion_tokens,
    }))
  );
  const { accuracy, correct, total, ci95, mean_score, ...rates } = accuracyOf(scored);
  return {
    accuracy,
    correct,
    total,
    ci95,
    mean_score,
    mean_score_ci95: bootstrapMean(
      scored.filter(({ length }) => length > 0)
        .map((samples) => mean(samples.map(({ score }) => score))),
    ),
    ...rates,
    num_examples: examples.length,
    errors: all.filter((s) => s.error !== undefined && !s.too_long).length,
    too_long: all.filter((s) => s.too_long).length,
    accuracy_of_all: all.length === 0 ? 0 : correct / all.length,
    ...rest,
    samples: sampleStatistics(
      perExample,
      publishedFormat(entries[0]?.metadata?.["source_dataset"])?.same,
    ),
    ...dialogueSummary(answered(all), dialoguesWith),
    usage: {
      prompt_tokens: lines.reduce((sum, line) => sum + line.prompt_tokens, 0),
      completion_tokens: all.reduce((sum, sample) => sum + sample.completion_tokens, 0),
      seconds,
    },
    examples,
  };
}

function dialogueSummary(
  samples: readonly SampleResult[],
  names: string[],
): Pick<ModelResult, "dialogues"> {
  const all = samples.flatMap(({ dialogue }) => dialogue ?? []);
  if (all.length === 0) return {};
  const rewards = all.flatMap(({ reward }) => reward ?? []);
  return {
    dialogues: {
      with: names,
      reward: rewards.length === 0 ? null : mean(rewards),
      answers: mean(all.map(({ turns }) => turns)),
      metrics: dialogueMetrics(all),
    },
  };
}

/**
 * Statistics of the problems with all samples answered; null with one sample, or no such problem.
 */
function sampleStatistics(
  perExample: readonly (readonly SampleResult[])[],
  same?: (answer: string, other: string) => boolean,
): SampleStatistics | null {
  const k = maxOf(perExample.map((samples) => samples.length));
  if (k <= 1) return null;
  const full = perExample.map(answered).filter((samples) => samples.length === k);
  if (full.length === 0) return null;
  const counts = full.map((samples) => samples.filter(isCorrect).length);
  const majority = full.map((samples) => {
    const index = majorityIndex(samples.map(({ extracted }) => extracted), same);
    return index >= 0 && isCorrect(samples[index]!) ? 1 : 0;
  });
  return {
    k,
    problems: full.length,
    pass_at: Object.fromEntries(
      passLevels(k).map((level) => [level, mean(counts.map((c) => passAtK(k, c, level)))]),
    ),
    avg_at_k: mean(counts.map((c) => c / k)),
    majority_at_k: mean(majority),
  };
}

/**
 * Compares every two models on the problems of a task that both answered, in the order of the
 * models. A base comes first, so that the difference is what the other model has gained.
 */
export function compareModels(
  task: string,
  models: TaskResults["models"],
  isBase: (name: string) => boolean = () => false,
): PairedComparison[] {
  const names = Object.keys(models);
  return names.flatMap((one, i) =>
    names.slice(i + 1).flatMap((other) => {
      const [first, second] = isBase(other) && !isBase(one) ? [other, one] : [one, other];
      const shares = correctShares(models[second]!);
      const pairs = [...correctShares(models[first]!)].filter(([index]) => shares.has(index));
      if (pairs.length === 0) return [];
      const result = pairedTest(
        pairs.map(([, a]) => a),
        pairs.map(([index]) => shares.get(index)!),
      );
      return [{ task, first, second, ...result }];
    })
  );
}

function correctShares({ examples }: ModelResult): Map<number, number> {
  const shares = new Map<number, number>();
  for (const example of examples) {
    const samples = answered(samplesOf(example));
    if (samples.length === 0) continue;
    shares.set(example.index, samples.filter(isCorrect).length / samples.length);
  }
  return shares;
}

/** The average of each model over the tasks on which it answered anything. */
export function averages(tasks: Record<string, TaskResults>): Record<string, ModelAverage> {
  const byModel = new Map<string, ModelResult[]>();
  for (const { models } of Object.values(tasks)) {
    for (const [name, result] of Object.entries(models)) {
      const known = byModel.get(name) ?? [];
      byModel.set(name, result.total === 0 ? known : [...known, result]);
    }
  }
  return Object.fromEntries(
    [...byModel].map(([name, results]) => [name, {
      tasks: results.length,
      ...averageAccuracy(results),
      mean_score: results.length === 0 ? NaN : mean(results.map((r) => r.mean_score)),
      format_rate: results.length === 0 ? NaN : mean(results.map((r) => r.format_rate)),
    }]),
  );
}

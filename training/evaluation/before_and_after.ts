/**
 * A run's accuracy on its held-out problems, before and after training: one completion of each
 * problem with the sampling of the rollouts, and one greedy completion. This is a benchmark of the
 * held-out problems with the run's prompts, sampling and seed (bench/same_as_training_test.ts). The
 * draws have keys that training never uses, the same ones before and after, so the two evaluations
 * differ by the model alone.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { hasAnswer, scoreCompletion } from "../../data/score_completion.ts";
import type { Dialogue, DialogueSetup } from "../../bench/dialogue/dialogue.ts";
import { evaluateDialogues } from "../../bench/dialogue/evaluate_dialogues.ts";
import { idsOf, sampledTokens } from "../../bench/dialogue/segments.ts";
import type { CausalLM } from "../../models/causal_lm.ts";
import type { Entry } from "../../tasks/types.ts";
import {
  type Accuracy,
  accuracyByTask,
  accuracyOf,
  type TaskAccuracy,
} from "../../bench/evaluation/accuracy.ts";
import {
  type AskedProblem,
  complete,
  type CompleteOptions,
} from "../../bench/evaluation/complete.ts";
import type { EncodedPrompt, PromptEncoder } from "../../bench/evaluation/prompt_encoder.ts";
import {
  runSampling,
  runSamplingSeed,
  type SamplingSettings,
} from "../../bench/evaluation/sampling.ts";
import { mean } from "../../core/statistics.ts";
import { bootstrapMean } from "../../bench/evaluation/intervals.ts";
import { ALONE, type Ranks } from "../../cluster/ranks/ranks.ts";
import type { Rubric } from "../../rewards/rubric.ts";
import type { RewardSample, RewardValue } from "../../rewards/types.ts";
import { addUp } from "../metrics/metrics.ts";
import { rewardSample, scoreBatch } from "../rollout/score.ts";

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

export interface EvalOptions {
  model: Pick<CausalLM, "generate" | "generateDialogues">;
  /** The rewards of the run, which score the completions too. */
  rubric?: Rubric;
  /** Receives what the rewards have spent. */
  onSpent?: (spent: Record<string, number>) => void;
  /** Optimizer steps done, for rewards that depend on it. */
  step?: number;
  prompts: PromptEncoder;
  /** Environments and tools; default: an answer is one turn. */
  dialogues?: DialogueSetup | null;
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
    const rubric = number === 0 && options.rubric?.names.length ? options.rubric : null;
    return measure(entries, { ...options, rubric }, runSampling(training, passTemperature), {
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

/** An answer to a problem, or the dialogue about it. */
interface Answered {
  prompt: EncodedPrompt;
  ids: readonly number[];
  /** Of the model. */
  tokens: number;
  text: string;
  truncated: boolean;
  dialogue?: Pick<Dialogue, "messages" | "reward">;
}

const NO_REQUEST = { promptIds: [], firstSample: 0 };

async function measure(
  entries: readonly Entry[],
  { rubric, ...asked }: Omit<EvalOptions, "rubric"> & { rubric: Rubric | null },
  sampling: SamplingSettings,
  options: CompleteOptions<AskedProblem>,
): Promise<MixedAccuracy & Pick<EvalResult, "rewards" | "reward">> {
  const { model, prompts, onItem, dialogues = null, ranks = ALONE } = asked;
  const { temperature } = sampling;
  const answered = await ranks.share(entries.length, async (begin, end): Promise<Answered[]> => {
    const own = entries.slice(begin, end).map((entry, i) => ({ entry, index: begin + i }));
    if (own.length === 0) return [];
    if (dialogues !== null) {
      const problems = own.map((problem) => ({ ...problem, samples: 1 }));
      const played = await evaluateDialogues(model, prompts, problems, sampling, {
        ...options,
        setup: dialogues,
        scene: `${asked.step ?? 0}, evaluation at ${temperature}`,
      });
      for (const problem of problems) options.onEnd?.({ ...NO_REQUEST, ...problem }, []);
      return played.map(([dialogue]) => ({
        ...dialogue!,
        ids: idsOf(dialogue!),
        tokens: sampledTokens(dialogue!),
        dialogue: dialogue!,
      }));
    }
    const encoded = own.map(({ entry }) => prompts.prompt(entry));
    const problems = own.map(({ index }, i) => ({
      index,
      firstSample: 0,
      samples: 1,
      promptIds: encoded[i]!.ids,
    }));
    const completions = await complete(model, prompts, problems, sampling, options);
    return completions.map(([completion], i) => ({
      prompt: encoded[i]!,
      ids: completion!.ids,
      tokens: completion!.ids.length,
      ...prompts.read(completion!),
    }));
  });
  const values = rubric === null ? null : await rewardsOf(
    rubric,
    entries.map((entry, i) => {
      const { prompt, tokens: _, ...completion } = answered[i]!;
      return rewardSample({ entry, prompt }, completion, {
        step: asked.step ?? 0,
        maxCompletionLength: asked.training.max_completion_length,
      });
    }),
    asked,
  );
  const answers = entries.map((entry, i) => {
    const { question, answer: expected } = entry;
    const { text, truncated, tokens, prompt } = answered[i]!;
    const systemPrompt = prompts.settings.system_prompt;
    const { score, extracted, formatted } = scoreCompletion(
      text,
      entry,
      systemPrompt,
      prompt.text,
    );
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
      ...(values !== null && { rewards: named(rubric!, values[i]!) }),
    });
    return [{ score, formatted, truncated, tokens }];
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
  options: Omit<EvalOptions, "rubric">,
): Promise<RewardValue[][]> {
  const { ranks = ALONE, shouldStop } = options, size = Math.max(1, options.eval.batch_size);
  const batches = await ranks.share(Math.ceil(samples.length / size), async (begin, end) => {
    const own: { values: RewardValue[][]; spent: Record<string, number> }[] = [];
    for (let i = begin; i < end; i++) {
      const some = samples.slice(i * size, (i + 1) * size);
      const { values, sums } = await scoreBatch(rubric, some, shouldStop);
      own.push({ values, spent: Object.fromEntries(sums) });
    }
    return own;
  });
  options.onSpent?.(addUp(batches.map(({ spent }) => spent)));
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

/** The result as metrics of a line in metrics.jsonl. */
export function evalMetrics(result: EvalResult): Record<string, number | number[]> {
  const metrics: Record<string, number | number[]> = { eval_temperature: result.temperature };
  if (result.reward !== undefined) metrics["eval_reward"] = result.reward.mean;
  for (const [name, { mean }] of Object.entries(result.rewards ?? {})) {
    metrics[`eval_rewards/${name}/mean`] = mean;
  }
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

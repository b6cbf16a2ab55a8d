/**
 * One generation batch: problems → prompts → completions → rewards → advantages.
 * Sampling is keyed by (seed, prompt's number in the run, branch, position), so a batch that was cut off
 * is generated again with the same tokens.
 */
import type { RunConfig } from "../configs/run_config.ts";
import type { Completion, LanguageModel } from "../models/types.ts";
import type { RewardError, Rubric } from "../rewards/rubric.ts";
import type { RewardInput } from "../rewards/types.ts";
import type { Entry } from "../tasks/types.ts";
import { groupAdvantages } from "./advantages.ts";
import type { Metrics } from "./metrics.ts";
import type { PhaseClock } from "./phase_clock.ts";
import type { EncodedPrompt, PromptEncoder } from "./prompts.ts";
import { rolloutMetrics } from "./rollout_metrics.ts";

export interface RolloutRow {
  /** Index into `groups`. */
  group: number;
  ids: readonly number[];
  /** Special tokens left out. */
  text: string;
  truncated: boolean;
  /** [K], unweighted; null = not applicable. */
  rewards: readonly (number | null)[];
  advantage: number;
}

export interface Rollout {
  groups: readonly { entry: Entry; prompt: EncodedPrompt }[];
  /** The completions of a group stand together. */
  rows: readonly RolloutRow[];
  metrics: Metrics;
  completionTokens: number;
  /** Prompt tokens, counted once a completion as TRL does. */
  promptTokens: number;
  /** Completions that a reward failed on. */
  errors: readonly RewardError[];
}

export interface RolloutOptions {
  model: LanguageModel;
  prompts: PromptEncoder;
  rubric: Rubric;
  training: RunConfig["training"];
  clock: PhaseClock;
  /** @see GenerateOptions.shouldStop */
  shouldStop: () => boolean;
}

/**
 * @param step Optimizer step that the batch is for (1, 2, …), for rewards that want to know.
 * @param firstPromptId Number of the first prompt in the whole run.
 * @throws Interrupted when `shouldStop` said so.
 */
export async function rollOut(
  entries: readonly Entry[],
  step: number,
  firstPromptId: number,
  options: RolloutOptions,
): Promise<Rollout> {
  const { model, prompts, rubric, training, clock } = options;
  const groups = entries.map((entry) => ({ entry, prompt: prompts.prompt(entry) }));
  const completions = await clock.time("generate", () =>
    model.generate(
      groups.map(({ prompt }, i) => ({
        promptId: firstPromptId + i,
        promptIds: prompt.ids,
        n: training.num_generations,
      })),
      {
        maxNewTokens: training.max_completion_length,
        temperature: training.temperature,
        topK: training.top_k,
        topP: training.top_p,
        minP: training.min_p ?? 0,
        seed: training.seed,
        eosIds: prompts.eosIds,
        shouldStop: options.shouldStop,
      },
    ));
  const sampled = completions.flatMap((branches, group) =>
    branches.map((completion) => ({
      group,
      ids: completion.ids,
      text: prompts.text(completion.ids),
      truncated: prompts.truncated(completion.ids),
    }))
  );
  const { values, errors } = await clock.time("score", () =>
    rubric.score(
      sampled.map((row): RewardInput => {
        const { entry, prompt } = groups[row.group]!;
        return {
          prompt: prompt.text,
          completion: row.text,
          answer: entry.answer,
          info: entry.metadata,
          entry,
          completionIds: row.ids,
          truncated: row.truncated,
          step,
          maxCompletionLength: training.max_completion_length,
        };
      }),
    ));
  const advantages = groupAdvantages({
    rewards: values,
    weights: rubric.weights,
    groupSizes: completions.map((branches) => branches.length),
    scale: training.scale_rewards,
  });
  const metrics = rolloutMetrics({
    lengths: sampled.map((row) => row.ids.length),
    truncated: sampled.map((row) => row.truncated),
    rewards: values,
    rewardNames: rubric.names,
    advantages,
  });
  for (const { name } of errors) {
    metrics[`rewards/${name}/errors`] = (metrics[`rewards/${name}/errors`] ?? 0) + 1;
  }
  return {
    groups,
    rows: sampled.map((row, i) => ({
      ...row,
      rewards: values[i]!,
      advantage: advantages.advantages[i]!,
    })),
    metrics,
    completionTokens: countTokens(completions),
    promptTokens: sampled.reduce((sum, row) => sum + groups[row.group]!.prompt.ids.length, 0),
    errors,
  };
}

function countTokens(completions: readonly (readonly Completion[])[]): number {
  return completions.flat().reduce((sum, { ids }) => sum + ids.length, 0);
}

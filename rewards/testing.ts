/** Samples for the tests of rewards. */
import { createDataset } from "../tasks/dataset.ts";
import { getReward, resolveRewardParams } from "./registry.ts";
import type { RewardInput, RewardSample, RewardValue } from "./types.ts";

export const entry = createDataset("mini_sudoku", { seed: 4 }).entry(0);

export function input(completion: string, more: Partial<RewardSample> = {}): RewardInput {
  return {
    prompt: entry.question,
    messages: null,
    completion,
    answer: entry.answer,
    info: entry.metadata,
    entry,
    completionIds: [1, 2, 3, 4, 5],
    truncated: false,
    step: 1,
    maxCompletionLength: 20,
    ...more,
    log() {},
    logExtra() {},
    addCost() {},
  };
}

/** The value of a registered reward, without a rubric. */
export function valueOf(
  name: string,
  sample: RewardInput,
  params: Record<string, unknown> = {},
): RewardValue | Promise<RewardValue> {
  const reward = getReward(name);
  if (!("compute" in reward)) throw new TypeError(`${name} wants a batch`);
  return reward.compute(sample, resolveRewardParams(name, params));
}

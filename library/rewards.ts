/**
 * Rewards. A registered reward has a name that configurations can use. A rubric is a weighted sum.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { createRubric, registerReward, rewardNames, unregisterReward } from "@rgx/rgx";
 * const short = {
 *   name: "short",
 *   description: "1 for no character, 0 for a hundred and more",
 *   params: {},
 *   compute: ({ completion }: { completion: string }) => Math.max(0, 1 - completion.length / 100),
 * };
 * registerReward(short);
 * assert.ok(rewardNames().includes("short") && rewardNames().includes("match_format_exactly"));
 *
 * await using rubric = createRubric([{ name: "short", weight: 0.1, params: {} }]);
 * const entry = { question: "1 + 1 =", answer: "2", metadata: {} };
 * const { values } = await rubric.score([{
 *   ...{ prompt: "1 + 1 =", completion: "2", answer: "2", info: {}, entry, completionIds: [] },
 *   ...{ messages: null, truncated: false, step: 0, maxCompletionLength: 100 },
 * }]);
 * assert.deepEqual(values, [[0.99]]);
 * unregisterReward(short); // only where another is to have its name
 * ```
 * @module
 */
export {
  type BuiltInReward,
  registerReward,
  rewardNames,
  unregisterReward,
} from "../rewards/registry.ts";
export {
  createRubric,
  type RewardError,
  type Rubric,
  type RubricOptions,
  type RubricScores,
  type RubricSection,
} from "../rewards/rubric.ts";
export * from "../rewards/types.ts";
export type { PythonOptions } from "../rewards/custom/custom_scorer.ts";
export type { RewardFile } from "../rewards/custom/reward_file.ts";
export type { ScorerReward } from "../rewards/scorer.ts";

/** Rewards as a configuration writes them, and as they are after reading. */
import type { RewardFile } from "../../rewards/custom/reward_file.ts";

/** A reward of the run, with its weight and its parameters. */
export interface RewardSection {
  /** Name of a built-in reward. Of a user's reward: its name in metrics (default: its file's). */
  name: string;
  /** Name of a built-in reward in metrics and tables; absent = its name in the registry. */
  as?: string;
  /** Factor of its values in the weighted sum. */
  weight: number;
  /**
   * The parameters of the reward. Those of a built-in reward are checked against its registry
   * entry.
   */
  params: Record<string, unknown>;
  /** Time limit for one value in seconds; absent = `training.reward_timeout`. */
  timeout?: number;
  /** The user's file with the reward; absent for a built-in reward. */
  file?: RewardFile;
}

/** A reward as a configuration writes it: its parameters and its file beside its name. */
export function rewardAsWritten(reward: RewardSection): object {
  const { name, weight, params, file, ...more } = reward;
  return { name, weight, ...more, ...file, ...params };
}

/** Whether a reward of an object is one of a configuration that was read. */
export function isRewardSection(reward: unknown): reward is RewardSection {
  const { path, params } = Object(reward) as { path?: unknown; params?: unknown };
  return path === undefined && typeof params === "object" && params !== null;
}

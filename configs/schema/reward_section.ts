/** Rewards of a configuration that was read, and as a configuration writes them. */
import type { RewardSection } from "./sections/reward.ts";

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

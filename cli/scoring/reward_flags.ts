/** The rewards that flags name: `--reward`, and `--config` for those of a run. */
import { parse } from "yaml";
import { loadConfig, type LoadedConfig } from "../../configs/load.ts";
import type { RewardSection } from "../../configs/schema/reward_section.ts";
import { reworded, UsageError } from "../../core/errors.ts";
import { isRewardPath } from "../../rewards/custom/reward_file.ts";

export interface RewardFlags {
  /** Names, files or `{name: …}`. */
  reward: readonly string[];
  config?: string;
}

interface ChosenRewards {
  sections: readonly RewardSection[];
  rewardTimeout: number;
  /** Longest completion of the configuration. */
  maxCompletionLength: number;
}

/** The rewards of the flags; null where there are none. */
export async function chosenRewards(flags: RewardFlags): Promise<ChosenRewards | null> {
  const { reward, config: path } = flags;
  if (path !== undefined && reward.length > 0) {
    throw new UsageError("--reward and --config exclude each other", {
      advice: "Both say which rewards are meant.",
    });
  }
  if (path === undefined && reward.length === 0) return null;
  const { config } = path === undefined
    ? await ofRewards(reward.map(itemOf))
    : await loadConfig(path, { env: Deno.env.toObject() });
  const { reward_timeout: rewardTimeout, max_completion_length } = config.training;
  if (config.rewards.length === 0) throw new UsageError(`${path}: has no rewards`);
  return { sections: config.rewards, rewardTimeout, maxCompletionLength: max_completion_length };
}

/** A configuration with these rewards; its other keys are not used. */
async function ofRewards(rewards: readonly unknown[]): Promise<LoadedConfig> {
  try {
    return await loadConfig({
      model: { model_name_or_path: "none" },
      data: { task_name: "chain_sum" },
      rewards,
    });
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    // The positions are in a configuration that the user has not written, so they are removed.
    throw reworded(
      error,
      error.message.replaceAll(/^configuration object:\d+:\d+: rewards\.\d+/gm, "--reward"),
    );
  }
}

/** The file that a text names, and the function of one of Python (`F.py:NAME`); null: no file. */
export function rewardFile(text: string): { path: string; function?: string } | null {
  const [, path, name] = /^(.*\.py):(\w+)$/i.exec(text) ?? [];
  if (path !== undefined) return { path, function: name! };
  return isRewardPath(text) ? { path: text } : null;
}

/** An item of a list of rewards. */
function itemOf(text: string): unknown {
  if (!text.trimStart().startsWith("{")) return rewardFile(text) ?? text;
  try {
    return parse(text);
  } catch (cause) {
    throw new UsageError(`--reward ${text}: not a map of YAML`, {
      advice: "For example --reward '{name: cosine_scaled, weight: 0.5}'.",
      cause,
    });
  }
}

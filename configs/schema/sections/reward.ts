/** One item of the list of rewards. */
import type { RewardFile } from "../../../rewards/custom/reward_file.ts";

/** A reward of the run, with its weight and its parameters. */
export interface RewardSection {
  /** Name of a built-in reward; of a user's, its name in metrics (default: that of its file). */
  name: string;
  /** Name of a built-in reward in metrics and tables; absent = that of the registry. */
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

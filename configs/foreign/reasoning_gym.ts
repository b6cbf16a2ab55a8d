/** Keys of reasoning-gym's recipes. */
import { key } from "../types/key_spec.ts";
import { anything, bool } from "../types/value_types.ts";
import { allMean, type ForeignTable } from "./foreign_table.ts";

export const REASONING_GYM: ForeignTable = {
  obeyed: {
    "reasoning_gym.datasets": "data.tasks",
    ...allMean("data.num_examples", "data.size", "reasoning_gym.dataset_size"),
    ...allMean(
      "data.system_prompt",
      "data.developer_prompt",
      "developer_prompt",
      "reasoning_gym.developer_prompt",
    ),
    ...allMean("data.developer_role", "reasoning_gym.developer_role"),
  },
  values: {},
  translated: {
    "reward.use_accuracy": key(bool(), false, "reasoning-gym: the reward correctness"),
    "reward.secondary_rewards": key(
      anything("a list of rewards"),
      () => [],
      "reasoning-gym: list of {name, scaling_factor, kwargs}",
    ),
  },
  withoutEffect: {},
  refused: {},
};

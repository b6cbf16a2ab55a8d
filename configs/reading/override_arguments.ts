/** The overrides of a program, as the arguments that a command would get. */
import { UsageError } from "../../core/errors.ts";
import { isRewardSection, rewardAsWritten } from "../schema/reward_section.ts";
import { SECTIONS } from "../schema/schema.ts";
import type { ConfigOverrides } from "../config_object.ts";

/**
 * `{training: {max_steps: 5}}` → `["training.max_steps=5"]`. Sections and maps are merged with what
 * is there; any other value, also a list, replaces it. Tasks that are named take the place of the
 * problems that are there, with their parameters.
 * @throws UsageError for a value that no YAML file can have
 */
export function overrideArguments(overrides: ConfigOverrides): string[] {
  const sections = new Set(SECTIONS.map(({ path }) => path));
  const collect = (values: object, prefix: string): string[] =>
    Object.entries(values).flatMap(([key, value]) => {
      if (value === undefined) return [];
      const path = prefix + key;
      if (sections.has(path) && isMap(value)) return collect(value, `${path}.`);
      const text = JSON.stringify(value);
      if (text !== undefined) return [`${path}=${text}`];
      throw new UsageError(`overrides: ${path} is a ${typeof value}`, {
        advice: "It may hold maps, lists, texts, numbers, true, false and null.",
      });
    });
  const { data, rewards } = overrides;
  return collect({
    ...overrides,
    ...isMap(data) && { data: { ...data, ...inPlaceOfOtherProblems(data) } },
    ...Array.isArray(rewards) && {
      rewards: rewards.map((reward) => isRewardSection(reward) ? rewardAsWritten(reward) : reward),
    },
  }, "");
}

/** The keys that remove the configuration's problems if the overrides name other tasks. */
function inPlaceOfOtherProblems(data: NonNullable<ConfigOverrides["data"]>): object {
  const { task_name = null, tasks = null, dataset_name = null, task_config } = data;
  const { eval_dataset_name = null } = data;
  if (task_name === null && tasks === null) return {};
  return {
    dataset_name,
    eval_dataset_name,
    // The task `composite` names the tasks that are there.
    ...task_name !== "composite" && { task_name, tasks },
    task_config: { _delete_: true, ...task_config },
  };
}

function isMap(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

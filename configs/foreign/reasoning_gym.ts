/**
 * Keys of reasoning-gym's recipes, and what they mean: the section `reward: {use_accuracy,
 * secondary_rewards: [{name, scaling_factor, kwargs}]}` becomes rgx's list `rewards`, the tasks of
 * a curriculum are the problems, and prompts are the questions alone.
 */
import { SECONDARY_REWARDS } from "../../rewards/registry.ts";
import type { ConfigNode, Json } from "../documents/node.ts";
import { fromJson, nearness, nodeAt, toJson, withEntry } from "../documents/node.ts";
import { table } from "./table.ts";
import type { Translation } from "./translation.ts";

export const REASONING_GYM = table(
  "reasoning-gym",
  `
[]
reasoning_gym.datasets = data.tasks
data.size reasoning_gym.dataset_size = data.num_examples
data.developer_prompt developer_prompt reasoning_gym.developer_prompt = data.system_prompt
reasoning_gym.developer_role = data.developer_role
reward.use_accuracy: bool -- the reward correctness
reward.secondary_rewards: any a list of rewards -- list of {name, scaling_factor, kwargs}
`,
);

/** Sets `rewards`, unless it is written. */
export function translateReasoningGym(keys: Translation): void {
  const accuracy = keys.node("reward.use_accuracy"), written = keys.node("rewards");
  const secondary = keys.node("reward.secondary_rewards"), nearest = secondary ?? accuracy;
  if (nearest === undefined || (written && nearness(nearest, written) <= 0)) return;
  const first = keys.isTrue("reward.use_accuracy") ? [fromJson("correctness", accuracy!.at)] : [];
  const others = secondary?.kind === "list" ? secondary.items.map(secondaryReward) : [];
  const list: ConfigNode = { kind: "list", items: [...first, ...others], at: nearest.at };
  keys.tree = withEntry(keys.tree, "rewards", list);
}

/**
 * Where no problems are named, the tasks of a curriculum that is switched on are the problems, as
 * in reasoning-gym, drawn by their weights.
 */
export function translateCurriculum(keys: Translation): void {
  const curricula = keys.node("curriculum.curricula");
  if (curricula?.kind !== "map" || !keys.isTrue("curriculum.enabled")) return;
  if (keys.problemKey() !== undefined) return;
  const tasks = [...curricula.entries].map(([name, { node }]): [string, Json] => {
    const weight = nodeAt(node, "weight");
    return [name, weight === undefined ? {} : { weight: toJson(weight) }];
  });
  if (tasks.length > 0) keys.fill("data.tasks", Object.fromEntries(tasks), curricula);
}

/** reasoning-gym's recipes ask the question alone: only the system prompt says how to answer. */
export function translatePrompts(keys: Translation): void {
  const first = ["num_examples", "system_prompt", "tasks"].map((name) => keys.node(`data.${name}`))
    .find((node) => node?.foreign?.startsWith("reasoning_gym."));
  if (first !== undefined) keys.fill("data.add_instructions", false, first);
}

/** `{name, scaling_factor, kwargs}` as `{name, weight, …parameters}`. */
function secondaryReward(item: ConfigNode): ConfigNode {
  if (item.kind !== "map") return item;
  const entries = new Map(item.entries);
  const weight = entries.get("scaling_factor"), parameters = entries.get("kwargs")?.node;
  for (const name of ["scaling_factor", "kwargs"]) entries.delete(name);
  if (weight !== undefined) entries.set("weight", weight);
  const name = entries.get("name");
  if (name?.node.kind === "scalar" && typeof name.node.value === "string") {
    const value = SECONDARY_REWARDS[name.node.value] ?? name.node.value;
    entries.set("name", { ...name, node: { ...name.node, value } });
  }
  if (parameters?.kind === "map") {
    for (const [name, entry] of parameters.entries) entries.set(name, entry);
  }
  return { ...item, entries };
}

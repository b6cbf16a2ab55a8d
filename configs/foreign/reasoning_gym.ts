/**
 * Keys of reasoning-gym's recipes, and what they mean: the section `reward: {use_accuracy,
 * secondary_rewards: [{name, scaling_factor, kwargs}]}` becomes rgx's list `rewards`, the tasks of
 * a curriculum are the problems, and prompts are the questions alone.
 */
import { SECONDARY_REWARDS } from "../../rewards/registry.ts";
import {
  type ConfigNode,
  type Json,
  nearness,
  nodeAt,
  toJson,
  withEntry,
} from "../documents/node.ts";
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
export function translateReasoningGym(translation: Translation): void {
  const accuracy = translation.node("reward.use_accuracy");
  const secondary = translation.node("reward.secondary_rewards");
  if (accuracy === undefined && secondary === undefined) return;
  const written = translation.node("rewards"), nearest = secondary ?? accuracy!;
  if (written !== undefined && nearness(nearest, written) <= 0) return;
  const items: ConfigNode[] = [];
  if (accuracy !== undefined && translation.isTrue("reward.use_accuracy")) {
    items.push({ kind: "scalar", value: "correctness", at: accuracy.at });
  }
  if (secondary?.kind === "list") items.push(...secondary.items.map(secondaryReward));
  const list: ConfigNode = { kind: "list", items, at: nearest.at };
  translation.tree = withEntry(translation.tree, "rewards", list);
}

/**
 * Where no problems are named, the tasks of a curriculum that is switched on are the problems, as
 * in reasoning-gym, drawn by their weights.
 */
export function translateCurriculum(translation: Translation): void {
  const curricula = translation.node("curriculum.curricula");
  if (curricula?.kind !== "map" || !translation.isTrue("curriculum.enabled")) return;
  const sources = ["tasks", "task_name", "dataset_name"];
  if (sources.some((name) => translation.given(`data.${name}`) !== undefined)) return;
  const tasks = [...curricula.entries].map(([name, { node }]) => {
    const weight = nodeAt(node, ["weight"]);
    const part: Json = weight === undefined ? {} : { weight: toJson(weight) };
    return [name, part] as const;
  });
  if (tasks.length > 0) translation.fill("data.tasks", Object.fromEntries(tasks), curricula);
}

/** Keys of rgx with a counterpart in the section `reasoning_gym` of reasoning-gym's recipes. */
const RECIPE_KEYS = ["num_examples", "system_prompt", "tasks"];

/** reasoning-gym's recipes ask the question alone: only the system prompt says how to answer. */
export function translatePrompts(translation: Translation): void {
  for (const name of RECIPE_KEYS) {
    const node = translation.node(`data.${name}`);
    if (!node?.foreign?.startsWith("reasoning_gym.")) continue;
    return translation.fill("data.add_instructions", false, node);
  }
}

/** `{name, scaling_factor, kwargs}` as `{name, weight, …parameters}`. */
function secondaryReward(item: ConfigNode): ConfigNode {
  if (item.kind !== "map") return item;
  const entries = new Map(item.entries);
  const weight = entries.get("scaling_factor");
  const parameters = entries.get("kwargs")?.node;
  entries.delete("scaling_factor");
  entries.delete("kwargs");
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

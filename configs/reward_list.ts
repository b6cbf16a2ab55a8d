/** The list of rewards: names or `{name, weight, …parameters}`, checked against the registry. */
import { RgxError } from "../core/errors.ts";
import { getReward } from "../rewards/registry.ts";
import type { Reward } from "../rewards/types.ts";
import { checkParams, withDefaults } from "../tasks/params.ts";
import { type ConfigNode, describeNode, type MapNode, type Problems, toJson } from "./node.ts";
import type { RewardSection } from "./run_config.ts";
import { float } from "./value_types.ts";

/** `weights` (TRL's `reward_weights`) replace the weights of the items, in order. */
export function readRewards(
  node: ConfigNode | undefined,
  weights: readonly number[] | null | undefined,
  problems: Problems,
): RewardSection[] {
  if (node === undefined) return [];
  const items = node.kind === "list"
    ? node.items
    : node.kind === "scalar" && typeof node.value === "string"
    ? [node]
    : null;
  if (items === null) {
    const text = `expected a list of names or of {name, weight, …parameters}, found `;
    problems.add(node.at, "rewards", text + describeNode(node));
    return [];
  }
  const sections = items.map((item, i) => readReward(item, `rewards.${i}`, problems));
  if (weights) {
    if (weights.length !== items.length) {
      const text = `${weights.length} weights for ${items.length} rewards`;
      problems.add(node.at, "training.reward_weights", text);
    }
    weights.forEach((weight, i) => {
      const section = sections[i];
      if (section) section.weight = weight;
    });
  }
  return sections.filter((section) => section !== null);
}

function readReward(item: ConfigNode, key: string, problems: Problems): RewardSection | null {
  if (item.kind === "scalar" && typeof item.value === "string") {
    const reward = find(item.value, item, key, problems);
    return reward && { name: reward.name, weight: 1, params: withDefaults(reward.params, {}) };
  }
  if (item.kind !== "map") {
    const text = `expected a name or {name, weight, …parameters}, found ${describeNode(item)}`;
    problems.add(item.at, key, text);
    return null;
  }
  const name = item.entries.get("name")?.node;
  if (name === undefined) {
    const path = item.entries.get("path");
    if (path === undefined) problems.add(item.at, key, "name is missing");
    else {
      const text = "not supported yet by this version; register the reward in a program (mod.ts)";
      problems.add(path.keyAt, `${key}.path`, text);
    }
    return null;
  }
  if (name.kind !== "scalar" || typeof name.value !== "string") {
    problems.add(name.at, `${key}.name`, `expected text, found ${describeNode(name)}`);
    return null;
  }
  const reward = find(name.value, name, `${key}.name`, problems);
  const weightNode = item.entries.get("weight")?.node;
  const weight = weightNode === undefined
    ? 1
    : float().read(weightNode, (at, text) => problems.add(at, `${key}.weight`, text));
  if (reward === null || weight === undefined) return null;
  return readParams(item, key, reward, weight, problems);
}

function readParams(
  item: MapNode,
  key: string,
  reward: Reward,
  weight: number,
  problems: Problems,
): RewardSection {
  const given: Record<string, unknown> = Object.create(null);
  for (const [name, { node }] of item.entries) {
    if (name !== "name" && name !== "weight") given[name] = toJson(node);
  }
  for (const message of checkParams(`reward ${reward.name}`, reward.params, given)) {
    reportField(message, item, key, problems);
  }
  return { name: reward.name, weight, params: withDefaults(reward.params, given) };
}

function find(name: string, node: ConfigNode, key: string, problems: Problems): Reward | null {
  try {
    return getReward(name);
  } catch (error) {
    if (!(error instanceof RgxError)) throw error;
    problems.add(node.at, key, error.message);
    return null;
  }
}

/** A message of the form `field: what`, put where the field stands in `map` (else at the map itself). */
export function reportField(
  message: string,
  map: ConfigNode,
  key: string,
  problems: Problems,
): void {
  const [, field, text] = /^([^\s:]+): (.*)$/s.exec(message) ?? [];
  const entry = map.kind === "map" && field !== undefined ? map.entries.get(field) : undefined;
  if (field === undefined || text === undefined) problems.add(map.at, key, message);
  else if (entry === undefined) problems.add(map.at, `${key}.${field}`, text);
  else {
    const at = text.startsWith("unknown") ? entry.keyAt : entry.node.at;
    problems.add(at, `${key}.${field}`, text);
  }
}

/**
 * Translates what open-r1's recipes mean: the names of their `reward_funcs`, the keys that are
 * parameters of these rewards, and a mixture of one data set.
 */
import { CODE_REWARDS, OPEN_R1_REWARDS } from "../../../rewards/registry.ts";
import {
  type ConfigNode,
  fromJson,
  isNull,
  type MapEntry,
  nodeAt,
  toJson,
  withEntry,
} from "../../documents/node.ts";
import type { Translation } from "../translation.ts";
import { ONE_SET, setTestSplit } from "../trl_datasets.ts";
import { parameterPath, REWARD_PARAMETERS } from "./open_r1.ts";

/** Names of `reward_funcs` that other projects have with another meaning. */
const SHARED = ["accuracy", "format", "cosine", "repetition_penalty", "length"];
/** open-r1's own, where a recipe names none. */
const DEFAULT_REWARDS = ["accuracy", "format", "tag_count"];
/** open-r1's defaults of a reward that are not rgx's. */
const DEFAULT_PARAMETERS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  soft_overlong_punishment: { max_completion_len: 16384, soft_punish_cache: 4096 },
};

export function translateOpenR1(translation: Translation): void {
  translateRewards(translation);
  translateMixture(translation);
}

function translateRewards(translation: Translation): void {
  const written = translation.given("rewards");
  const first = firstParameter(translation);
  if (written === undefined) {
    if (first === undefined) return;
    const node = fromJson(DEFAULT_REWARDS, first.at);
    const text = `without reward_funcs, the rewards are open-r1's: ${DEFAULT_REWARDS.join(", ")}`;
    translation.note(first, first.foreign!, text);
    return setRewards(translation, node);
  }
  const isRecipe = /(^|\.)reward_funcs$/.test(written.foreign ?? "") &&
    (first !== undefined || namesOf(written).some(isOfOpenR1Alone) ||
      translation.given("data.dataset_prompt_column") !== undefined);
  if (isRecipe) return setRewards(translation, written);
  if (first === undefined) return;
  const text = "is a parameter of a reward in open-r1's reward_funcs; in `rewards` it stands " +
    "beside the reward's name, as in {name: open_r1_cosine, max_len: 500}";
  // Rewards that are typed take the place of those of a recipe, whose parameters then remain.
  const isReplaced = written.at.source.isLast && !first.at.source.isLast;
  if (isReplaced) {
    translation.note(first, first.foreign!, `accepted, has no effect in rgx: ${text}`);
  } else translation.refuse(first, first.foreign!, text);
}

/** A key that is a parameter of a reward, the first one that is written. */
function firstParameter(translation: Translation): ConfigNode | undefined {
  return Object.keys(REWARD_PARAMETERS).map((name) => translation.given(parameterPath(name)))
    .find((node) => node !== undefined);
}

function itemsOf(node: ConfigNode): readonly ConfigNode[] {
  return node.kind === "list" ? node.items : [node];
}

function namesOf(node: ConfigNode): string[] {
  return itemsOf(node).map(toJson).filter((name) => typeof name === "string");
}

function isOfOpenR1Alone(name: string): boolean {
  return CODE_REWARDS.includes(name) ||
    (Object.hasOwn(OPEN_R1_REWARDS, name) && !SHARED.includes(name));
}

/** Sets `rewards` to the rewards that open-r1 means, with their parameters. */
function setRewards(translation: Translation, node: ConfigNode): void {
  const asked = new Set(namesOf(node)), renamed: string[] = [];
  const items = itemsOf(node).map((item) => {
    const name = toJson(item);
    if (typeof name !== "string") return item;
    // A reward that runs code is refused when the list is read.
    if (!Object.hasOwn(OPEN_R1_REWARDS, name)) return item;
    renamed.push(`${name} is ${OPEN_R1_REWARDS[name]}`);
    return rewardOf(translation, name, item);
  });
  translation.tree = withEntry(translation.tree, "rewards", { kind: "list", items, at: node.at });
  const text = `the names are open-r1's: ${renamed.join(", ")} (rgx rewards show NAME)`;
  if (renamed.length > 0) translation.note(node, "reward_funcs", text);
  for (const [name, [reward]] of Object.entries(REWARD_PARAMETERS)) {
    const given = translation.given(parameterPath(name));
    if (given === undefined || asked.has(reward)) continue;
    const text = `accepted, has no effect in rgx: reward_funcs does not name ${reward}`;
    translation.note(given, given.foreign!, text);
  }
}

/** The reward of open-r1 of this name as `{name, …parameters}`. */
function rewardOf(translation: Translation, name: string, item: ConfigNode): ConfigNode {
  const entry = (node: ConfigNode): MapEntry => ({ keyAt: node.at, node });
  const entries = new Map<string, MapEntry>([
    ["name", entry({ kind: "scalar", value: OPEN_R1_REWARDS[name]!, at: item.at })],
  ]);
  for (const [parameter, value] of Object.entries(DEFAULT_PARAMETERS[name] ?? {})) {
    entries.set(parameter, entry({ kind: "scalar", value, at: item.at }));
  }
  for (const [key, [reward, parameter]] of Object.entries(REWARD_PARAMETERS)) {
    const given = translation.given(parameterPath(key));
    if (reward === name && given !== undefined) entries.set(parameter, entry(given));
  }
  return { kind: "map", entries, at: item.at };
}

const MIXTURE = "data.dataset_mixture";

function translateMixture(translation: Translation): void {
  const mixture = translation.given(MIXTURE);
  if (mixture?.kind !== "map") return;
  const refuse = (node: ConfigNode, text: string) => {
    // The data set is named, so that none is missing.
    translation.problems.incomplete = true;
    translation.refuse(node, mixture.foreign ?? MIXTURE, text);
  };
  for (const [name, { node }] of mixture.entries) {
    if (!["datasets", "seed", "test_split_size"].includes(name)) {
      refuse(node, `unknown key ${name} (known: datasets, seed, test_split_size)`);
    }
  }
  const datasets = nodeAt(mixture, ["datasets"]);
  const only = datasets?.kind === "list" && datasets.items.length === 1 ? datasets.items[0]! : null;
  if (only?.kind !== "map") {
    return refuse(datasets ?? mixture, `expected one data set; ${ONE_SET}`);
  }
  const id = nodeAt(only, ["id"]);
  if (id === undefined || isNull(id)) {
    return refuse(only, "id, the name of the data set, is missing");
  }
  for (const [name, { node }] of only.entries) {
    if (isNull(node)) continue;
    const value = toJson(node);
    if (name === "id") translation.set("data", "dataset_name", value, node);
    else if (name === "config") translation.set("data", "dataset_config", value, node);
    else if (name === "split") translation.set("data", "dataset_train_split", value, node);
    else if (name === "weight" && value !== 1) {
      refuse(node, "weight: all rows are read; max_examples takes only the first ones");
    } else if (!["weight", "columns"].includes(name)) {
      refuse(node, `unknown key ${name} (known: id, config, split, columns, weight)`);
    }
  }
  const test = nodeAt(mixture, ["test_split_size"]);
  if (test !== undefined && !isNull(test)) setTestSplit(translation, test);
}

/**
 * Keys that recipes of open-r1 have beside TRL's (GRPOScriptArguments, GRPOConfig, SFTConfig), and
 * their meaning: the names of their `reward_funcs`, the keys that are parameters of these rewards,
 * and a mixture of one data set.
 */
import { CODE_REWARDS, OPEN_R1_NAMES } from "../../rewards/registry.ts";
import { type ConfigNode, fromJson, type MapEntry, toJson, withEntry } from "../documents/node.ts";
import { table } from "./table.ts";
import type { Translation } from "./translation.ts";

/** Key of a recipe → the reward, by its name there, and the parameter that it sets. */
const REWARD_PARAMETERS: Readonly<Record<string, readonly [reward: string, name: string]>> = {
  cosine_min_value_wrong: ["cosine", "min_value_wrong"],
  cosine_max_value_wrong: ["cosine", "max_value_wrong"],
  cosine_min_value_correct: ["cosine", "min_value_correct"],
  cosine_max_value_correct: ["cosine", "max_value_correct"],
  cosine_max_len: ["cosine", "max_len"],
  repetition_n_grams: ["repetition_penalty", "ngram_size"],
  repetition_max_penalty: ["repetition_penalty", "max_penalty"],
  code_language: ["code_format", "language"],
  max_completion_len: ["soft_overlong_punishment", "max_completion_len"],
  soft_punish_cache: ["soft_overlong_punishment", "soft_punish_cache"],
};

/** Where the key of a parameter stands in the tree. */
const parameterPath = (name: string) => `training.${name}`;

/** The lines of the parameters' keys. The reward checks their ranges. */
const PARAMETERS = Object.entries(REWARD_PARAMETERS).map(([name, [reward, parameter]]) => {
  const type = /value|penalty/.test(parameter)
    ? "number"
    : parameter === "language"
    ? "text"
    : "int";
  return `training.${name} /${name}: ${type}? -- ${parameter} of the reward ${reward}`;
}).join("\n");

export const OPEN_R1 = table(
  "open-r1",
  `
[]
hub_model_revision training.hub_model_revision = training.hub_revision
${PARAMETERS}
data.dataset_mixture /dataset_mixture: map? -- a mixture of one data set, its \`id\` as dataset_name,
  its \`config\` as dataset_config, its \`split\` as dataset_train_split, \`test_split_size\` as what
  train_ratio leaves
[, training]
- wandb_entity: rgx writes wandb's files for wandb sync, which may upload them with --entity NAME
- wandb_run_group: runs have no groups; curves compares any of them
~ code_eval_test_batch_size code_eval_scoring_mode parallel_code_exec_per_proc e2b_router_url
  morph_router_url code_provider ioi_provider: the rewards that run code, which are refused
? benchmarks [[]]: rgx bench asks a model after its training
? callbacks [[]]: push_to_hub: true with hub_strategy: every_save uploads at each save
? overwrite_hub_revision push_to_hub_revision [false]: push_to_hub: true uploads to the branch
  hub_revision
`,
);

/** Names of `reward_funcs` that other projects have with another meaning. */
const SHARED = ["accuracy", "format", "cosine", "repetition_penalty", "length"];
/** open-r1's default rewards, for a recipe that names none. */
const DEFAULT_REWARDS = ["accuracy", "format", "tag_count"];
/** open-r1's defaults of a reward that are not rgx's. */
const DEFAULT_PARAMETERS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  soft_overlong_punishment: { max_completion_len: 16384, soft_punish_cache: 4096 },
};

export function translateOpenR1(translation: Translation): void {
  const written = translation.given("rewards");
  const first = firstParameter(translation);
  if (written === undefined) {
    if (first === undefined) return;
    const node = fromJson(DEFAULT_REWARDS, first.at);
    const text = `without reward_funcs, the rewards are open-r1's: ${DEFAULT_REWARDS.join(", ")}`;
    translation.note(first, text);
    return setRewards(translation, node);
  }
  const isRecipe = /(^|\.)reward_funcs$/.test(written.foreign ?? "") &&
    (first !== undefined || namesOf(written).some(isOfOpenR1Alone) ||
      translation.given("data.dataset_prompt_column") !== undefined);
  if (isRecipe) return setRewards(translation, written);
  if (first === undefined) return;
  const text = "is a parameter of a reward in open-r1's reward_funcs; in `rewards` it stands " +
    "beside the reward's name, as in {name: open_r1_cosine, max_len: 500}";
  // If the command line replaces the rewards of a recipe, the keys of their parameters remain.
  const isReplaced = written.at.source.isLast && !first.at.source.isLast;
  if (isReplaced) {
    translation.note(first, `accepted, has no effect in rgx: ${text}`);
  } else translation.refuse(first, text);
}

/** The first written key that is a parameter of a reward. */
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
    (Object.hasOwn(OPEN_R1_NAMES, name) && !SHARED.includes(name));
}

/** Sets `rewards` to the rewards that open-r1 means, with their parameters. */
function setRewards(translation: Translation, node: ConfigNode): void {
  const asked = new Set(namesOf(node)), renamed: string[] = [];
  const items = itemsOf(node).map((item) => {
    const name = toJson(item);
    if (typeof name !== "string") return item;
    // A reward that runs code is refused when the list is read.
    if (!Object.hasOwn(OPEN_R1_NAMES, name)) return item;
    renamed.push(`${name} is ${OPEN_R1_NAMES[name]}`);
    return rewardOf(translation, name, item);
  });
  translation.tree = withEntry(translation.tree, "rewards", { kind: "list", items, at: node.at });
  const text = `the names are open-r1's: ${renamed.join(", ")} (rgx rewards show NAME)`;
  if (renamed.length > 0) translation.note(node, text, "reward_funcs");
  for (const [name, [reward]] of Object.entries(REWARD_PARAMETERS)) {
    const given = translation.given(parameterPath(name));
    if (given === undefined || asked.has(reward)) continue;
    const text = `accepted, has no effect in rgx: reward_funcs does not name ${reward}`;
    translation.note(given, text);
  }
}

/** The reward of open-r1 of this name as `{name, …parameters}`. */
function rewardOf(translation: Translation, name: string, item: ConfigNode): ConfigNode {
  const entry = (node: ConfigNode): MapEntry => ({ keyAt: node.at, node });
  const entries = new Map<string, MapEntry>([
    ["name", entry({ kind: "scalar", value: OPEN_R1_NAMES[name]!, at: item.at })],
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

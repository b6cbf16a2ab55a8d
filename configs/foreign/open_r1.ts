/**
 * Keys that recipes of open-r1 have beside TRL's (GRPOScriptArguments, GRPOConfig, SFTConfig), and
 * their meaning: the names of their `reward_funcs`, the keys that are parameters of these rewards,
 * and a mixture of one data set.
 */
import { CODE_REWARDS, OPEN_R1_NAMES } from "../../rewards/registry.ts";
import type { ConfigNode, Json, MapNode } from "../documents/node.ts";
import { fromJson, toJson, withEntry } from "../documents/node.ts";
import { table } from "./table.ts";
import { NO_EFFECT, type Translation } from "./translation.ts";

/** Key of a recipe, the type of its values, the reward by its name there, and the parameter. */
const PARAMETERS: readonly (readonly [key: string, type: string, of: string, name: string])[] = [
  ["cosine_min_value_wrong", "number", "cosine", "min_value_wrong"],
  ["cosine_max_value_wrong", "number", "cosine", "max_value_wrong"],
  ["cosine_min_value_correct", "number", "cosine", "min_value_correct"],
  ["cosine_max_value_correct", "number", "cosine", "max_value_correct"],
  ["cosine_max_len", "int", "cosine", "max_len"],
  ["repetition_n_grams", "int", "repetition_penalty", "ngram_size"],
  ["repetition_max_penalty", "number", "repetition_penalty", "max_penalty"],
  ["code_language", "text", "code_format", "language"],
  ["max_completion_len", "int", "soft_overlong_punishment", "max_completion_len"],
  ["soft_punish_cache", "int", "soft_overlong_punishment", "soft_punish_cache"],
];

/** The parameters' keys. The reward checks their ranges. */
const PARAMETER_LINES = PARAMETERS.map(([key, type, reward, name]) =>
  `training.${key} /${key}: ${type}? -- ${name} of the reward ${reward}`
).join("\n");

export const OPEN_R1 = table(
  "open-r1",
  `
[]
hub_model_revision training.hub_model_revision = training.hub_revision
${PARAMETER_LINES}
data.dataset_mixture /dataset_mixture: map? -- a mixture of one data set, its \`id\` as dataset_name,
  its \`config\` as dataset_config, its \`split\` as dataset_train_split, \`test_split_size\` as what
  train_ratio leaves
[, training]
- wandb_entity: rgx writes wandb's files for wandb sync, which may upload them with --entity NAME
- wandb_run_group: runs have no groups; curves compares any of them
~ code_eval_test_batch_size code_eval_scoring_mode parallel_code_exec_per_proc e2b_router_url
  morph_router_url code_provider ioi_provider: the rewards that run code, which are refused
? benchmarks: rgx bench asks a model after its training
? callbacks: push_to_hub: true with hub_strategy: every_save uploads at each save
? overwrite_hub_revision push_to_hub_revision [false]: push_to_hub: true uploads to the branch
  hub_revision
`,
);

/** Names of `reward_funcs` that other projects have with another meaning. */
const SHARED = ["accuracy", "format", "cosine", "repetition_penalty", "length"];
/** open-r1's defaults of a reward that are not rgx's. */
const DEFAULT_PARAMETERS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  soft_overlong_punishment: { max_completion_len: 16384, soft_punish_cache: 4096 },
};

const itemsOf = (node: ConfigNode) => node.kind === "list" ? node.items : [node];

export function translateOpenR1(keys: Translation): void {
  const written = keys.given("rewards");
  const first = PARAMETERS.map(([key]) => keys.given(`training.${key}`)).find(Boolean);
  if (written === undefined) return;
  const isRecipe = /(^|\.)reward_funcs$/.test(written.foreign ?? "") &&
    (first !== undefined || itemsOf(written).some((item) => isOfOpenR1Alone(toJson(item))) ||
      keys.given("data.dataset_prompt_column") !== undefined);
  if (isRecipe) return setRewards(keys, written);
  if (first === undefined) return;
  const text =
    `${NO_EFFECT}: it is a parameter of a reward in open-r1's reward_funcs; in rewards ` +
    "it stands beside the reward's name, as in {name: open_r1_cosine, max_len: 500}";
  keys.note(first, text);
}

function isOfOpenR1Alone(name: Json): boolean {
  return typeof name === "string" && (CODE_REWARDS.includes(name) ||
    (Object.hasOwn(OPEN_R1_NAMES, name) && !SHARED.includes(name)));
}

/** Sets `rewards` to the rewards that open-r1 means, with their parameters. */
function setRewards(keys: Translation, node: ConfigNode): void {
  const asked = itemsOf(node).map(toJson), renamed: string[] = [];
  const items = itemsOf(node).map((item) => {
    const name = toJson(item);
    // A reward that runs code is refused when the list is read.
    if (typeof name !== "string" || !Object.hasOwn(OPEN_R1_NAMES, name)) return item;
    renamed.push(`${name} is ${OPEN_R1_NAMES[name]}`);
    return rewardOf(keys, name, item);
  });
  keys.tree = withEntry(keys.tree, "rewards", { kind: "list", items, at: node.at });
  const text = `the names are open-r1's: ${renamed.join(", ")} (rgx rewards show NAME)`;
  if (renamed.length > 0) keys.note(node, text, "reward_funcs");
  for (const [key, , reward] of PARAMETERS) {
    const given = keys.given(`training.${key}`);
    if (given === undefined || asked.includes(reward)) continue;
    keys.note(given, `${NO_EFFECT}: reward_funcs does not name ${reward}`);
  }
}

/** The reward of open-r1 of this name as `{name, …parameters}`. */
function rewardOf(keys: Translation, name: string, item: ConfigNode): ConfigNode {
  let reward = fromJson({ name: OPEN_R1_NAMES[name]!, ...DEFAULT_PARAMETERS[name] }, item.at);
  for (const [key, , of, parameter] of PARAMETERS) {
    const given = keys.given(`training.${key}`);
    if (of !== name || given === undefined) continue;
    reward = withEntry(reward as MapNode, parameter, given);
  }
  return reward;
}

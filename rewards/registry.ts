/**
 * Name → reward. To add a built-in reward:
 * 1. write it in the file of its origin (`task_answer.ts`, `trl.ts`, …) and list it there;
 * 2. run `deno task docs:rewards`.
 *
 * A program that uses rgx registers its rewards with {@link registerReward}.
 */
import { UsageError } from "../core/errors.ts";
import { didYouMean } from "../core/suggest.ts";
import { checkParams, withDefaults } from "../core/named_params.ts";
import { GSM8K_REWARDS } from "./gsm8k.ts";
import { judge } from "./judge/judge.ts";
import { OPEN_R1_REWARDS } from "./open_r1.ts";
import { REASONING_GYM_REWARDS } from "./reasoning_gym.ts";
import type { ScorerReward } from "./scorer.ts";
import { TASK_ANSWER_REWARDS } from "./task_answer.ts";
import { TRL_REWARDS } from "./trl.ts";
import type { Reward } from "./types.ts";
import { VERIFIERS_REWARDS } from "./verifiers.ts";

/** A reward, or one that makes its own scorer. */
export type BuiltInReward = Reward | ScorerReward;

const rewards = new Map<string, BuiltInReward>();

/** Other spellings of a reward's name, TRL's among them. */
export const REWARD_ALIASES: Readonly<Record<string, string>> = {
  accuracy: "correctness",
  format: "format_answer",
  cosine: "cosine_scaled",
  get_soft_overlong_punishment: "soft_overlong",
  soft_overlong_punishment_reward: "soft_overlong",
  get_cosine_scaled_reward: "cosine_scaled",
  cosine_scaled_reward: "cosine_scaled",
  get_repetition_penalty_reward: "repetition_penalty",
  repetition_penalty_reward: "repetition_penalty",
};

/** The meaning of the short names in reasoning-gym's `reward.secondary_rewards`, and only there. */
export const SECONDARY_REWARDS: Readonly<Record<string, string>> = {
  format: "rg_format",
  cosine: "rg_cosine",
  length: "rg_length",
};

/** The meaning of the names of open-r1's `reward_funcs`, and only there. */
export const OPEN_R1_NAMES: Readonly<Record<string, string>> = {
  accuracy: "accuracy_reward",
  format: "open_r1_format",
  tag_count: "open_r1_tag_count",
  reasoning_steps: "open_r1_reasoning_steps",
  cosine: "open_r1_cosine",
  repetition_penalty: "open_r1_repetition_penalty",
  length: "open_r1_length",
  code_format: "open_r1_code_format",
  soft_overlong_punishment: "soft_overlong",
};

/** open-r1's rewards that run the code of a completion. */
export const CODE_REWARDS: readonly string[] = ["code", "binary_code", "ioi_code", "cf_code"];

/** Names with more than one meaning, and what to write instead. */
const AMBIGUOUS: Readonly<Record<string, string>> = {
  length: "write rg_length (reasoning-gym's: long attempts where the answer is wrong) or brevity " +
    "(few tokens)",
  tag_count: "write open_r1_tag_count (each tag once, on a line of its own) or rg_tag_count " +
    "(each tag that occurs)",
};

/** Fields of every built-in reward in a configuration, beside its own parameters. */
const SECTION_FIELDS: readonly string[] = ["name", "as", "path", "weight", "timeout"];

/**
 * Adds a reward; one that was added already is left as it is.
 * @throws UsageError when the name is taken or a parameter has the name of a field
 */
export function registerReward(reward: BuiltInReward): void {
  const fail = (message: string) => {
    throw new UsageError(`cannot register reward "${reward.name}": ${message}`);
  };
  if (!/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(reward.name)) fail("a name has letters, digits and _");
  if (rewards.get(reward.name) === reward) return;
  const taken = rewards.has(reward.name) || Object.hasOwn(REWARD_ALIASES, reward.name) ||
    Object.hasOwn(AMBIGUOUS, reward.name);
  if (taken) fail("the name is taken");
  const clash = SECTION_FIELDS.find((field) => Object.hasOwn(reward.params, field));
  if (clash !== undefined) fail(`"${clash}" is a field of every reward section, not a parameter`);
  const functions = ["compute", "computeBatch", "createScorer"].filter((name) => name in reward);
  if (functions.length !== 1) fail("it must have either compute or computeBatch");
  rewards.set(reward.name, reward);
}

/** Removes a reward that {@link registerReward} has added. */
export function unregisterReward(reward: BuiltInReward): void {
  if (rewards.get(reward.name) === reward) rewards.delete(reward.name);
}

/** All registered names without aliases, sorted. */
export function rewardNames(): string[] {
  return [...rewards.keys()].sort();
}

/** The reward with this name or alias, or a UsageError that names the nearest one. */
export function getReward(written: string): BuiltInReward {
  // Where TRL has its rewards: files of TRL and Axolotl name the module, too.
  const name = written.replace(/^trl\.rewards\.(\w+)$/, "$1");
  const reward = rewards.get(Object.hasOwn(REWARD_ALIASES, name) ? REWARD_ALIASES[name]! : name);
  if (reward !== undefined) return reward;
  if (Object.hasOwn(AMBIGUOUS, name)) {
    throw new UsageError(`reward "${name}" has two meanings: ${AMBIGUOUS[name]}`);
  }
  if (CODE_REWARDS.includes(name)) {
    throw new UsageError(
      `there is no reward "${name}": rgx runs no code of completions; a reward of yours may ask a ` +
        "service that does, {path: ./run_code.ts, net: [HOST]} (docs/rewards.md)",
    );
  }
  const known = [...rewards.keys(), ...Object.keys(REWARD_ALIASES)];
  // TRL and others name functions by their place: module.function.
  if (/^[\w-]+(?:[./:][\w-]+)+$/.test(name)) {
    throw new UsageError(
      `unknown reward "${name}": a function in Python is {path: my_lib/rewards.py, function: NAME}, ` +
        "and runs with --allow-python (docs/rewards.md)",
    );
  }
  throw new UsageError(
    `unknown reward "${name}"${didYouMean(name, known)} (known: ${rewardNames().join(", ")})`,
  );
}

/** The name of a reward in metrics and tables: TRL's, where it has one. */
export function metricName(name: string): string {
  const reward = getReward(name);
  return reward.metric ?? reward.name;
}

/** Everything wrong with a reward's parameters, each message beginning with the field. */
export function validateRewardParams(
  name: string,
  params: Readonly<Record<string, unknown>>,
): string[] {
  const reward = getReward(name);
  return checkParams(`reward ${reward.name}`, reward.params, params);
}

/** The parameters with defaults filled in, or a UsageError with everything that is wrong. */
export function resolveRewardParams(
  name: string,
  params: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const errors = validateRewardParams(name, params);
  if (errors.length > 0) throw new UsageError(`reward ${name}: ${errors.join("\n  ")}`);
  return withDefaults(getReward(name).params, params);
}

/** The built-in rewards by their origin, as the documentation lists them. */
export const REWARD_GROUPS: readonly (readonly [title: string, readonly BuiltInReward[]])[] = [
  ["The task's answer", TASK_ANSWER_REWARDS],
  ["The GSM8K recipe", GSM8K_REWARDS],
  ["TRL's", TRL_REWARDS],
  ["reasoning-gym's", REASONING_GYM_REWARDS],
  ["open-r1's", OPEN_R1_REWARDS],
  ["verifiers'", VERIFIERS_REWARDS],
  ["A model as judge", [judge]],
];
/** The built-in rewards, in the order of the documentation. */
export const BUILT_IN_REWARDS = REWARD_GROUPS.flatMap(([, rewards]) => rewards);
for (const reward of BUILT_IN_REWARDS) registerReward(reward);

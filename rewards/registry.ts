/** Name → reward. Built-in rewards are listed here; a program may register its own. */
import { RgxError, UsageError } from "../core/errors.ts";
import { didYouMean } from "../core/suggest.ts";
import { checkParams, withDefaults } from "../tasks/params.ts";
import { brevity } from "./brevity.ts";
import { correctness } from "./correctness.ts";
import { formatAnswer } from "./format_answer.ts";
import type { Reward } from "./types.ts";

const rewards = new Map<string, Reward>();

/** Other spellings of a reward's name. */
const ALIASES: Readonly<Record<string, string>> = {
  accuracy: "correctness",
  format: "format_answer",
};

/** Parameters that every section of a rubric has beside the reward's own. */
const SECTION_FIELDS = ["name", "path", "weight"];

/** Adds a reward. Throws when the name is taken or a parameter has the name of a section's field. */
export function registerReward(reward: Reward): void {
  const fail = (message: string) => {
    throw new RgxError(`cannot register reward "${reward.name}": ${message}`);
  };
  if (!/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(reward.name)) fail("a name has letters, digits and _");
  if (rewards.has(reward.name) || Object.hasOwn(ALIASES, reward.name)) fail("the name is taken");
  const clash = SECTION_FIELDS.find((field) => Object.hasOwn(reward.params, field));
  if (clash !== undefined) fail(`"${clash}" is a field of every reward section, not a parameter`);
  rewards.set(reward.name, reward);
}

/** All registered names without aliases, sorted. */
export function rewardNames(): string[] {
  return [...rewards.keys()].sort();
}

/** The reward with this name or alias, or a UsageError that names the nearest one. */
export function getReward(name: string): Reward {
  const reward = rewards.get(Object.hasOwn(ALIASES, name) ? ALIASES[name]! : name);
  if (reward === undefined) {
    const known = [...rewards.keys(), ...Object.keys(ALIASES)];
    throw new UsageError(
      `unknown reward "${name}"${didYouMean(name, known)} (known: ${rewardNames().join(", ")})`,
    );
  }
  return reward;
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

for (const reward of [brevity, correctness, formatAnswer]) registerReward(reward);

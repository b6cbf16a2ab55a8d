/** `rgx rewards list|show`: prints the built-in rewards. */
import { typeText } from "../../core/named_params.ts";
import {
  BUILT_IN_REWARDS,
  type BuiltInReward,
  getReward,
  REWARD_ALIASES,
} from "../../rewards/registry.ts";
import { describedTable } from "../terminal/terminal.ts";
import { breakWidth, print, wrap } from "../terminal/terminal.ts";

function aliases(reward: BuiltInReward): string[] {
  return Object.keys(REWARD_ALIASES).filter((name) => REWARD_ALIASES[name] === reward.name);
}

function json(reward: BuiltInReward): object {
  return {
    name: reward.name,
    aliases: aliases(reward),
    metric: reward.metric ?? reward.name,
    description: reward.description,
    weight: reward.defaultWeight ?? 1,
    parameters: reward.params,
  };
}

export function listRewards(options: { json?: boolean }): void {
  if (options.json) return print(JSON.stringify(BUILT_IN_REWARDS.map(json)));
  const cells = BUILT_IN_REWARDS.map(({ name }) => [name]);
  const texts = BUILT_IN_REWARDS.map(({ description }) => description);
  print(
    describedTable([["reward"], ...cells], ["what", ...texts], breakWidth("stdout")).join("\n"),
  );
}

export function showReward(name: string, options: { json?: boolean }): void {
  const reward = getReward(name);
  if (options.json) return print(JSON.stringify(json(reward)));
  const width = breakWidth("stdout", 100), others = aliases(reward);
  const lines = [reward.name, ...wrap(reward.description, width), ""];
  if (others.length > 0) lines.push(...wrap(`Also: ${others.join(", ")}`, width));
  if (reward.metric !== undefined) lines.push(`In the metrics: ${reward.metric}`);
  lines.push(`Weight unless written: ${reward.defaultWeight ?? 1}`);
  const params = Object.entries(reward.params);
  if (params.length > 0) {
    const cells = params.map(([key, spec]) => [
      `  ${key}`,
      typeText(spec),
      JSON.stringify(spec.default),
    ]);
    const texts = params.map(([, spec]) => spec.description);
    lines.push("", "Parameters", ...describedTable(cells, texts, width));
  }
  lines.push("", "In a configuration", "  rewards:", `    - ${example(reward)}`);
  print(lines.join("\n"));
}

/** An entry of `rewards:` with the reward's first parameter that has a value to write. */
function example({ name, params }: BuiltInReward): string {
  const param = Object.entries(params).find(([, spec]) => spec.default !== null);
  if (param === undefined) return name;
  return `{ name: ${name}, weight: 0.5, ${param[0]}: ${JSON.stringify(param[1].default)} }`;
}

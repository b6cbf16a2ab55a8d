/**
 * The page docs/rewards.md: how to write a reward, and the list of rewards with their parameters,
 * from the registry.
 */
import { type ParamSpec, typeText } from "../core/named_params.ts";
import howto from "./writing_rewards.md" with { type: "text" };
import {
  type BuiltInReward,
  OPEN_R1_NAMES,
  REWARD_ALIASES,
  REWARD_GROUPS,
  SECONDARY_REWARDS,
} from "./registry.ts";

export function rewardsReference(): string {
  const groups = REWARD_GROUPS.map(([title, rewards]) =>
    [`### ${title}`, ...rewards.map(section)].join("\n\n")
  );
  return howto.replace("<!-- list -->", groups.join("\n\n"));
}

function section(reward: BuiltInReward): string {
  const aliases = Object.keys(REWARD_ALIASES).filter((name) =>
    REWARD_ALIASES[name] === reward.name
  );
  const secondary = Object.keys(SECONDARY_REWARDS).find((name) =>
    SECONDARY_REWARDS[name] === reward.name
  );
  const inOpenR1 = Object.keys(OPEN_R1_NAMES).find((name) => OPEN_R1_NAMES[name] === reward.name);
  const facts = [
    aliases.length === 0 ? "" : `Also: ${aliases.map(code).join(", ")}.`,
    secondary === undefined ? "" : `In \`reward.secondary_rewards\`: ${code(secondary)}.`,
    inOpenR1 === undefined ? "" : `In a recipe of open-r1: ${code(inOpenR1)}.`,
    reward.metric === undefined ? "" : `In the metrics: ${code(reward.metric)}.`,
    reward.defaultWeight === undefined ? "" : `Weight unless written: ${reward.defaultWeight}.`,
  ].filter((text) => text !== "");
  return [
    [`**${code(reward.name)}** ${marked(reward.description)}`, ...facts].join(" "),
    ...Object.entries(reward.params).map(([name, spec]) => parameter(name, spec)),
  ].join("\n");
}

function parameter(name: string, spec: ParamSpec): string {
  return `- ${code(name)} (${typeText(spec)}, default ${code(JSON.stringify(spec.default))}): ` +
    marked(spec.description);
}

/** Marks tags as code, because Markdown would treat them as HTML. */
const marked = (text: string) => text.replace(/<\/?[A-Za-z]+>/g, "`$&`");
const code = (text: string) => `\`${text}\``;

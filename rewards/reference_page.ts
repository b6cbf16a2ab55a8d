/**
 * The page docs/rewards.md: how to write a reward, and the list of rewards with their parameters,
 * from the registry.
 */
import { type ParamSpec, typeText } from "../core/named_params.ts";
import howto from "./writing_rewards.md" with { type: "text" };
import {
  BUILT_IN_REWARDS,
  type BuiltInReward,
  OPEN_R1_REWARDS,
  REWARD_ALIASES,
  SECONDARY_REWARDS,
} from "./registry.ts";

/** The headings of the list and the rewards under them. */
const GROUPS: readonly (readonly [title: string, names: readonly string[]])[] = [
  ["The task's answer", ["correctness", "format_answer", "brevity"]],
  ["The GSM8K recipe", [
    "match_format_exactly",
    "match_format_approximately",
    "check_answer_correctness",
    "check_numbers_extraction",
  ]],
  ["TRL's", [
    "accuracy_reward",
    "reasoning_accuracy_reward",
    "think_format_reward",
    "soft_overlong",
    "cosine_scaled",
    "repetition_penalty",
  ]],
  ["reasoning-gym's", ["rg_format", "rg_cosine", "rg_length", "rg_tag_count", "rg_format_strict"]],
  ["open-r1's", [
    "open_r1_format",
    "open_r1_tag_count",
    "open_r1_reasoning_steps",
    "open_r1_cosine",
    "open_r1_repetition_penalty",
    "open_r1_length",
    "open_r1_code_format",
  ]],
  ["A model as judge", ["judge"]],
];

/**
 * The whole page.
 * @throws Error when a built-in reward is in no group, or a group lists an unknown one
 */
export function rewardsReference(): string {
  const rewards = new Map(BUILT_IN_REWARDS.map((reward) => [reward.name, reward]));
  const listed = GROUPS.flatMap(([, names]) => names);
  const odd = [...listed, ...rewards.keys()].filter((name) =>
    !rewards.has(name) || !listed.includes(name)
  );
  if (odd.length > 0) throw new Error(`docs/rewards.md: not listed or unknown: ${odd.join(", ")}`);
  const groups = GROUPS.map(([title, names]) =>
    [`### ${title}`, ...names.map((name) => section(rewards.get(name)!))].join("\n\n")
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
  const inOpenR1 = Object.keys(OPEN_R1_REWARDS).find((name) =>
    OPEN_R1_REWARDS[name] === reward.name
  );
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

/** Translates DAPO's punishment of long completions, as verl has it, into soft_overlong. */
import { fromJson, withEntry } from "../../documents/node.ts";
import type { Translation } from "../translation.ts";

/** The places that recipes have it at, the newest first, and the longest completion beside it. */
const PLACES: readonly [buffer: string, longest: string | null][] = [
  ["reward.reward_kwargs.overlong_buffer_cfg", "reward.reward_kwargs.max_resp_len"],
  ["reward_model.reward_kwargs.overlong_buffer_cfg", "reward_model.reward_kwargs.max_resp_len"],
  ["reward_model.overlong_buffer", null],
];

/** Adds the reward to the list of rewards, where it is switched on. */
export function translateOverlong(translation: Translation): void {
  for (const [buffer, beside] of PLACES) {
    const enable = translation.node(`${buffer}.enable`);
    if (enable === undefined || !translation.isTrue(`${buffer}.enable`)) continue;
    const length = translation.number(`${buffer}.len`);
    if (length === null) {
      translation.refuse(enable, `${buffer}.enable`, `needs ${buffer}.len, a number of tokens`);
      continue;
    }
    const rewards = translation.node("rewards");
    // Without a list, a reward is missing, which is reported elsewhere.
    if (rewards === undefined) continue;
    const longest = (beside === null ? null : translation.number(beside)) ??
      translation.number("training.max_completion_length");
    const reward = fromJson({
      name: "soft_overlong",
      weight: translation.number(`${buffer}.penalty_factor`)?.value ?? 1,
      ...longest === null ? {} : { max_completion_len: longest.value },
      soft_punish_cache: length.value,
    }, enable.at);
    const items = rewards.kind === "list" ? rewards.items : [rewards];
    const list = { kind: "list" as const, items: [...items, reward], at: rewards.at };
    translation.tree = withEntry(translation.tree, "rewards", list);
  }
}

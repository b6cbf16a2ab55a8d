/** Spellings whose values mean something else than the key's: verl's words, and ratios. */
import type { ConfigNode } from "../documents/node.ts";

/** Both begin with the warm-up. */
const VERL_SCHEDULES = { constant: "constant_with_warmup", cosine: "cosine" };

type Rule = (node: ConfigNode) => ConfigNode | string;

/**
 * Spelling → what makes the key's value of the written one, or says what is wrong with it. Values of
 * another kind are left to the key's own check.
 */
export const VALUE_RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["warmup_ratio", ratio],
  ["training.warmup_ratio", ratio],
  ["actor_rollout_ref.actor.optim.lr_warmup_steps_ratio", ratio],
  ["actor_rollout_ref.actor.optim.warmup_style", words(VERL_SCHEDULES)],
  ["actor_rollout_ref.actor.optim.lr_scheduler_type", words(VERL_SCHEDULES)],
  ["actor_rollout_ref.rollout.top_k", verlTopK],
  [
    "actor_rollout_ref.actor.loss_agg_mode",
    words({
      "token-mean": "dapo",
      "seq-mean-token-mean": "grpo",
      "seq-mean-token-sum-norm": "dr_grpo",
    }),
  ],
  ["trainer.resume_mode", words({ auto: true, disable: false })],
]);

function ratio(node: ConfigNode): ConfigNode | string {
  if (node.kind !== "scalar" || typeof node.value !== "number" || node.value < 1) return node;
  return `expected a ratio < 1, found ${node.value}`;
}

function verlTopK(node: ConfigNode): ConfigNode {
  return node.kind === "scalar" && node.value === -1 ? { ...node, value: 0 } : node;
}

function words(values: Readonly<Record<string, string | boolean>>): Rule {
  return (node) => {
    if (node.kind !== "scalar" || typeof node.value !== "string") return node;
    if (!Object.hasOwn(values, node.value)) {
      return `expected ${Object.keys(values).join(" or ")}, found ${JSON.stringify(node.value)}`;
    }
    return { kind: "scalar", value: values[node.value]!, at: node.at };
  };
}

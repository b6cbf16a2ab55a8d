/** What the metrics of a run mean, in which unit they are, and which belong together. */

/** "share": from 0 to 1, shown in percent; "": a plain number. */
export type Unit = "" | "share" | "s" | "bytes" | "tokens" | "tokens/s" | "nats" | "calls";

export interface Metric {
  /** The group that it is shown in. */
  group: string;
  unit: Unit;
  /** "" where the name says it. */
  meaning: string;
  /** Its place in the table. */
  rank: number;
}

/** The groups in the order in which they are shown. `*` stands for any text without a slash. */
const TABLE: Readonly<Record<string, readonly (readonly [string, Unit, string])[]>> = {
  "Reward": [
    ["reward", "", "weighted sum of all rewards, mean over the completions of a step"],
    ["reward_std", "", "spread of the reward among the completions of a prompt"],
    ["frac_reward_zero_std", "share", "prompts whose completions all got the same: no signal"],
    ["rewards/*/mean", "", "this reward before its weight, mean over the completions of a step"],
    ["rewards/*/std", "", "spread of this reward among the completions of a step"],
  ],
  "Held-out problems": [
    ["eval_accuracy", "share", "right answers to problems that are not trained on"],
    ["eval_greedy_accuracy", "share", "the same, where the likeliest token is always taken"],
    ["eval_*mean_score", "", "score of the answers, with credit for parts that are right"],
    ["eval_*format_rate", "share", "answers that have the requested form"],
    ["eval_*truncated_rate", "share", "answers that were cut off at the longest length"],
    ["eval_reward", "", "reward of the answers to held-out problems"],
  ],
  "Length": [
    ["completions/mean_length", "tokens", "length of the completions, mean of a step"],
    ["completions/max_length", "tokens", "length of the longest completion"],
    ["completions/clipped_ratio", "share", "completions that were cut off at the longest length"],
    ["num_turns/*", "", "answers of the model in a dialogue"],
    ["tools/call_frequency", "calls", "calls of tools in a dialogue"],
    ["tools/failure_frequency", "share", "calls of tools that failed"],
    ["stop/*", "share", "dialogues that ended for this reason"],
  ],
  "KL, clipping, entropy": [
    ["kl", "nats", "KL divergence: how far the model has moved from the one it began with"],
    ["entropy", "nats", "how open the choice of the next token is; near 0, it is always the same"],
    ["clip_ratio/region_mean", "share", "tokens whose change was too large, so clipping held it"],
    ["clip_ratio/low_mean", "share", "tokens that were held from becoming less likely"],
    ["clip_ratio/high_mean", "share", "tokens that were held from becoming more likely"],
    ["sampling/*/mean", "nats", "difference between sampling and training, mean over tokens"],
    ["teacher/*", "", "distance from the teacher"],
  ],
  "Loss": [
    ["loss", "", "what the optimizer makes small; in GRPO it says little about progress"],
    ["grad_norm", "", "size of the gradient before it is clipped"],
    ["learning_rate", "", "size of the optimizer's steps"],
    ["logps/*", "nats", "log-probability of the chosen or the rejected answers"],
    ["rewards/margins", "", "how much more the chosen answers gain than the rejected ones"],
    ["rewards/accuracies", "share", "pairs in which the chosen answer gains more"],
  ],
  "Speed": [
    ["throughput/tokens_per_second", "tokens/s", "tokens of a step by its time"],
    ["step_time", "s", "time of a step"],
  ],
  "Memory": [
    ["memory/peak_bytes", "bytes", "tensors, at most so far"],
    ["memory/host_bytes", "bytes", "the whole process"],
    ["memory/wasm_bytes", "bytes", "kernels of the CPU"],
    ["memory/webgpu_bytes", "bytes", "the graphics card"],
  ],
  "Supervised warm start": [
    ["sft/loss", "nats", "how unlikely the right answers are, mean over their tokens"],
    ["sft/entropy", "nats", "how open the choice of the next token is"],
    ["sft/grad_norm", "", "size of the gradient before it is clipped"],
    ["sft/learning_rate", "", "size of the optimizer's steps"],
  ],
  "Time by phase": [["time/*", "s", "time of a step in this phase"]],
};

const OTHERS = "All others";
const ROWS = Object.entries(TABLE).flatMap(([group, rows]) =>
  rows.map(([name, unit, meaning]) => ({
    fits: new RegExp(`^${name.replaceAll("*", "[^/]*")}$`),
    metric: { group, unit, meaning },
  }))
).map(({ fits, metric }, rank) => ({ fits, metric: { ...metric, rank } }));

/** Names of the groups, the last one for metrics that no row describes. */
export const METRIC_GROUPS: readonly string[] = [...Object.keys(TABLE), OTHERS];

export function metricOf(name: string): Metric {
  const row = ROWS.find(({ fits }) => fits.test(name));
  return row?.metric ?? { group: OTHERS, unit: unitOf(name), meaning: "", rank: ROWS.length };
}

function unitOf(name: string): Unit {
  if (/bytes$/.test(name)) return "bytes";
  if (/_length$|^(sft\/)?num_tokens$/.test(name)) return "tokens";
  if (/(^|\/)time\/|_seconds$|_runtime$|step_time$/.test(name)) return "s";
  return /accuracy|_rate$|clipped_ratio$/.test(name) ? "share" : "";
}

/** Which metrics are shown together, and in what order. */

export interface MetricGroup {
  title: string;
  metrics: string[];
  /** Whether it is open at first. */
  isOpen: boolean;
}

const GROUPS: readonly (readonly [title: string, fits: RegExp, isOpen: boolean])[] = [
  ["Reward", /^(reward|reward_std|frac_reward_zero_std)$/, true],
  ["Held-out problems", /^eval_(greedy_)?(accuracy|mean_score|format_rate|truncated_rate)$/, true],
  ["Parts of the reward", /^rewards\/.*\/mean$/, true],
  ["Length", /^completions\/(mean_length|max_length|clipped_ratio)$/, true],
  ["KL, clipping, entropy", /^(kl|entropy|clip_ratio\/(region|low|high)_mean)$/, true],
  ["Loss", /^(loss|grad_norm|learning_rate)$/, true],
  ["Speed", /^(throughput\/tokens_per_second|step_time)$/, true],
  ["Memory", /^memory\/(peak_bytes|host_bytes|wasm_bytes)$/, true],
  ["Supervised warm start", /^sft\/(loss|entropy|grad_norm|learning_rate)$/, false],
  ["Time by phase", /^time\//, false],
];

/** The metrics in their groups; the last group has all others. */
export function groupMetrics(names: readonly string[]): MetricGroup[] {
  const left = new Set(names), groups: MetricGroup[] = [];
  for (const [title, fits, isOpen] of GROUPS) {
    const metrics = names.filter((name) => fits.test(name));
    for (const name of metrics) left.delete(name);
    if (metrics.length > 0) groups.push({ title, metrics, isOpen });
  }
  if (left.size > 0) {
    groups.push({ title: "All others", metrics: [...left].sort(), isOpen: false });
  }
  return groups;
}

/**
 * Translates verl's batch sizes. verl counts the prompts of a generation (train) and of an
 * optimizer step (mini), and the completions of a micro-step (micro). rgx counts completions
 * everywhere.
 */
import type { ConfigNode } from "../../documents/node.ts";
import type { Translation } from "../translation.ts";

const ACTOR = "actor_rollout_ref.actor";

/** Completions of a micro-step where nothing says how many: rgx's default. */
const DEFAULT_MICRO = 8;

export function translateBatchSizes(translation: Translation): void {
  const group = translation.number("training.num_generations")?.value ?? 8;
  const micro = translation.number(`${ACTOR}.ppo_micro_batch_size_per_gpu`);
  const mini = translation.number(`${ACTOR}.ppo_mini_batch_size`);
  const train = translation.number("data.train_batch_size");
  if (mini !== null) {
    const step = mini.value * group;
    const most = micro?.value ?? byTokens(translation) ?? DEFAULT_MICRO;
    const size = divisorUpTo(step, most);
    translation.set("training.per_device_train_batch_size", size, micro?.node ?? mini.node);
    const written = translation.number("training.per_device_train_batch_size")?.value ?? size;
    const steps = step % written === 0 ? step / written : 1;
    translation.set("training.gradient_accumulation_steps", steps, mini.node);
  }
  if (train !== null && mini !== null) checkUpdates(translation, train, mini);
  if (train !== null && translation.number("training.steps_per_generation") === null) {
    translation.set("training.generation_batch_size", train.value * group, train.node);
  }
}

/** The largest divisor of `count` up to `limit`; 1 where `count` is no size of a step. */
function divisorUpTo(count: number, limit: number): number {
  if (!Number.isInteger(count) || count < 1 || count > 1e9) return 1;
  let largest = 1;
  for (let one = 1; one * one <= count; one++) {
    if (count % one !== 0) continue;
    for (const divisor of [one, count / one]) {
      if (divisor <= limit && divisor > largest) largest = divisor;
    }
  }
  return largest;
}

/** @param train the prompts of a generation, of which an update takes `mini` */
function checkUpdates(
  translation: Translation,
  train: { value: number; node: ConfigNode },
  mini: { value: number; node: ConfigNode },
): void {
  if (train.value % mini.value === 0) return;
  const below = mini.value * Math.floor(train.value / mini.value);
  const fitting = below === 0 ? `${mini.value}` : `${below} or ${below + mini.value}`;
  const text = `a generation of ${train.value} prompts has no whole number of updates of ` +
    `ppo_mini_batch_size ${mini.value}; works with ${fitting}`;
  translation.refuse(train.node, "data.train_batch_size", text);
}

/** With use_dynamic_bsz: how many of the longest completions have so many tokens. */
function byTokens(translation: Translation): number | null {
  const prompt = translation.number("training.max_prompt_length")?.value;
  const completion = translation.number("training.max_completion_length")?.value;
  if (!translation.isTrue(`${ACTOR}.use_dynamic_bsz`)) return null;
  if (prompt === undefined || completion === undefined) return null;
  const tokens = translation.number(`${ACTOR}.ppo_max_token_len_per_gpu`)?.value ?? 16384;
  return Math.floor(tokens / (prompt + completion));
}

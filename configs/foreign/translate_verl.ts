/**
 * Translates keys of verl that correspond to several keys of rgx, or depend on others: its batch
 * sizes, which count prompts, its switch for the KL term, and its frequencies.
 */
import type { Translation } from "./translation.ts";

const ACTOR = "actor_rollout_ref.actor";

/** Sets the keys of rgx that these keys of verl stand for. */
export function translateVerl(translation: Translation): void {
  translateKl(translation);
  translateBatchSizes(translation);
  translateFrequencies(translation);
}

function translateKl(translation: Translation): void {
  const coefficient = translation.number(`${ACTOR}.kl_loss_coef`);
  const use = translation.node(`${ACTOR}.use_kl_loss`);
  if (use !== undefined && translation.isTrue(`${ACTOR}.use_kl_loss`)) {
    translation.set("training", "beta", coefficient?.value ?? 0.001, coefficient?.node ?? use);
  } else if (coefficient !== null) {
    const text = "has no effect while use_kl_loss is not true";
    translation.problems.note(coefficient.node.at, `${ACTOR}.kl_loss_coef`, text);
  }
}

/**
 * verl counts the prompts of a generation (train) and of an optimizer step (mini), and the
 * completions of a micro-step (micro). rgx counts completions everywhere.
 */
function translateBatchSizes(translation: Translation): void {
  const group = translation.number("training.num_generations")?.value ?? 8;
  const micro = translation.number(`${ACTOR}.ppo_micro_batch_size_per_gpu`);
  const mini = translation.number(`${ACTOR}.ppo_mini_batch_size`);
  const train = translation.number("data.train_batch_size");
  if (mini !== null) {
    const step = mini.value * group;
    const fits = micro !== null && micro.value >= 1 && step % micro.value === 0;
    const size = fits ? micro.value : step;
    translation.set("training", "per_device_train_batch_size", size, fits ? micro.node : mini.node);
    const written = translation.number("training.per_device_train_batch_size")?.value ?? size;
    const steps = step % written === 0 ? step / written : 1;
    translation.set("training", "gradient_accumulation_steps", steps, mini.node);
  }
  if (train !== null && translation.number("training.steps_per_generation") === null) {
    translation.set("training", "generation_batch_size", train.value * group, train.node);
  }
}

function translateFrequencies(translation: Translation): void {
  const save = translation.number("trainer.save_freq");
  if (save !== null && save.value > 0) {
    translation.set("training", "save_steps", save.value, save.node);
  } else if (save !== null) translation.set("training", "save_strategy", "no", save.node);
  const start = translation.node("trainer.val_before_train");
  const test = translation.number("trainer.test_freq");
  const heldOutProblems = translation.number("eval.num_examples")?.value ?? 0;
  if (heldOutProblems === 0) {
    const asked = test !== null && test.value > 0 ? test.node : undefined;
    if (asked !== undefined) {
      const text = "has no effect without held-out problems: eval.num_examples";
      translation.problems.note(asked.at, "trainer.test_freq", text);
    }
    return;
  }
  if (test !== null && test.value > 0) {
    translation.set("training", "eval_steps", test.value, test.node);
    translation.set("training", "eval_strategy", "steps", test.node);
  }
  if (start !== undefined && translation.isTrue("trainer.val_before_train")) {
    translation.set("training", "eval_on_start", true, start);
  }
}

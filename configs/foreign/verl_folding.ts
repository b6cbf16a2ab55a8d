/**
 * Turns keys of verl that are no single key of rgx into rgx's keys: its batch sizes, which count
 * prompts, its switch for the KL term, and its frequencies.
 */
import type { Folding } from "./folding.ts";

const ACTOR = "actor_rollout_ref.actor";

/** Sets the keys of rgx that these keys of verl stand for. */
export function foldVerl(folding: Folding): void {
  foldKl(folding);
  foldBatches(folding);
  foldFrequencies(folding);
}

function foldKl(folding: Folding): void {
  const coefficient = folding.number(`${ACTOR}.kl_loss_coef`);
  const use = folding.node(`${ACTOR}.use_kl_loss`);
  if (use !== undefined && folding.isTrue(`${ACTOR}.use_kl_loss`)) {
    folding.set("training", "beta", coefficient?.value ?? 0.001, coefficient?.node ?? use);
  } else if (coefficient !== null) {
    const text = "has no effect while use_kl_loss is not true";
    folding.problems.note(coefficient.node.at, `${ACTOR}.kl_loss_coef`, text);
  }
}

/**
 * verl counts the prompts of a generation (train) and of an optimizer step (mini), and the
 * completions of a micro-step (micro). rgx counts completions everywhere.
 */
function foldBatches(folding: Folding): void {
  const group = folding.number("training.num_generations")?.value ?? 8;
  const micro = folding.number(`${ACTOR}.ppo_micro_batch_size_per_gpu`);
  const mini = folding.number(`${ACTOR}.ppo_mini_batch_size`);
  const train = folding.number("data.train_batch_size");
  if (mini !== null) {
    const step = mini.value * group;
    const fits = micro !== null && micro.value >= 1 && step % micro.value === 0;
    const size = fits ? micro.value : step;
    folding.set("training", "per_device_train_batch_size", size, fits ? micro.node : mini.node);
    const written = folding.number("training.per_device_train_batch_size")?.value ?? size;
    const steps = step % written === 0 ? step / written : 1;
    folding.set("training", "gradient_accumulation_steps", steps, mini.node);
  }
  if (train !== null && folding.number("training.steps_per_generation") === null) {
    folding.set("training", "generation_batch_size", train.value * group, train.node);
  }
}

function foldFrequencies(folding: Folding): void {
  const save = folding.number("trainer.save_freq");
  if (save !== null && save.value > 0) {
    folding.set("training", "save_steps", save.value, save.node);
  } else if (save !== null) folding.set("training", "save_strategy", "no", save.node);
  const start = folding.node("trainer.val_before_train");
  const test = folding.number("trainer.test_freq");
  const heldOutProblems = folding.number("eval.num_examples")?.value ?? 0;
  if (heldOutProblems === 0) {
    const asked = test !== null && test.value > 0 ? test.node : undefined;
    if (asked !== undefined) {
      const text = "has no effect without held-out problems: eval.num_examples";
      folding.problems.note(asked.at, "trainer.test_freq", text);
    }
    return;
  }
  if (test !== null && test.value > 0) {
    folding.set("training", "eval_steps", test.value, test.node);
    folding.set("training", "eval_strategy", "steps", test.node);
  }
  if (start !== undefined && folding.isTrue("trainer.val_before_train")) {
    folding.set("training", "eval_on_start", true, start);
  }
}

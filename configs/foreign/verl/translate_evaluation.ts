/** Translates verl's validation: how often, on how many problems, and how it samples. */
import type { Translation } from "../translation.ts";

const VAL = "actor_rollout_ref.rollout.val_kwargs";

export function translateEvaluation(translation: Translation): void {
  translateFrequency(translation);
  translateSampling(translation);
}

function translateFrequency(translation: Translation): void {
  const start = translation.node("trainer.val_before_train");
  const test = translation.number("trainer.test_freq");
  const keys = ["eval.num_examples", "data.test_examples", "data.validation_examples"];
  const heldOutProblems = Math.max(...keys.map((key) => translation.number(key)?.value ?? 0));
  if (heldOutProblems === 0) {
    const asked = test !== null && test.value > 0 ? test.node : undefined;
    if (asked !== undefined) {
      const text = "has no effect without held-out problems: eval.num_examples";
      translation.note(asked, "trainer.test_freq", text);
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

function translateSampling(translation: Translation): void {
  const sampled = translation.given(`${VAL}.do_sample`);
  const isGreedy = sampled !== undefined && !translation.isTrue(`${VAL}.do_sample`);
  const temperature = translation.number(`${VAL}.temperature`);
  if (isGreedy) translation.set("eval", "temperature", 0, sampled);
  else if (temperature !== null) {
    translation.set("eval", "temperature", temperature.value, temperature.node);
  }
  const count = translation.number(`${VAL}.n`);
  if (count !== null) {
    translation.set("training", "num_generations_eval", count.value, count.node);
  }
  if (isGreedy || temperature?.value === 0) return;
  checkSame(translation, "top_p", 1, 1);
  checkSame(translation, "top_k", 0, -1);
}

/** The evaluation samples with the training's top_p and top_k. `off` is verl's value for none. */
function checkSame(translation: Translation, name: string, none: number, off: number): void {
  const path = `${VAL}.${name}`, found = translation.number(path);
  if (found === null) return;
  const meant = (value: number) => value === off ? none : value;
  const value = meant(translation.number(`training.${name}`)?.value ?? none);
  if (meant(found.value) === value) return;
  const text = `must be that of training, which is ${value}, or val_kwargs.temperature 0`;
  translation.refuse(found.node, path, text);
}

/** Translates the keys of verl that correspond to several keys of rgx, or depend on others. */
import { nearness } from "../../documents/node.ts";
import type { Translation } from "../translation.ts";
import { translateAdapter } from "./translate_adapter.ts";
import { checkMetric, translateBatchSizes } from "./translate_batches.ts";
import { translateData } from "./translate_data.ts";
import { translateEvaluation } from "./translate_evaluation.ts";
import { translateLoss } from "./translate_loss.ts";
import { translateOptimizer } from "./translate_optimizer.ts";
import { translateOverlong } from "./translate_overlong.ts";
import { noteUnits, translateTrainer } from "./translate_trainer.ts";

/** Sets and checks what depends on the list of rewards, once it is complete. */
export function translateVerlRewards(translation: Translation): void {
  translateOverlong(translation);
  checkMetric(translation);
}

/** Sets the keys of rgx that these keys of verl stand for. */
export function translateVerl(translation: Translation): void {
  translateAdapter(translation);
  translateLengths(translation);
  translateLoss(translation);
  translateOptimizer(translation);
  translateBatchSizes(translation);
  translateTrainer(translation);
  translateData(translation);
  translateEvaluation(translation);
  noteUnits(translation);
}

const ROLLOUT = "actor_rollout_ref.rollout";

/** Keys that repeat another one: they set it where it is not written, and must not differ. */
const REPEATED: readonly [path: string, section: string, name: string][] = [
  [`${ROLLOUT}.response_length`, "training", "max_completion_length"],
  [`${ROLLOUT}.prompt_length`, "training", "max_prompt_length"],
  ["actor_rollout_ref.actor.rollout_n", "training", "num_generations"],
  ["actor_rollout_ref.ref.rollout_n", "training", "num_generations"],
];

function translateLengths(translation: Translation): void {
  for (const [path, section, name] of REPEATED) {
    const repeated = translation.number(path);
    if (repeated === null) continue;
    translation.prefer(section, name, repeated.value, repeated.node);
    const { value, node } = translation.number(`${section}.${name}`) ?? repeated;
    if (value === repeated.value || nearness(repeated.node, node) < 0) continue;
    translation.refuse(repeated.node, path, `must be ${section}.${name}, which is ${value}`);
  }
  const longest = translation.number(`${ROLLOUT}.max_model_len`);
  const prompt = translation.number("training.max_prompt_length");
  const completion = translation.number("training.max_completion_length");
  if (longest === null || prompt === null || completion === null) return;
  const together = prompt.value + completion.value;
  if (longest.value >= together) return;
  const text = `is less than prompt and completion together, which may have ${together} tokens: ` +
    "make one of them shorter";
  translation.refuse(longest.node, `${ROLLOUT}.max_model_len`, text);
}

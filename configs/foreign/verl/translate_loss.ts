/** Translates verl's loss: its form, the clipping of the ratio, and the KL term. */
import type { Translation } from "../translation.ts";

const ACTOR = "actor_rollout_ref.actor";

/** How verl takes the mean of the loss → rgx's loss type, which does the same. */
const LOSS_TYPES: Readonly<Record<string, string>> = {
  "token-mean": "dapo",
  "seq-mean-token-mean": "grpo",
  "seq-mean-token-sum-norm": "dr_grpo",
};

export function translateLoss(translation: Translation): void {
  translateMode(translation);
  translateClipping(translation);
  translateKl(translation);
}

function translateMode(translation: Translation): void {
  const node = translation.given(`${ACTOR}.policy_loss.loss_mode`);
  const mode = translation.text(`${ACTOR}.policy_loss.loss_mode`) ?? "vanilla";
  const written = translation.text(`${ACTOR}.loss_agg_mode`);
  const mean = translation.given(`${ACTOR}.loss_agg_mode`);
  if (node !== undefined && mode !== "vanilla") {
    if (mode === "gspo") {
      translation.set("training", "importance_sampling_level", "sequence", node);
      translation.set("training", "loss_type", "grpo", node);
    } else {
      translation.set("training", "loss_type", "sapo", node);
      copy(translation, `${ACTOR}.tau_pos`, "sapo_temperature_pos");
      copy(translation, `${ACTOR}.tau_neg`, "sapo_temperature_neg");
    }
    if (mean !== undefined && written !== "seq-mean-token-mean") {
      const text = `loss_mode ${mode} takes seq-mean-token-mean, in verl too`;
      translation.note(mean, `${ACTOR}.loss_agg_mode`, text);
    }
    return;
  }
  const type = LOSS_TYPES[written ?? ""];
  if (mean !== undefined && type !== undefined) {
    translation.set("training", "loss_type", type, mean);
  }
  const factor = translation.number(`${ACTOR}.loss_scale_factor`);
  const longest = translation.number("training.max_completion_length")?.value ?? 512;
  if (factor === null || factor.value === longest || type !== "dr_grpo") return;
  const text = `dr_grpo divides by the longest completion: write ${longest} or null`;
  translation.refuse(factor.node, `${ACTOR}.loss_scale_factor`, text);
}

function translateClipping(translation: Translation): void {
  const both = translation.number(`${ACTOR}.clip_ratio`);
  const low = translation.number(`${ACTOR}.clip_ratio_low`) ?? both;
  const high = translation.number(`${ACTOR}.clip_ratio_high`);
  if (low !== null) translation.set("training", "epsilon", low.value, low.node);
  if (high !== null) translation.set("training", "epsilon_high", high.value, high.node);
  else if (both !== null && low !== both) {
    translation.set("training", "epsilon_high", both.value, both.node);
  }
  const mode = translation.text(`${ACTOR}.policy_loss.loss_mode`) ?? "vanilla";
  if (mode === "vanilla") copy(translation, `${ACTOR}.clip_ratio_c`, "delta");
}

/** verl's KL term has no importance ratio; TRL's has one unless it is switched off. */
function translateKl(translation: Translation): void {
  const coefficient = translation.number(`${ACTOR}.kl_loss_coef`);
  const use = translation.given(`${ACTOR}.use_kl_loss`);
  if (use !== undefined && translation.isTrue(`${ACTOR}.use_kl_loss`)) {
    translation.set("training", "beta", coefficient?.value ?? 0.001, coefficient?.node ?? use);
    const type = translation.given(`${ACTOR}.kl_loss_type`);
    translation.set("training", "use_bias_correction_kl", false, type ?? use);
    return;
  }
  if (use !== undefined) translation.set("training", "beta", 0, use);
  else if (coefficient !== null && coefficient.value > 0) {
    const text = "has no effect while use_kl_loss is not true, in verl too";
    translation.note(coefficient.node, `${ACTOR}.kl_loss_coef`, text);
  }
}

function copy(translation: Translation, path: string, name: string): void {
  const found = translation.number(path);
  if (found !== null) translation.set("training", name, found.value, found.node);
}

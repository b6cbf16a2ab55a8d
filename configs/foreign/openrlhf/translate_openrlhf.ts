/** Translates the flags of OpenRLHF that correspond to several keys of rgx, or depend on others. */
import { type ConfigNode, toJson } from "../../documents/node.ts";
import type { Translation } from "../translation.ts";

const at = (name: string) => `openrlhf.${name}`;

export function translateOpenRlhf(translation: Translation): void {
  if (translation.node("openrlhf") === undefined) return;
  translateData(translation);
  translateBatches(translation);
  translateLoss(translation);
  translateOptimizer(translation);
  translateAdapter(translation);
  translateFiles(translation);
}

/** Columns in which rgx looks for the right answer. */
const ANSWERS = ["answer", "final_answer", "solution"];

function translateData(translation: Translation): void {
  const data = translation.given(at("prompt_data")), name = translation.text(at("prompt_data"));
  if (data !== undefined && name !== null) {
    if (name.includes(",") || name.includes("@")) {
      const text = `${name}: one set of prompts is trained on: join the files into one`;
      translation.problems.incomplete = true;
      translation.refuse(data, at("prompt_data"), text);
    } else translation.set("data.dataset_name", name, data);
  }
  const label = translation.text(at("label_key"));
  if (label !== null && !ANSWERS.includes(label)) {
    const text =
      `${label}: the column of the right answer is named answer, final_answer or solution: ` +
      "rename it";
    translation.refuse(translation.given(at("label_key"))!, at("label_key"), text);
  }
  const longest = translation.number(at("max_len"));
  const completion = translation.number("training.max_completion_length");
  if (longest === null || completion === null) return;
  const left = longest.value - completion.value;
  if (left >= 1) {
    translation.drop("training.max_prompt_length");
    return translation.set("training.max_prompt_length", left, longest.node);
  }
  const text = `leaves no room for a prompt beside ${completion.value} tokens of the completion`;
  translation.refuse(longest.node, at("max_len"), text);
}

/** OpenRLHF counts the prompts of a generation and the completions of a step. */
function translateBatches(translation: Translation): void {
  const group = translation.number("training.num_generations")?.value ?? 8;
  const rollout = translation.number(at("rollout_batch_size"));
  const step = translation.number(at("train_batch_size"));
  const micro = translation.number(at("micro_train_batch_size"));
  if (rollout === null || step === null || micro === null) return;
  const size = Math.min(micro.value, step.value);
  if (step.value % size !== 0) {
    const text = `must divide train_batch_size, which is ${step.value}`;
    return translation.refuse(micro.node, at("micro_train_batch_size"), text);
  }
  const generation = rollout.value * group;
  if (generation % step.value !== 0) {
    const text = `a generation of ${rollout.value} prompts has ${generation} completions, which ` +
      `are no whole number of steps of train_batch_size ${step.value}`;
    return translation.refuse(rollout.node, at("rollout_batch_size"), text);
  }
  translation.set("training.per_device_train_batch_size", size, micro.node);
  translation.set("training.gradient_accumulation_steps", step.value / size, step.node);
  translation.set("training.generation_batch_size", generation, rollout.node);
}

function translateLoss(translation: Translation): void {
  const clip = translation.given(at("eps_clip_low_high"));
  if (clip !== undefined) setBoth(translation, clip, "training.epsilon", "training.epsilon_high");
  translateKl(translation);
}

/** The KL term is a part of the loss, or it is none: OpenRLHF can also take it from the reward. */
function translateKl(translation: Translation): void {
  const use = translation.given(at("use_kl_loss"));
  const coefficient = translation.number(at("init_kl_coef"));
  const node = coefficient?.node ?? use;
  if (node === undefined) return;
  if (coefficient?.value === 0) return translation.set("training.beta", 0, node);
  if (!translation.isTrue(at("use_kl_loss"))) {
    const text = "KL is no part of the reward: write --use_kl_loss --kl_estimator k3, or " +
      "--init_kl_coef 0";
    return translation.refuse(node, at("init_kl_coef"), text);
  }
  const estimator = translation.text(at("kl_estimator"));
  if (estimator !== "k3") {
    const text = `${estimator ?? "k1"}: KL is estimated by k3 here: write --kl_estimator k3`;
    return translation.refuse(
      translation.given(at("kl_estimator")) ?? node,
      at("kl_estimator"),
      text,
    );
  }
  translation.set("training.beta", coefficient?.value ?? 0.01, node);
  translation.set("training.use_bias_correction_kl", false, node);
}

function translateOptimizer(translation: Translation): void {
  const betas = translation.given(at("adam_betas"));
  if (betas !== undefined) translation.setPair(betas, "training.adam_beta1", "training.adam_beta2");
  const least = translation.number(at("min_lr_ratio"));
  const type = translation.text("training.lr_scheduler_type");
  if (least !== null && type === "cosine_with_min_lr") {
    translation.set("training.lr_scheduler_kwargs", { min_lr_rate: least.value }, least.node);
  }
  const bf16 = translation.given(at("bf16"));
  if (translation.given(at("param_dtype")) === undefined && translation.isTrue(at("bf16"))) {
    translation.set("training.compute_dtype", "bfloat16", bf16!);
  }
}

/** The pair takes the place of the first key, which has a flag of its own. */
function setBoth(translation: Translation, list: ConfigNode, first: string, second: string): void {
  translation.drop(first);
  translation.setPair(list, first, second);
}

function translateAdapter(translation: Translation): void {
  const rank = translation.number(at("lora_rank"));
  if (rank === null || rank.value === 0) return;
  for (const name of ["lora_alpha", "lora_dropout", "target_modules"]) {
    const node = translation.given(at(name));
    if (node === undefined) continue;
    const value = toJson(node),
      only = Array.isArray(value) && value.length === 1 ? value[0]! : value;
    translation.set(`lora.${name}`, only === "all-linear" ? only : value, node);
  }
}

function translateFiles(translation: Translation): void {
  const names = ["wandb", "tensorboard"]
    .filter((name) => translation.given(at(`use_${name}`)) !== undefined);
  if (names.length === 0) return;
  translation.prefer("logging.report_to", names, translation.given(at(`use_${names[0]}`))!);
  const project = translation.given(at("wandb_project"));
  if (project !== undefined) translation.prefer("logging.project", toJson(project), project);
}

/** Adds the punishment of long completions to the rewards, once their list is complete. */
export function translateOpenRlhfRewards(translation: Translation): void {
  const buffer = translation.number(at("overlong_buffer_len"));
  if (buffer === null) return;
  const longest = translation.number("training.max_completion_length");
  translation.addReward({
    name: "soft_overlong",
    weight: translation.number(at("overlong_penalty_factor"))?.value ?? 1,
    ...longest === null ? {} : { max_completion_len: longest.value },
    soft_punish_cache: buffer.value,
  }, buffer.node);
}

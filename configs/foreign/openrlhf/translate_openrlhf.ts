/** Translates the flags of OpenRLHF that correspond to several keys of rgx, or depend on others. */
import { type ConfigNode, fromJson, toJson, withEntry } from "../../documents/node.ts";
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
    } else translation.set("data", "dataset_name", name, data);
  }
  const label = translation.text(at("label_key"));
  if (label !== null && !ANSWERS.includes(label)) {
    const text =
      `${label}: the column of the right answer is named answer, final_answer or solution: ` +
      "rename it";
    translation.refuse(translation.given(at("label_key"))!, at("label_key"), text);
  }
  const chat = translation.given(at("apply_chat_template"));
  if (chat !== undefined) {
    const format = translation.isTrue(at("apply_chat_template")) ? "chat" : "plain";
    translation.set("data", "prompt_format", format, chat);
  }
  const samples = translation.number(at("max_samples"));
  if (samples !== null && samples.value < 1e8) {
    translation.set("data", "max_examples", samples.value, samples.node);
  }
  const longest = translation.number(at("max_len"));
  const completion = translation.number("training.max_completion_length");
  if (longest === null || completion === null) return;
  const left = longest.value - completion.value;
  if (left >= 1) {
    translation.drop("training", "max_prompt_length");
    return translation.set("training", "max_prompt_length", left, longest.node);
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
  translation.set("training", "per_device_train_batch_size", size, micro.node);
  translation.set("training", "gradient_accumulation_steps", step.value / size, step.node);
  translation.set("training", "generation_batch_size", generation, rollout.node);
}

function translateLoss(translation: Translation): void {
  const estimator = translation.given(at("advantage_estimator"));
  if (estimator !== undefined) {
    const isGroup = translation.text(at("advantage_estimator")) === "group_norm";
    translation.set("training", "scale_rewards", isGroup ? "group" : "none", estimator);
  }
  const type = translation.given(at("policy_loss_type"));
  if (type !== undefined) {
    const isSequence = translation.text(at("policy_loss_type")) === "gspo";
    translation.set("training", "loss_type", isSequence ? "grpo" : "dapo", type);
    if (isSequence) translation.set("training", "importance_sampling_level", "sequence", type);
  }
  const clip = translation.given(at("eps_clip_low_high"));
  if (clip !== undefined) setBoth(translation, clip, "epsilon", "epsilon_high");
  translateKl(translation);
}

/** The KL term is a part of the loss, or it is none: OpenRLHF can also take it from the reward. */
function translateKl(translation: Translation): void {
  const use = translation.given(at("use_kl_loss"));
  const coefficient = translation.number(at("init_kl_coef"));
  const node = coefficient?.node ?? use;
  if (node === undefined) return;
  if (coefficient?.value === 0) return translation.set("training", "beta", 0, node);
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
  translation.set("training", "beta", coefficient?.value ?? 0.01, node);
  translation.set("training", "use_bias_correction_kl", false, node);
}

function translateOptimizer(translation: Translation): void {
  const betas = translation.given(at("adam_betas"));
  if (betas !== undefined) setBoth(translation, betas, "adam_beta1", "adam_beta2");
  const least = translation.number(at("min_lr_ratio"));
  const type = translation.text("training.lr_scheduler_type");
  if (least !== null && type === "cosine_with_min_lr") {
    translation.set("training", "lr_scheduler_kwargs", { min_lr_rate: least.value }, least.node);
  }
  const half = translation.given(at("param_dtype")), bf16 = translation.given(at("bf16"));
  if (half !== undefined) {
    const type = translation.text(at("param_dtype")) === "fp16" ? "float16" : "bfloat16";
    translation.set("training", "compute_dtype", type, half);
  } else if (bf16 !== undefined && translation.isTrue(at("bf16"))) {
    translation.set("training", "compute_dtype", "bfloat16", bf16);
  }
}

/** The two numbers of a list, as two keys of section `training`. */
function setBoth(translation: Translation, list: ConfigNode, first: string, second: string): void {
  const values = toJson(list);
  if (!Array.isArray(values) || values.length !== 2) {
    return translation.refuse(list, list.foreign ?? first, "expected two numbers");
  }
  translation.drop("training", first);
  translation.set("training", first, values[0]!, list);
  translation.set("training", second, values[1]!, list);
}

function translateAdapter(translation: Translation): void {
  const rank = translation.number(at("lora_rank"));
  if (rank === null || rank.value === 0) return;
  translation.set("lora", "r", rank.value, rank.node);
  for (const name of ["lora_alpha", "lora_dropout", "target_modules"]) {
    const node = translation.given(at(name));
    if (node === undefined) continue;
    const value = toJson(node),
      only = Array.isArray(value) && value.length === 1 ? value[0]! : value;
    translation.set("lora", name, only === "all-linear" ? only : value, node);
  }
}

function translateFiles(translation: Translation): void {
  const steps = translation.number(at("save_steps"));
  if (steps !== null && steps.value > 0) {
    translation.set("training", "save_steps", steps.value, steps.node);
  } else if (steps !== null) translation.set("training", "save_strategy", "no", steps.node);
  const names = ["wandb", "tensorboard"]
    .filter((name) => translation.given(at(`use_${name}`)) !== undefined);
  if (names.length === 0) return;
  translation.prefer("logging", "report_to", names, translation.given(at(`use_${names[0]}`))!);
  const project = translation.given(at("wandb_project"));
  if (project !== undefined) translation.prefer("logging", "project", toJson(project), project);
}

/** Adds the punishment of long completions to the rewards, once their list is complete. */
export function translateOpenRlhfRewards(translation: Translation): void {
  const buffer = translation.number(at("overlong_buffer_len")),
    rewards = translation.given("rewards");
  if (buffer === null || rewards === undefined) return;
  const longest = translation.number("training.max_completion_length");
  const reward = fromJson({
    name: "soft_overlong",
    weight: translation.number(at("overlong_penalty_factor"))?.value ?? 1,
    ...longest === null ? {} : { max_completion_len: longest.value },
    soft_punish_cache: buffer.value,
  }, buffer.node.at);
  const items = rewards.kind === "list" ? rewards.items : [rewards];
  const list = { kind: "list" as const, items: [...items, reward], at: rewards.at };
  translation.tree = withEntry(translation.tree, "rewards", list);
}

/**
 * Keys of verl (main of 2026-08). Left out: what its other losses and advantage estimators need.
 */
import type { ConfigNode, MapEntry } from "../documents/node.ts";
import { key } from "../types/key_spec.ts";
import { anything, bool, float, int, nullable } from "../types/value_types.ts";
import { allMean, type ForeignTable, insideOf, ratio, refused, words } from "./foreign_table.ts";

const ACTOR = "actor_rollout_ref.actor";
const ROLLOUT = "actor_rollout_ref.rollout";

/** The reason in the notes about keys of its `data` section. */
export const OF_VERL = "a key of verl";

/** Where the data files are and how they are read. */
const DATA = `
  train_files val_files prompt_key reward_fn_key image_key video_key train_max_samples
  val_max_samples val_batch_size return_raw_input_ids return_raw_chat return_full_prompt
  return_multi_modal_inputs filter_overlong_prompts filter_overlong_prompts_workers truncation
  custom_cls tokenizer use_shm shuffle gen_batch_size sampler dataloader_num_workers
`.trim().split(/\s+/);

/**
 * Sections of verl. Their keys that are in no list are ignored; one note per document names them
 * all.
 */
export const VERL_SECTIONS: readonly string[] = [
  "actor_rollout_ref",
  "trainer",
  "algorithm",
  "critic",
  "reward_model",
  "custom_reward_function",
  "reward_manager",
  "ray_init",
  "ray_kwargs",
  "global_profiler",
  "hydra",
];

/** Whether a document is written for verl. */
export function isOfVerl(entries: ReadonlyMap<string, MapEntry>): boolean {
  return entries.has("actor_rollout_ref");
}

/** verl's schedules, which all begin with a warm-up. */
const SCHEDULES = words({ constant: "constant_with_warmup", cosine: "cosine" });

/** verl switches top_k off with −1, rgx with 0. */
function topK(node: ConfigNode): ConfigNode {
  return node.kind === "scalar" && node.value === -1 ? { ...node, value: 0 } : node;
}

export const VERL: ForeignTable = {
  obeyed: {
    "actor_rollout_ref.model.path": "model.model_name_or_path",
    [`${ACTOR}.ppo_epochs`]: "training.num_iterations",
    "algorithm.filter_groups.enable": "training.dynamic_sampling",
    "algorithm.filter_groups.max_num_gen_batches": "training.dynamic_sampling_max_batches",
    [`${ACTOR}.loss_agg_mode`]: "training.loss_type",
    ...allMean("training.epsilon", `${ACTOR}.clip_ratio`, `${ACTOR}.clip_ratio_low`),
    [`${ACTOR}.clip_ratio_high`]: "training.epsilon_high",
    [`${ACTOR}.entropy_coeff`]: "training.entropy_coef",
    [`${ACTOR}.optim.lr`]: "training.learning_rate",
    ...allMean(
      "training.lr_scheduler_type",
      `${ACTOR}.optim.warmup_style`,
      `${ACTOR}.optim.lr_scheduler_type`,
    ),
    [`${ACTOR}.optim.lr_warmup_steps_ratio`]: "training.warmup_steps",
    [`${ACTOR}.grad_clip`]: "training.max_grad_norm",
    [`${ROLLOUT}.n`]: "training.num_generations",
    [`${ROLLOUT}.temperature`]: "training.temperature",
    [`${ROLLOUT}.top_p`]: "training.top_p",
    [`${ROLLOUT}.top_k`]: "training.top_k",
    "data.max_response_length": "training.max_completion_length",
    "data.max_prompt_length": "training.max_prompt_length",
    "trainer.default_local_dir": "training.output_dir",
    "trainer.total_epochs": "training.num_train_epochs",
    "trainer.total_training_steps": "training.max_steps",
    "trainer.resume_mode": "training.resume_from_checkpoint",
    "trainer.experiment_name": "logging.run_name",
    "trainer.project_name": "logging.project",
  },
  values: {
    [`${ACTOR}.optim.lr_warmup_steps_ratio`]: ratio,
    [`${ACTOR}.optim.warmup_style`]: SCHEDULES,
    [`${ACTOR}.optim.lr_scheduler_type`]: SCHEDULES,
    [`${ROLLOUT}.top_k`]: topK,
    [`${ACTOR}.loss_agg_mode`]: words({
      "token-mean": "dapo",
      "seq-mean-token-mean": "grpo",
      "seq-mean-token-sum-norm": "dr_grpo",
    }),
    "trainer.resume_mode": words({ auto: true, disable: false }),
  },
  translated: {
    [`${ACTOR}.use_kl_loss`]: key(bool(), false, "verl: kl_loss_coef is beta"),
    [`${ACTOR}.kl_loss_coef`]: key(
      nullable(float({ min: 0 })),
      null,
      "verl: beta, where use_kl_loss is true (0.001 unless written)",
    ),
    "data.train_batch_size": key(
      nullable(int({ min: 1 })),
      null,
      "verl: prompts of a generation; × num_generations is generation_batch_size",
    ),
    [`${ACTOR}.ppo_mini_batch_size`]: key(
      nullable(int({ min: 1 })),
      null,
      "verl: prompts of an optimizer step; × num_generations is the completions of a step",
    ),
    [`${ACTOR}.ppo_micro_batch_size_per_gpu`]: key(
      nullable(int({ min: 1 })),
      null,
      "verl: per_device_train_batch_size, where it divides the completions of a step",
      [`${ACTOR}.ppo_micro_batch_size`],
    ),
    "trainer.save_freq": key(nullable(int({ min: -1 })), null, "verl: save_steps; −1 or 0: never"),
    "trainer.test_freq": key(
      nullable(int({ min: -1 })),
      null,
      "verl: eval_steps, with eval_strategy steps; −1 or 0: never",
    ),
    "trainer.val_before_train": key(bool(), false, "verl: eval_on_start"),
    "trainer.logger": key(
      anything("a name or a list of names"),
      null,
      "verl: report_to, where that is not written",
    ),
  },
  withoutEffect: {
    ...insideOf(["data"], Object.fromEntries(DATA.map((name) => [name, OF_VERL]))),
    // A key of verl's algorithm; the recipes of reasoning-gym have it at the top of the file.
    verbose: OF_VERL,
  },
  refused: {
    "algorithm.adv_estimator": refused("advantages are those of GRPO", "grpo"),
    "algorithm.use_kl_in_reward": refused("the KL term is part of the loss: beta", false),
  },
};

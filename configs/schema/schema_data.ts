/** Keys of the problems, the warm start, the evaluation around training, and the names of a run. */
import { key, REQUIRED, type Section } from "./key_spec.ts";
import type { CurriculumSection, RunConfig } from "./run_config.ts";
import { SCHEDULE_KWARGS, SCHEDULES, WARMUP } from "./schedule_types.ts";
import { CURRICULA, TASKS } from "./task_types.ts";
import { trackers } from "./trackers.ts";
import {
  anything,
  bool,
  float,
  freeMap,
  int,
  listOf,
  name,
  nullable,
  text,
} from "./value_types.ts";

export const DATA: Section<RunConfig["data"]> = {
  path: "data",
  flat: true,
  keys: {
    task_name: key(nullable(name()), null, "a reasoning task", ["data.name", "data.task", "task"]),
    task_config: key(freeMap(), () => ({}), "parameters of the task", [
      "data.config",
      "data.params",
    ]),
    tasks: key(
      nullable(TASKS),
      null,
      "several tasks drawn by weight, in place of one; task_name is then null or composite",
      ["data.datasets", "reasoning_gym.datasets", "datasets"],
    ),
    dataset_name: key(
      nullable(name()),
      null,
      "JSONL or parquet file, folder, or data set of the Hub (after rgx pull --dataset) with " +
        "question/answer or prompt columns",
      ["data.dataset", "dataset", "data"],
    ),
    num_examples: key(
      nullable(int({ min: 1 })),
      2048,
      "training entries; of a file all (null), unless it is written",
      [
        "data.size",
        "dataset_size",
        "data.dataset_size",
        "reasoning_gym.dataset_size",
      ],
    ),
    max_examples: key(
      nullable(int({ min: 1 })),
      null,
      "only the first so many rows of a file; null: all",
    ),
    seed: key(int({ min: 0 }), 42, "seed of the task's generator"),
    add_instructions: key(bool(), true, "put the answer-format instruction before the question"),
    system_prompt: key(
      nullable(name()),
      null,
      "text of the system message, or DeepSeekZero, default, simple, direct, chain_of_draft or gsm8k",
      [
        "data.system_prompt_id",
        "system_prompt_id",
        "data.developer_prompt",
        "developer_prompt",
        "reasoning_gym.developer_prompt",
      ],
    ),
  },
};

export const CURRICULUM: Section<
  Omit<CurriculumSection, "enabled" | "schedule"> & { enabled: boolean }
> = {
  path: "curriculum",
  flat: false,
  keys: {
    enabled: key(bool(), false, "whether levels of difficulty move with the results"),
    last_k: key(int({ min: 1 }), 20, "scores of a task that are looked at, the newest"),
    success_threshold: key(float({ min: 0, max: 1 }), 0.7, "up when their mean is above"),
    failure_threshold: key(float({ min: 0, max: 1 }), 0.1, "down when their mean is below"),
    curricula: key(
      CURRICULA,
      () => ({}),
      "starting levels, `*` of all attributes; empty: all tasks of the run that have levels, from 0",
    ),
  },
};

export const CURRICULUM_SCHEDULE: Section<CurriculumSection["schedule"]> = {
  path: "curriculum.schedule",
  flat: false,
  keys: {
    automatic: key(bool(), false, "up every update_steps steps, whatever the scores"),
    update_steps: key(int({ min: 1 }), 30, "steps between two levels, with automatic"),
  },
};

export const SFT: Section<NonNullable<RunConfig["sft"]>> = {
  path: "sft",
  flat: false,
  keys: {
    max_steps: key(int({ min: 0 }), REQUIRED, "supervised steps before GRPO; 0 = none", [
      "sft.steps",
    ]),
    per_device_train_batch_size: key(int({ min: 1 }), 64, "examples a step", ["sft.batch_size"]),
    learning_rate: key(float({ min: 0 }), 2e-5, "highest learning rate", ["sft.lr"]),
    lr_scheduler_type: key(SCHEDULES, "linear", "schedule of the learning rate"),
    lr_scheduler_kwargs: key(SCHEDULE_KWARGS, () => ({}), "parameters of the schedule"),
    warmup_steps: key(WARMUP, 0, "steps of linear warm-up; < 1 = ratio of all steps"),
    weight_decay: key(float({ min: 0 }), 0, "AdamW's weight decay"),
    max_grad_norm: key(float({ min: 0 }), 1, "clip the gradient to this norm; 0 = never"),
  },
};

export const EVAL: Section<RunConfig["eval"]> = {
  path: "eval",
  flat: false,
  keys: {
    num_examples: key(int({ min: 0 }), 0, "held-out problems, before and after training"),
    temperature: key(nullable(float({ min: 0 })), null, "null = the training temperature"),
    batch_size: key(int({ min: 1 }), 64, "problems at once, before and after training"),
  },
};

export const LOGGING: Section<RunConfig["logging"]> = {
  path: "logging",
  flat: true,
  keys: {
    run_name: key(name(), REQUIRED, "name of the run; default: name of the configuration file", [
      "training.run_name",
      "trainer.experiment_name",
    ]),
    project: key(text(), "huggingface", "name of the project", [
      "logging.wandb_project",
      "wandb_project",
      "logging.project_name",
      "project_name",
      "training.project",
      "trainer.project_name",
    ]),
    report_to: key(
      trackers(),
      () => [],
      "trackers that get the metrics too: none, tensorboard, trackio, wandb (offline), all; a name or a list",
      ["training.report_to"],
    ),
  },
};

/** Keys that shape other keys and do not reach the trainer themselves. */
export const SHAPING: Section<{
  rewards: unknown;
  "model.max_seq_length": number | null;
  "training.reward_weights": number[] | null;
  "training.generation_kwargs": Record<string, unknown>;
  "actor_rollout_ref.actor.use_kl_loss": boolean;
  "actor_rollout_ref.actor.kl_loss_coef": number | null;
  "data.train_batch_size": number | null;
  "actor_rollout_ref.actor.ppo_mini_batch_size": number | null;
  "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": number | null;
  "trainer.save_freq": number | null;
  "trainer.test_freq": number | null;
  "trainer.val_before_train": boolean;
  "trainer.logger": unknown;
  "logging.use_wandb": boolean | null;
  "logging.use_trackio": boolean | null;
  "logging.no_trackio": boolean;
  "reward.use_accuracy": boolean;
  "reward.secondary_rewards": unknown;
  env: Record<string, unknown>;
}> = {
  path: "",
  flat: false,
  keys: {
    rewards: key(
      anything("a list of rewards"),
      REQUIRED,
      "list of {name, weight, …parameters}, or names",
      ["reward_funcs", "training.reward_funcs", "training.rewards"],
    ),
    "model.max_seq_length": key(
      nullable(int({ min: 2 })),
      null,
      "limit of prompt and completion together, where max_prompt_length is unset",
      ["max_seq_length", "training.max_seq_length"],
    ),
    "training.reward_weights": key(
      nullable(listOf(float(), "a list of numbers")),
      null,
      "weights of the rewards, in order",
      ["reward_weights"],
    ),
    "training.generation_kwargs": key(
      freeMap(),
      () => ({}),
      "overrides the keys of sampling by name; also stop, seed, min_new_tokens",
      ["generation_kwargs"],
    ),
    "actor_rollout_ref.actor.use_kl_loss": key(bool(), false, "verl: kl_loss_coef is beta"),
    "actor_rollout_ref.actor.kl_loss_coef": key(
      nullable(float({ min: 0 })),
      null,
      "verl: beta, where use_kl_loss is true (0.001 unless written)",
    ),
    "data.train_batch_size": key(
      nullable(int({ min: 1 })),
      null,
      "verl: prompts of a generation; × num_generations is generation_batch_size",
    ),
    "actor_rollout_ref.actor.ppo_mini_batch_size": key(
      nullable(int({ min: 1 })),
      null,
      "verl: prompts of an optimizer step; × num_generations is the completions of a step",
    ),
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": key(
      nullable(int({ min: 1 })),
      null,
      "verl: per_device_train_batch_size, where it divides the completions of a step",
      ["actor_rollout_ref.actor.ppo_micro_batch_size"],
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
    "logging.use_wandb": key(nullable(bool()), null, "report_to with or without wandb", [
      "use_wandb",
      "training.use_wandb",
    ]),
    "logging.use_trackio": key(nullable(bool()), null, "report_to with or without trackio", [
      "use_trackio",
      "training.use_trackio",
    ]),
    "logging.no_trackio": key(bool(), false, "true: report_to without trackio", [
      "no_trackio",
      "training.no_trackio",
    ]),
    "reward.use_accuracy": key(bool(), false, "reasoning-gym: the reward correctness"),
    "reward.secondary_rewards": key(
      anything("a list of rewards"),
      () => [],
      "reasoning-gym: list of {name, scaling_factor, kwargs}",
    ),
    env: key(freeMap(), () => ({}), "environment variables, set before anything is read"),
  },
};

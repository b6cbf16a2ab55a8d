/**
 * Every key that has an effect: its type, range, default, other spellings and meaning. Names and defaults
 * are TRL 1.16's GRPOConfig, transformers 5.23's TrainingArguments and PEFT 0.21's LoraConfig; the tables
 * have the shape of {@link RunConfig}, so the compiler finds a key without an entry. Keys of those
 * trainers that rgx does not obey are in `foreign_keys.ts`.
 */
import type { LoraSection, ModelInit, RunConfig } from "./run_config.ts";
import {
  bool,
  choice,
  either,
  float,
  freeMap,
  int,
  listOf,
  name,
  nullable,
  refine,
  text,
  type ValueType,
} from "./value_types.ts";

/** The value must be written: there is no default. */
export const REQUIRED: unique symbol = Symbol("required");

export type Default<T> =
  | T
  | typeof REQUIRED
  | ((section: Readonly<Record<string, unknown>>) => T);

export interface KeySpec<T = unknown> {
  readonly type: ValueType<T>;
  /** A value, or one made from the keys of the section read before, or {@link REQUIRED}. */
  readonly default: Default<T>;
  readonly doc: string;
  /** Other full spellings. */
  readonly aliases: readonly string[];
}

/** The keys of one section. `flat`: a key's last part alone also names it. */
export interface Section<T> {
  readonly path: string;
  readonly flat: boolean;
  readonly keys: { readonly [K in keyof T]-?: KeySpec<T[K]> };
}

/** A section whose keys are known by name only. */
export interface AnySection {
  readonly path: string;
  readonly flat: boolean;
  readonly keys: Readonly<Record<string, KeySpec>>;
}

function key<T>(
  type: ValueType<T>,
  defaultValue: Default<NoInfer<T>>,
  doc: string,
  aliases: readonly string[] = [],
): KeySpec<T> {
  return { type, default: defaultValue, doc, aliases };
}

/** `name` in the nested styles of the field: alone, in `generation`, in `training.generation_config`. */
function sampling(...names: string[]): string[] {
  return names.flatMap((name) => [
    `generation.${name}`,
    `training.generation_config.${name}`,
    `generation_config.${name}`,
  ]);
}

/** Linear modules of a decoder layer that an adapter can sit on. */
export const LORA_MODULES = [
  "q_proj",
  "k_proj",
  "v_proj",
  "o_proj",
  "gate_proj",
  "up_proj",
  "down_proj",
] as const;

const SCHEDULERS = choice(["linear", "cosine", "constant", "constant_with_warmup"], {
  notYet: [
    "cosine_with_restarts",
    "cosine_with_min_lr",
    "cosine_warmup_with_min_lr",
    "polynomial",
    "inverse_sqrt",
    "warmup_stable_decay",
    "reduce_lr_on_plateau",
  ],
});

const WARMUP = refine(
  float({ min: 0 }),
  (steps) => steps < 1 || Number.isInteger(steps) ? null : "expected a ratio < 1 or whole steps",
);

const MAX_STEPS = refine(
  int({ min: -1 }),
  (steps) => steps === 0 ? "expected an integer ≥ 1, or -1: num_train_epochs decides" : null,
);

export const MODEL: Section<Omit<RunConfig["model"], "init">> = {
  path: "model",
  flat: true,
  keys: {
    model_name_or_path: key(
      nullable(name()),
      null,
      "folder of a Hugging Face model",
      [
        "model.name",
        "model.model_name",
        "model_name",
        "model",
        "model_path",
        "model.model_path",
        "model.path",
        "actor_rollout_ref.model.path",
      ],
    ),
    tokenizer_name_or_path: key(
      nullable(name()),
      null,
      "folder of the tokenizer; null = the model's",
    ),
  },
};

export const INIT: Section<Omit<ModelInit, "tokenizer">> = {
  path: "model.init",
  flat: false,
  keys: {
    architecture: key(choice(["llama"]), "llama", "Llama: GQA, RoPE, RMSNorm, SwiGLU"),
    hidden_size: key(int({ min: 2 }), REQUIRED, "width of the residual stream"),
    intermediate_size: key(int({ min: 1 }), REQUIRED, "width of the MLP"),
    num_hidden_layers: key(int({ min: 1 }), REQUIRED, "decoder layers"),
    num_attention_heads: key(int({ min: 1 }), REQUIRED, "query heads"),
    num_key_value_heads: key(
      int({ min: 1 }),
      (init) => (init.num_attention_heads as number | undefined) ?? 1,
      "key and value heads; default: as many as query heads",
    ),
    max_position_embeddings: key(int({ min: 2 }), 512, "longest sequence, prompt and completion"),
    rope_theta: key(float({ above: 0 }), 10000, "base of the rotary angles"),
    rms_norm_eps: key(float({ above: 0 }), 1e-5, "added to the mean square before the root"),
    tie_word_embeddings: key(bool(), true, "the head is the embedding"),
    initializer_range: key(float({ above: 0 }), 0.02, "standard deviation of the first weights"),
  },
};

/** Printable ASCII and the line break. */
const ASCII = "\n" + String.fromCharCode(...Array.from({ length: 95 }, (_, i) => 32 + i));

export const TOKENIZER: Section<ModelInit["tokenizer"]> = {
  path: "model.init.tokenizer",
  flat: false,
  keys: {
    type: key(choice(["characters"]), "characters", "one token a character"),
    alphabet: key(text(), ASCII, "all characters that are tokens"),
    special_tokens: key(
      listOf(text(), "a list of text"),
      ["<pad>", "<unk>", "<eos>", "<answer>", "</answer>"],
      "tokens of several characters; <eos> and <unk> must be there",
    ),
  },
};

export const LORA: Section<LoraSection & { enabled: boolean }> = {
  path: "lora",
  flat: true,
  keys: {
    enabled: key(bool(), true, "false: full fine-tuning although there is a lora section", [
      "use_peft",
      "lora.use_peft",
      "model.use_peft",
    ]),
    r: key(int({ min: 1 }), 16, "rank", ["lora_r", "lora.lora_r", "lora.rank", "lora_rank"]),
    lora_alpha: key(float({ above: 0 }), 32, "scale = lora_alpha / r", ["lora.alpha"]),
    lora_dropout: key(
      float({ min: 0, below: 1 }),
      0,
      "share of what A reads that is dropped while training",
      ["lora.dropout"],
    ),
    target_modules: key<string[] | "all-linear">(
      either(
        choice(["all-linear"]),
        refine(
          listOf(choice(LORA_MODULES), `a list of ${LORA_MODULES.join(", ")}`),
          (modules) => modules.length > 0 ? null : "expected at least one module",
        ),
      ),
      ["q_proj", "v_proj"],
      "modules with an adapter",
      ["lora_target_modules", "lora.lora_target_modules"],
    ),
    use_rslora: key(bool(), false, "scale = lora_alpha / √r"),
  },
};

export const DATA: Section<RunConfig["data"]> = {
  path: "data",
  flat: true,
  keys: {
    task_name: key(nullable(name()), null, "a reasoning task", ["data.name", "data.task", "task"]),
    task_config: key(freeMap(), () => ({}), "parameters of the task", [
      "data.config",
      "data.params",
    ]),
    dataset_name: key(nullable(name()), null, "JSONL file with question/answer or prompt columns"),
    num_examples: key(int({ min: 1 }), 2048, "training entries", [
      "data.size",
      "dataset_size",
      "data.dataset_size",
      "reasoning_gym.dataset_size",
    ]),
    seed: key(int({ min: 0 }), 42, "seed of the task's generator"),
    add_instructions: key(bool(), true, "put the answer-format instruction before the question"),
    system_prompt: key(nullable(name()), null, "text of the system message"),
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
    lr_scheduler_type: key(SCHEDULERS, "linear", "schedule of the learning rate"),
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
    batch_size: key(int({ min: 1 }), 64, "problems at once", [
      "per_device_eval_batch_size",
      "training.per_device_eval_batch_size",
      "eval.per_device_eval_batch_size",
    ]),
  },
};

export const TRAINING: Section<RunConfig["training"]> = {
  path: "training",
  flat: true,
  keys: {
    output_dir: key(name(), REQUIRED, "folder of the run; default ./experiments/{run_name}", [
      "trainer.default_local_dir",
    ]),
    learning_rate: key(float({ min: 0 }), 1e-6, "highest learning rate", [
      "training.lr",
      "lr",
      "actor_rollout_ref.actor.optim.lr",
    ]),
    per_device_train_batch_size: key(int({ min: 1 }), 8, "completions a micro-step", [
      "training.batch_size",
      "batch_size",
    ]),
    gradient_accumulation_steps: key(int({ min: 1 }), 1, "micro-steps a step"),
    num_train_epochs: key(float({ above: 0 }), 3, "passes over the data", [
      "training.num_epochs",
      "num_epochs",
      "trainer.total_epochs",
    ]),
    max_steps: key(MAX_STEPS, -1, "optimizer steps; -1: num_train_epochs decides", [
      "trainer.total_training_steps",
    ]),
    lr_scheduler_type: key(SCHEDULERS, "linear", "schedule of the learning rate"),
    warmup_steps: key(WARMUP, 0, "steps of linear warm-up; < 1 = ratio of all steps", [
      "warmup_ratio",
      "training.warmup_ratio",
    ]),
    weight_decay: key(float({ min: 0 }), 0, "AdamW's weight decay"),
    adam_beta1: key(float({ min: 0, below: 1 }), 0.9, "decay of the first moment"),
    adam_beta2: key(float({ min: 0, below: 1 }), 0.999, "decay of the second moment"),
    adam_epsilon: key(float({ above: 0 }), 1e-8, "added to the root of the second moment"),
    max_grad_norm: key(float({ min: 0 }), 1, "clip the gradient to this norm; 0 = never", [
      "actor_rollout_ref.actor.grad_clip",
    ]),
    seed: key(int({ min: 0 }), 42, "seed of everything random except data.seed"),
    logging_steps: key(int({ min: 1 }), 10, "steps between two log lines", [
      "logging.logging_steps",
      "logging.log_steps",
      "training.log_every",
      "log_every",
    ]),
    save_steps: key(int({ min: 1 }), 500, "steps between two checkpoints", [
      "training.save_every",
      "save_every",
      "trainer.save_freq",
    ]),
    save_total_limit: key(nullable(int({ min: 1 })), null, "checkpoints kept; null = all"),
    shuffle_dataset: key(bool(), true, "a new order every epoch"),
    num_generations: key(int({ min: 2 }), 8, "completions of one prompt", [
      "num_return_sequences",
      ...sampling("num_return_sequences", "num_generations"),
      "actor_rollout_ref.rollout.n",
    ]),
    max_completion_length: key(int({ min: 1 }), 512, "tokens of a completion at most", [
      "max_new_tokens",
      ...sampling("max_new_tokens", "max_completion_length"),
      "data.max_response_length",
      "max_tokens",
    ]),
    max_prompt_length: key(nullable(int({ min: 1 })), null, "longer prompts are refused", [
      "data.max_prompt_length",
      "generation.max_prompt_length",
    ]),
    temperature: key(float({ above: 0 }), 1, "softmax temperature of sampling", [
      ...sampling("temperature"),
      "actor_rollout_ref.rollout.temperature",
    ]),
    top_p: key(float({ above: 0, max: 1 }), 1, "nucleus sampling; 1 = off", [
      ...sampling("top_p"),
      "actor_rollout_ref.rollout.top_p",
    ]),
    top_k: key(int({ min: 0 }), 0, "only the k likeliest tokens; 0 = off", [
      ...sampling("top_k"),
      "actor_rollout_ref.rollout.top_k",
    ]),
    min_p: key(
      nullable(float({ min: 0, max: 1 })),
      null,
      "only tokens of at least min_p × the likeliest",
      sampling("min_p"),
    ),
    beta: key(float({ min: 0 }), 0, "KL coefficient"),
    disable_dropout: key(bool(), false, "true: train without dropout, whatever lora says"),
    use_bias_correction_kl: key(bool(), true, "weight the KL term by the importance ratio"),
    epsilon: key(float({ min: 0 }), 0.2, "lower clip of the ratio (and upper, by default)", [
      "actor_rollout_ref.actor.clip_ratio",
      "actor_rollout_ref.actor.clip_ratio_low",
    ]),
    epsilon_high: key(nullable(float({ min: 0 })), null, "upper clip; null = epsilon", [
      "actor_rollout_ref.actor.clip_ratio_high",
    ]),
    loss_type: key(
      choice(["dapo"], { notYet: ["grpo", "dr_grpo", "bnpo", "cispo", "sapo", "luspo", "vespo"] }),
      "dapo",
      "normalisation of the loss",
    ),
    scale_rewards: key(
      choice(["group"], { notYet: ["batch", "none", "false"], same: [[true, "group"]] }),
      "group",
      "divide advantages by the standard deviation of the group",
    ),
    log_completions: key(bool(), true, "keep completions and print some"),
    num_completions_to_print: key(int({ min: 0 }), 4, "completions printed at a time"),
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
  },
};

/** Keys that shape other keys and do not reach the trainer themselves. */
export const SHAPING: Section<{
  rewards: unknown;
  "model.max_seq_length": number | null;
  "training.reward_weights": number[] | null;
  env: Record<string, unknown>;
}> = {
  path: "",
  flat: false,
  keys: {
    rewards: key(
      { expected: "a list of rewards", read: (node) => node },
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
    env: key(freeMap(), () => ({}), "environment variables, set before anything is read"),
  },
};

export const SECTIONS: readonly AnySection[] = [
  MODEL,
  INIT,
  TOKENIZER,
  LORA,
  DATA,
  SFT,
  EVAL,
  TRAINING,
  LOGGING,
  SHAPING,
];

/** Sections that may be null as a whole: what they describe does not take place. */
export const NULLABLE_SECTIONS: readonly string[] = ["lora", "sft", "model.init"];

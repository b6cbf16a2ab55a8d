/**
 * Keys of the training loop, with the defaults that TRL gives to transformers' TrainingArguments:
 * section `training`.
 */
import { DEFAULT_TIME_LIMIT } from "../../rewards/time_limit.ts";
import { keys } from "../types/key_spec.ts";
import { INTERVAL, SCHEDULE_KWARGS, SCHEDULES, WARMUP } from "./schedule_types.ts";
import { boolOr, choice, int, name, nullAs, refine } from "../types/value_types.ts";

const MAX_STEPS = refine(
  int({ min: -1 }),
  (steps) =>
    steps === 0 ? "expected an integer ≥ 1, or -1: num_train_epochs decides; found 0" : null,
);

const ZERO_STAGE = {
  ...refine(
    int({ min: 0 }),
    (stage) => stage > 1 ? "expected 0 or 1: stages 2 and 3 of ZeRO are not supported" : null,
  ),
  expected: "0 or 1",
};

const OPTIMIZERS = choice(["adamw_torch_fused", "adamw_8bit"], {
  same: [
    ["adamw_torch", "adamw_torch_fused"],
    ["adamw_hf", "adamw_torch_fused"],
    ["adamw_apex_fused", "adamw_torch_fused"],
    ["adamw_bnb_8bit", "adamw_8bit"],
    // Paging says where a card keeps the moments, which changes no result.
    ["paged_adamw", "adamw_torch_fused"],
    ["paged_adamw_32bit", "adamw_torch_fused"],
    ["paged_adamw_8bit", "adamw_8bit"],
  ],
  notYet: ["adafactor", "sgd"],
});

export const LOOP_KEYS = keys({
  interval: INTERVAL,
  schedule: SCHEDULES,
  kwargs: SCHEDULE_KWARGS,
  warmup: WARMUP,
  steps: MAX_STEPS,
  stage: ZERO_STAGE,
  optimizer: OPTIMIZERS,
  checkpoint: nullAs<string | boolean>(false, boolOr(name())),
}, {
  output_dir: `name = required -- folder of the run, \`~\` being the home folder; default
    ./experiments/{run_name}`,
  learning_rate: "number>=0 = 1e-6 -- highest learning rate [training.lr, lr]",
  per_device_train_batch_size: `int>=1 = 8 -- completions of a micro-step [training.batch_size,
    batch_size]`,
  per_device_eval_batch_size: "int>=1 = 8 -- completions at once in evaluation",
  gradient_accumulation_steps: "int>=1 = 1 -- micro-steps of an optimizer step",
  reduction: `one auto|exact|fast = auto -- how the gradients of a step's micro-steps are added:
    exact has the same bits on any number of ranks, and takes copies of the gradients; fast takes
    none; auto is exact where the copies take up to 256 MiB`,
  reduce_dtype: `one float32|bfloat16 same fp32=float32|bf16=bfloat16 = float32 -- the type of
    gradients on their way between ranks: bfloat16 halves the bytes; sums are float32. With
    reduction exact the gradient of each micro-step and each sum of two is rounded to it, on one
    rank too, so the bits depend on this key and not on the ranks`,
  zero: `stage = 0 -- 1 divides the optimizer's states over the ranks (ZeRO, stage 1): the same
    bits, less memory of each rank, and the new values are sent after each step`,
  n_gpus_per_node: `int>=1? = null -- ranks of each node, one a graphics card, or a share of the
    cores: rgx train starts them, as --ranks does; null: as many as --ranks says, or as a launcher
    has started`,
  nnodes: "int>=1? = null -- nodes of the ranks; more than 1 within a job of so many nodes",
  use_cpu: "bool = false -- true: computes on the CPU, as --device wasm does",
  num_train_epochs: `number>0 = 3 -- passes over the data; decides where max_steps is -1
    [training.num_epochs, num_epochs]`,
  max_steps: "steps = -1 -- optimizer steps; -1: num_train_epochs decides",
  lr_scheduler_type: "schedule = linear -- schedule of the learning rate",
  lr_scheduler_kwargs: `kwargs = {} -- parameters of the schedule: min_lr, min_lr_rate,
    num_cycles, power, lr_end, timescale, num_decay_steps, num_stable_steps, min_lr_ratio,
    warmup_type, decay_type`,
  warmup_steps: "warmup = 0 -- steps of linear warm-up; < 1 = ratio of all steps",
  optim: `optimizer = adamw_torch_fused -- adamw_8bit holds AdamW's moments in 8 bits, as
    bitsandbytes does: in blocks of 256, embeddings and tensors of less than 4,096 values as
    floats`,
  compute_dtype:
    `one float32|bfloat16|float16 same fp32=float32|bf16=bfloat16|fp16=float16 = float32 --
    the type of matrix products: bfloat16 and float16 round both sides of those of linear layers,
    adapters and the head, in training and generation; sums and all else stay float32; with
    float16 the loss is scaled`,
  bf16_rounding: `one stochastic|kahan? = null -- how weights that are trained in bfloat16
    (model.dtype without lora) are rounded after a step: stochastic (null) takes 2 bytes a weight,
    kahan 4 with its compensation`,
  weight_decay: "number>=0 = 0 -- AdamW's weight decay",
  adam_beta1: "number>=0<1 = 0.9 -- decay of the first moment",
  adam_beta2: "number>=0<1 = 0.999 -- decay of the second moment",
  adam_epsilon: "number>0 = 1e-8 -- added to the root of the second moment",
  max_grad_norm: "number>=0 = 1 -- clip the gradient of a step to this L2 norm; 0 = never",
  gradient_checkpointing: `bool = true -- may recompute activations in the backward instead of
    keeping them (same numbers, less memory): done when the run would take more than half of the
    memory otherwise`,
  seed: "int>=0 = 42 -- seed of everything random except data.seed",
  data_seed: "int>=0? = null -- seed of the order of prompts; null = seed",
  shuffle_dataset: "bool = true -- a new order every epoch",
  logging_strategy: "one no|steps|epoch same false=no = steps -- when a line of metrics is logged",
  logging_steps: `interval = 10 -- steps between two log lines; < 1 = share of all steps
    [logging.logging_steps, logging.log_steps, training.log_every, log_every]`,
  logging_first_step: "bool = false -- log the first step too",
  logging_nan_inf_filter: `bool = true -- leave a loss that is NaN or infinite out of the logged
    mean and of train_loss; false: it makes them so, and files hold null`,
  eval_strategy: `one no|steps|epoch same false=no = no -- when held-out problems are measured
    while training`,
  eval_steps: `interval? = null -- steps between two evaluations; < 1 = share of all steps; null =
    logging_steps`,
  eval_on_start: "bool = false -- evaluate before the first step",
  eval_delay: `number>=0 = 0 -- steps, or epochs with eval_strategy epoch, before the first
    evaluation`,
  save_strategy: `one no|steps|epoch|best same false=no = steps -- when a checkpoint is written;
    best = when the metric has improved`,
  save_steps: `interval = 500 -- steps between two checkpoints; < 1 = share of all steps
    [training.save_every, save_every]`,
  save_total_limit: "int>=1? = null -- checkpoints kept; null = all",
  save_only_model: "bool = false -- checkpoints can not be resumed from, and are smaller",
  load_best_model_at_end: "bool = false -- the best checkpoint is the result of the run",
  metric_for_best_model: `name? = null -- evaluation metric that says which checkpoint is best;
    null = accuracy (TRL: loss, which says nothing in GRPO)`,
  greater_is_better: `bool? = null -- whether more of it is better; null = unless its name ends in
    loss`,
  resume_from_checkpoint: `checkpoint = false -- a checkpoint folder; true: the newest of
    output_dir; false: start anew`,
  reward_timeout: `number>0 = ${DEFAULT_TIME_LIMIT} -- seconds that a reward has for one value`,
  log_completions: "bool = true -- keep completions in the run's folder, and print some",
  num_completions_to_print: `int>=0? = 4 -- completions printed at a time; null = all of the
    prompt (TRL's default)`,
});

export const HUB_KEYS = keys({}, {
  push_to_hub: `bool = false -- upload the model to the Hub while it trains and at the end
    (docs/upload.md)`,
  hub_model_id: `name? = null -- USER/NAME of the repository, or NAME; null = the name of
    output_dir [training.push_to_hub_model_id, push_to_hub_model_id]`,
  hub_token: `name? = null -- a token that may write, in place of HF_TOKEN; never written to a
    file [training.push_to_hub_token, push_to_hub_token]`,
  hub_private_repo: `bool? = null -- whether a repository that is made is private; null = the
    default of the account`,
  hub_strategy: `one end|every_save|checkpoint|all_checkpoints = every_save -- what push_to_hub
    uploads: the model at the end; at every save too; with the newest checkpoint in
    last-checkpoint/; with every checkpoint`,
  hub_revision: "name? = null -- branch of the repository; null = main",
});

export const HF_UPLOAD = {
  path: "hf_upload",
  about: "the upload after a run, as reasoning-gym's recipes have it; null: none",
  isOn: ({ enabled }: { enabled: boolean }) => enabled,
  isOptional: true as const,
  keys: keys({}, {
    enabled: "bool = false -- upload the model to the Hub when the run is complete",
    repo_id: "name? = null -- USER/NAME of the repository, or NAME",
    optimizer_save_mode: `one full? = full -- full: with all that a resume needs; null: only the
      model`,
    private: `bool? = false -- whether a repository that is made is private; null = the default of
      the account`,
    revision: "name? = null -- branch of the repository; null = main",
    license: "name? = null -- licence for the card, as in apache-2.0",
  }),
};

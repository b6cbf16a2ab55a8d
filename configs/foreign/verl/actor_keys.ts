/** Keys of verl's actor: its loss, its batches, its optimizer and its checkpoints. */
import { key } from "../../types/key_spec.ts";
import { anything, bool, choice, float, int, nullable } from "../../types/value_types.ts";
import { each, refused } from "../foreign_table.ts";
import { ENGINES, QAT } from "./engine_keys.ts";
import { inside, join, PLACE } from "./verl_keys.ts";

/** verl's schedules, which all begin with a warm-up. */
const SCHEDULE = key(
  nullable(choice(["constant", "cosine"])),
  null,
  "verl: lr_scheduler_type, after a warm-up; cosine ends at min_lr_ratio × the highest rate",
);
const NUMBER = nullable(float({ min: 0 }));
const COUNT = nullable(int({ min: 1 }));

const ADAMW = "AdamW is the optimizer: optim";
const MUON = "optim.optimizer muon, which is refused";

const OPTIMIZER = inside("optim", {
  obeyed: {
    lr: "training.learning_rate",
    weight_decay: "training.weight_decay",
    clip_grad: "training.max_grad_norm",
    eps: "training.adam_epsilon",
  },
  translated: {
    optimizer: key(
      nullable(choice(["AdamW", "AdamW8bit", "PagedAdamW8bit"], {
        same: [["adamw", "AdamW"], ["adam", "AdamW"]],
        notYet: ["SGD", "Adam", "muon", "Muon", "PagedAdamW"],
      })),
      null,
      "verl: optim; AdamW8bit is adamw_8bit",
    ),
    betas: key(anything("a list of two numbers"), null, "verl: [adam_beta1, adam_beta2]"),
    lr_scheduler_type: SCHEDULE,
    warmup_style: SCHEDULE,
    lr_decay_style: key(
      nullable(choice(["constant", "cosine", "linear"])),
      null,
      "verl, Megatron: lr_scheduler_type, after a warm-up",
    ),
    lr_warmup_steps: key(
      nullable(int({ min: -1 })),
      null,
      "verl: warmup_steps; −1 or 0: lr_warmup_steps_ratio decides",
    ),
    lr_warmup_steps_ratio: key(
      nullable(float({ min: 0, below: 1 })),
      null,
      "verl: warmup_steps, where lr_warmup_steps is not above 0",
    ),
    min_lr_ratio: key(NUMBER, null, "verl: lr_scheduler_kwargs.min_lr_rate, with cosine"),
  },
  withoutEffect: each(
    "override_optimizer_config.optimizer_offload_fraction " +
      "override_optimizer_config.offload_fraction " +
      "override_optimizer_config.overlap_cpu_optimizer_d2h_h2d " +
      "override_optimizer_config.optimizer_cpu_offload " +
      "override_optimizer_config.use_precision_aware_optimizer use_precision_aware_optimizer " +
      "main_grads_dtype exp_avg_dtype exp_avg_sq_dtype use_layer_wise_distributed_optimizer",
    PLACE,
  ),
  dormant: {
    total_training_steps: "verl itself, which overwrites it with the number of steps",
    ...each(
      "muon_momentum muon_nesterov muon_split_qkv muon_scale_mode muon_coefficient_type " +
        "muon_num_ns_steps muon_tp_mode muon_fp32_matmul_prec muon_extra_scale_factor " +
        "muon_scalar_optimizer muon_match_adamw_update_rms",
      MUON,
    ),
    lr_wsd_decay_style: "lr_decay_style WSD, which is refused",
  },
  refused: {
    name: refused(ADAMW, "AdamW"),
    optimizer_impl: refused(ADAMW, "torch.optim", "bitsandbytes.optim"),
    override_optimizer_config: refused("weight_decay, betas and eps have keys", {}),
    num_cycles: refused("lr_scheduler_kwargs: {num_cycles}", 0.5),
    zero_indexed_step: refused("the first step has index 0", true),
    lr_warmup_init: refused("a warm-up begins at 0", 0),
    lr_start: refused("a warm-up begins at 0", 0),
    lr_decay_steps: refused("a schedule ends with the last step"),
    lr_decay_ratio: refused("a schedule ends with the last step", 1),
    lr_wsd_decay_steps: refused("lr_scheduler_type: warmup_stable_decay has parameters of its own"),
    min_lr: refused("lr_scheduler_kwargs: {min_lr}", 0),
    lr_min: refused("lr_scheduler_kwargs: {min_lr}", 0),
    min_lr_factor: refused("lr_scheduler_kwargs: {min_lr_rate}", 0),
    decay_type: refused("lr_scheduler_type", "linear"),
    weight_decay_incr_style: refused("training.weight_decay is constant", "constant"),
    use_checkpoint_opt_param_scheduler: refused("resume from a checkpoint of rgx", false),
  },
});

const LOSS_MODES =
  "known: vanilla, gspo, sapo; of cispo write loss_type: cispo with epsilon_high " +
  "1 + clip_ratio_high, as it has no lower bound";
const ENTROPY = "the entropy of each step is logged";

const LOSS = join(
  {
    obeyed: {
      ppo_epochs: "training.num_iterations",
      use_rollout_log_probs: "training.use_rollout_log_probs",
      entropy_coeff: "training.entropy_coef",
      grad_clip: "training.max_grad_norm",
    },
    translated: {
      clip_ratio: key(NUMBER, null, "verl: epsilon, where clip_ratio_low is not written"),
      clip_ratio_low: key(NUMBER, null, "verl: epsilon"),
      clip_ratio_high: key(NUMBER, null, "verl: epsilon_high"),
      clip_ratio_c: key(
        nullable(float({ above: 1 })),
        null,
        "verl: delta (bounds the loss of a bad completion, as dual clipping does); " +
          "with loss_mode vanilla",
      ),
      loss_agg_mode: key(
        nullable(
          choice(["token-mean", "seq-mean-token-mean", "seq-mean-token-sum-norm"], {
            notYet: ["seq-mean-token-sum"],
          }),
        ),
        null,
        "verl: loss_type dapo, grpo or dr_grpo",
      ),
      loss_scale_factor: key(
        NUMBER,
        null,
        "verl: what dr_grpo divides by; it must be the longest completion, as null is",
      ),
      use_kl_loss: key(nullable(bool()), null, "verl: kl_loss_coef is beta"),
      kl_loss_coef: key(
        NUMBER,
        null,
        "verl: beta, where use_kl_loss is true (0.001 unless written)",
      ),
      kl_loss_type: key(
        nullable(choice(["low_var_kl", "k3"], {
          notYet: ["kl", "k1", "abs", "mse", "k2", "full", "k3+", "low_var_kl+", "k1+", "kl+"],
        })),
        null,
        "verl: the KL term as it is with use_bias_correction_kl: false",
      ),
      "policy_loss.loss_mode": key(
        nullable(choice(["vanilla", "gspo", "sapo"], {
          notYet: ["cispo", "gpg", "clip_cov", "kl_cov", "geo_mean", "dro", "dppo_tv", "dppo_kl"],
        })),
        null,
        "verl: gspo is importance_sampling_level sequence with loss_type grpo, sapo is loss_type " +
          "sapo; " + LOSS_MODES,
      ),
      tau_pos: key(NUMBER, null, "verl: sapo_temperature_pos", [
        "actor_rollout_ref.actor.policy_loss.tau_pos",
      ]),
      tau_neg: key(NUMBER, null, "verl: sapo_temperature_neg", [
        "actor_rollout_ref.actor.policy_loss.tau_neg",
      ]),
    },
    withoutEffect: each("calculate_entropy calculate_sum_pi_squared", ENTROPY),
    dormant: {
      ...each(
        "policy_loss.clip_cov_ratio policy_loss.clip_cov_lb policy_loss.clip_cov_ub",
        "loss_mode clip_cov, which is refused",
      ),
      ...each(
        "policy_loss.kl_cov_ratio policy_loss.ppo_kl_coef",
        "loss_mode kl_cov, which is refused",
      ),
      "policy_loss.dro_beta": "loss_mode dro, which is refused",
      data_loader_seed: "actor.shuffle, which is refused",
    },
    refused: {
      shuffle: refused("mini-batches are cut in the order of the prompts", false),
    },
  },
);

const BATCHES = {
  translated: {
    ppo_mini_batch_size: key(
      COUNT,
      null,
      "verl: prompts of an optimizer step; × num_generations is the completions of a step",
    ),
    ppo_micro_batch_size_per_gpu: key(
      COUNT,
      null,
      "verl: per_device_train_batch_size; the next lower number that divides a step's completions",
      ["actor_rollout_ref.actor.ppo_micro_batch_size"],
    ),
    use_dynamic_bsz: key(
      nullable(bool()),
      null,
      "verl: true, without a micro batch size: per_device_train_batch_size is what fits in " +
        "ppo_max_token_len_per_gpu; it changes no result",
    ),
    ppo_max_token_len_per_gpu: key(COUNT, null, "verl: tokens at once, with use_dynamic_bsz"),
    rollout_n: key(COUNT, null, "verl: must be rollout.n"),
  },
  withoutEffect: each(
    `
    strategy ulysses_sequence_parallel_size
    use_torch_compile use_prefix_grouper use_fused_kernels use_remove_padding
    entropy_from_logits_with_chunking entropy_from_logits_chunk_size entropy_checkpointing
    sum_pi_squared_checkpointing pad_to_length load_weight model_engine
  `,
    PLACE,
  ),
  dormant: { freeze_vision_tower: "images, which are refused" },
};

const CHECKPOINT = inside("checkpoint", {
  translated: {
    save_contents: key(
      anything("a list of model, optimizer, extra, hf_model"),
      null,
      "verl: save_only_model, where it has no optimizer",
      ["actor_rollout_ref.actor.checkpoint.contents"],
    ),
  },
  withoutEffect: each("async_save strict mbridge_config", PLACE),
  dormant: { load_contents: "a checkpoint of verl; rgx loads all that one of its own holds" },
});

const { "fsdp_config.dtype": _, ...WITHOUT_EFFECT } = ENGINES.withoutEffect;

/** The engines of the actor: FSDP's type of products is obeyed. */
const ACTOR_ENGINES = {
  ...ENGINES,
  obeyed: { ...ENGINES.obeyed, "fsdp_config.dtype": "training.compute_dtype" },
  withoutEffect: WITHOUT_EFFECT,
};

/** Of the weights and the optimizer that are trained. */
export const ACTOR = inside(
  "actor_rollout_ref.actor",
  join(OPTIMIZER, LOSS, BATCHES, CHECKPOINT, ACTOR_ENGINES, QAT),
);

/** The optimizer's and the checkpoints' keys, which the critic has too. */
export const OPTIMIZER_AND_CHECKPOINT = join(OPTIMIZER, CHECKPOINT);

/** Of the frozen reference. */
export const REFERENCE = inside(
  "actor_rollout_ref.ref",
  join(ENGINES, {
    translated: { rollout_n: key(COUNT, null, "verl: must be rollout.n") },
    withoutEffect: each(
      `
      strategy use_torch_compile log_prob_micro_batch_size log_prob_micro_batch_size_per_gpu
      log_prob_use_dynamic_bsz log_prob_max_token_len_per_gpu ulysses_sequence_parallel_size
      entropy_from_logits_with_chunking entropy_from_logits_chunk_size entropy_checkpointing
      pad_to_length load_weight param_offload
    `,
      PLACE,
    ),
    dormant: Object.fromEntries(
      Object.values(OPTIMIZER).flatMap((list) => Object.keys(list ?? {}))
        .map((name) => [name, "an optimizer; the reference is frozen"]),
    ),
    refused: { model: refused("the reference is the model before training", {}) },
  }),
);

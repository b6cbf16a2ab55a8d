/** Axolotl's keys of batches, the optimizer, saving, trackers and engines. */
import { key } from "../../types/key_spec.ts";
import { bool, float, int, nullable } from "../../types/value_types.ts";
import { each, refused, steersElsewhere } from "../foreign_table.ts";
import type { VerlKeys } from "../verl/verl_keys.ts";

const PLACE = "it says how Axolotl spreads and stores its work";
const TRACKERS = "report_to names the trackers; their files are uploaded by their own programs";
const ADAMW = "AdamW is the optimizer, with one learning rate";
const NOT_DIVIDED =
  "the model is not divided over cards; rgx train CONFIG --ranks N deals the work to several";
const TYPES = "bf16: true computes products in bfloat16; model.dtype is the type of weights";

export const TRAINING: VerlKeys = {
  obeyed: {
    micro_batch_size: "training.per_device_train_batch_size",
    eval_batch_size: "training.per_device_eval_batch_size",
    optimizer: "training.optim",
    lr_scheduler: "training.lr_scheduler_type",
    wandb_name: "logging.run_name",
  },
  translated: {
    "axolotl.cosine_min_lr_ratio": key(
      nullable(float({ min: 0, max: 1 })),
      null,
      "Axolotl: lr_scheduler_type: cosine_with_min_lr, with lr_scheduler_kwargs: {min_lr_rate}",
      ["cosine_min_lr_ratio"],
    ),
    "axolotl.saves_per_epoch": key(
      nullable(int({ min: 1 })),
      null,
      "Axolotl: training.save_steps, 1 / (saves_per_epoch · num_epochs)",
      ["saves_per_epoch"],
    ),
    "axolotl.evals_per_epoch": key(
      nullable(int({ min: 1 })),
      null,
      "Axolotl: training.eval_steps, 1 / (evals_per_epoch · num_epochs)",
      ["evals_per_epoch"],
    ),
    "axolotl.use_mlflow": key(nullable(bool()), null, "Axolotl: report_to with mlflow", [
      "use_mlflow",
    ]),
    "axolotl.use_tensorboard": key(
      nullable(bool()),
      null,
      "Axolotl: report_to with tensorboard",
      ["use_tensorboard"],
    ),
  },
  withoutEffect: {
    ...each(
      `
        ddp world_size gc_steps gc_collect_steps selective_checkpointing layer_offloading tiled_mlp
        tiled_mlp_num_shards tiled_mlp_use_original_mlp deepcompile torch_compile_options
        torchdistx_path profiler_steps profiler_steps_start include_tkps
        fsdp_version fsdp_final_state_dict_type heads_k_stride ring_attn_func use_ray ray_run_name
        ray_num_workers resources_per_worker liger_rope liger_rms_norm liger_rms_norm_gated
        liger_layer_norm liger_swiglu liger_glu_activation liger_cross_entropy
        liger_fused_linear_cross_entropy cut_cross_entropy fp32_norms fp32_norm_classes
        dynamic_checkpoint gradio_title gradio_share gradio_server_name gradio_server_port
        gradio_max_new_tokens gradio_temperature
      `,
      PLACE,
    ),
    ...each(
      `
        wandb_run_id wandb_mode wandb_watch wandb_log_model mlflow_tracking_uri
        mlflow_experiment_name mlflow_run_name hf_mlflow_log_artifacts trackio_project_name
        trackio_run_name use_otel_metrics otel_metrics_host otel_metrics_port
      `,
      TRACKERS,
    ),
  },
  refused: {
    ...each(
      `
        dp_shard_size dp_replicate_size tensor_parallel_size sequence_parallel_degree
        context_parallel_size
      `,
      steersElsewhere(NOT_DIVIDED, 1),
    ),
    ...each("fp8 bfloat16 float16 float32", refused(TYPES, false)),
    auto_resume_from_checkpoints: refused("rgx train CONFIG --resume goes on with a run", false),
    save_first_step: refused("save_steps", false),
    early_stopping_patience: refused("load_best_model_at_end: true takes the best checkpoint"),
    loss_watchdog_threshold: refused("the loss of GRPO does not say that a run has failed"),
    do_bench_eval: steersElsewhere("rgx bench asks a model after its training", false),
    trainer_cls: refused("rgx has the one trainer"),
    plugins: {
      neutral: [[]],
      noted: (value) =>
        Array.isArray(value) &&
        value.every((name) => /\.(liger|cut_cross_entropy|kernels)\./.test(String(name))),
      advice: "rgx runs no Python; liger, cut_cross_entropy and kernels are accepted",
    },
    use_comet: steersElsewhere("report_to: tensorboard, trackio, wandb or mlflow", false),
    ...each(
      `
        embedding_lr embedding_lr_scale lr_groups lr_quadratic_warmup cosine_constant_lr_ratio
        lr_div_factor adam_epsilon2 adam_beta3 lisa_n_layers jagged_restart_steps
      `,
      refused(ADAMW, false, []),
    ),
  },
  dormant: {
    fp8_enable_fsdp_float8_all_gather: "fp8, which is refused",
    loss_watchdog_patience: "loss_watchdog_threshold, which is refused",
    ...each("bench_dataset bench_split", "do_bench_eval, which has no effect"),
    ...each("lisa_step_interval lisa_layers_attribute", "lisa_n_layers, which is refused"),
    ...each(
      "jagged_restart_warmup_steps jagged_restart_anneal_steps",
      "jagged_restart_steps, which is refused",
    ),
    ...each(
      `
        comet_api_key comet_workspace comet_project_name comet_experiment_key comet_mode
        comet_online comet_experiment_config
      `,
      "use_comet, which has no effect",
    ),
    ...each(
      `
        dion_lr dion_momentum dion_rank_fraction dion_rank_multiple_of qgalore_rank
        qgalore_update_proj_gap qgalore_scale qgalore_proj_type qgalore_proj_quant
        qgalore_proj_bits qgalore_proj_group_size qgalore_cos_threshold qgalore_gamma_proj
        qgalore_queue_size
      `,
      "other optimizers, which are refused",
    ),
    liger_use_token_scaling: "supervised training, without rl",
  },
};

/**
 * Keys of verl's training engines (FSDP, Megatron, TorchTitan, VeOmni), of their profilers and of
 * quantisation-aware training. They stand in the actor, in the reference and in the critic.
 */
import { each, refused } from "../foreign_table.ts";
import { inside, join, PLACE, PRECISION, PROFILER } from "./verl_keys.ts";

const FROM_PATH = "weights are read from actor_rollout_ref.model.path";

/** Quantisation-aware training. */
export const QAT = inside(
  "qat",
  join({
    refused: { enable: refused("model.load_in_4bit quantises frozen weights", false) },
    dormant: each(
      "mode group_size ignore_patterns activation_observer quantization_config_path",
      "qat.enable",
    ),
  }),
);

/** How mixtures of experts choose their experts again. */
const ROUTER_REPLAY = inside("router_replay", {
  refused: { mode: refused("mixtures of experts can not be trained", "disabled") },
  dormant: each("record_file replay_file", "router_replay.mode"),
});

/** FSDP, in the section `fsdp_config`, of a critic `fsdp`. */
export const FSDP = join(QAT, {
  withoutEffect: {
    ...each(
      `
        wrap_policy.min_num_params wrap_policy.transformer_layer_cls_to_wrap wrap_policy.disable
        min_num_params param_offload optimizer_offload grad_offload offload_policy
        reshard_after_forward fsdp_size forward_prefetch use_orig_params
        ulysses_sequence_parallel_size entropy_from_logits_with_chunking
        entropy_from_logits_chunk_size use_torch_compile entropy_checkpointing pad_to_length
        pad_to_length_bucket forward_only strategy full_determinism seed turbo_config
        turbo_config.distributed.fully_shard_parallel_size
        turbo_config.distributed.tensor_parallel_size turbo_config.distributed.expert_parallel_size
        turbo_config.distributed.expert_fully_shard_parallel_size
        turbo_config.distributed.ulysses_parallel_size
        turbo_config.distributed.fsdp_plan.fsdp_implementation
        turbo_config.distributed.fsdp_plan.num_to_forward_prefetch
        turbo_config.distributed.fsdp_plan.num_to_backward_prefetch
      `,
      PLACE,
    ),
    ...each(
      `
        dtype model_dtype mixed_precision mixed_precision.param_dtype mixed_precision.reduce_dtype
        mixed_precision.buffer_dtype turbo_config.distributed.fsdp_plan.param_dtype
        turbo_config.distributed.fsdp_plan.reduce_dtype
        turbo_config.distributed.fsdp_plan.output_dtype
      `,
      PRECISION,
    ),
  },
});

/** Megatron, in the section `megatron`. */
export const MEGATRON = inside(
  "megatron",
  join(QAT, ROUTER_REPLAY, {
    withoutEffect: {
      ...each(
        `
        param_offload grad_offload optimizer_offload tensor_model_parallel_size
        expert_model_parallel_size expert_tensor_parallel_size pipeline_model_parallel_size
        virtual_pipeline_model_parallel_size num_layers_per_virtual_pipeline_stage
        context_parallel_size sequence_parallel use_distributed_optimizer use_dist_checkpointing
        dynamic_context_parallel max_seqlen_per_dp_cp_rank dist_checkpointing_prefix
        dist_ckpt_optim_fully_reshardable distrib_optim_fully_reshardable_mem_efficient
        entropy_from_logits_with_chunking entropy_from_logits_chunk_size seed override_ddp_config
        use_mbridge vanilla_mbridge use_remove_padding pad_bshd_to_minibatch_max pad_to_length
        pad_to_length_bucket use_megatron_fsdp forward_only
        override_transformer_config.recompute_granularity
        override_transformer_config.recompute_modules override_transformer_config.recompute_method
        override_transformer_config.recompute_num_layers
        override_transformer_config.attention_backend
        override_transformer_config.apply_rope_fusion
        override_transformer_config.gradient_accumulation_fusion
        override_transformer_config.masked_softmax_fusion
        override_transformer_config.bias_activation_fusion
        override_transformer_config.bias_dropout_fusion
        override_transformer_config.deallocate_pipeline_outputs
        override_transformer_config.persist_layer_norm override_transformer_config.use_flash_attn
        override_transformer_config.sequence_parallel
        override_transformer_config.context_parallel_size
        override_transformer_config.use_distributed_optimizer
        override_transformer_config.num_layers_in_first_pipeline_stage
        override_transformer_config.num_layers_in_last_pipeline_stage
        override_transformer_config.account_for_embedding_in_pipeline_split
        override_transformer_config.account_for_loss_in_pipeline_split
        override_transformer_config.moe_router_dtype override_transformer_config.moe_grouped_gemm
        override_transformer_config.moe_permute_fusion override_transformer_config.moe_enable_deepep
        override_transformer_config.moe_token_dispatcher_type
        override_transformer_config.moe_shared_expert_overlap
      `,
        PLACE,
      ),
      dtype: PRECISION,
    },
    refused: {
      dist_checkpointing_path: refused(FROM_PATH),
      override_transformer_config: refused("the model is the one of its config.json", {}),
      override_mcore_model_config: refused("the model is the one of its config.json", {}),
    },
  }),
);

const TORCHTITAN = inside("torchtitan", {
  withoutEffect: {
    ...each(
      `
      param_offload optimizer_offload wrap_policy.min_num_params reshard_after_forward
      forward_prefetch use_orig_params use_torch_compile entropy_from_logits_with_chunking
      entropy_from_logits_chunk_size entropy_checkpointing data_parallel_size
      data_parallel_replicate_size data_parallel_shard_size tensor_parallel_size
      expert_parallel_size pipeline_parallel_size context_parallel_size attn_type spmd_backend
      activation_checkpoint max_seq_len strategy seed full_determinism forward_only
    `,
      PLACE,
    ),
    ...each("dtype mixed_precision", PRECISION),
  },
});

const VEOMNI = inside(
  "veomni",
  join(ROUTER_REPLAY, {
    withoutEffect: {
      ...each(
        `
        param_offload optimizer_offload fsdp_size ulysses_parallel_size expert_parallel_size seed
        full_determinism init_device enable_full_shard ckpt_manager forward_prefetch strategy
        use_torch_compile entropy_from_logits_with_chunking entropy_checkpointing forward_only
        enable_fsdp_offload enable_reentrant attn_implementation moe_implementation
        cross_entropy_loss_implementation rms_norm_implementation swiglu_mlp_implementation
        rotary_pos_emb_implementation rms_norm_gated_implementation causal_conv1d_implementation
        chunk_gated_delta_rule_implementation load_balancing_loss_implementation
        dsa_indexer_implementation dsa_attention_implementation mhc_implementation
        force_use_huggingface activation_gpu_limit basic_modules pad_to_length pad_to_length_bucket
        moe_load_balance_monitor_interval
      `,
        PLACE,
      ),
      mixed_precision: PRECISION,
    },
    refused: { load_checkpoint_path: refused(FROM_PATH) },
  }),
);

/** The profilers of a worker. */
export const PROFILERS = join(
  inside("profiler", {
    withoutEffect: each("enable", PROFILER),
    dormant: each(
      `
      tool all_ranks ranks save_path relocate_results finish_hook_cmd
      finish_hook_all_ranks finish_hook_ranks discrete tool_config tool_config.nsys.discrete
      tool_config.npu.contents tool_config.npu.level tool_config.npu.analysis
      tool_config.npu.discrete tool_config.npu.profile_token_start
      tool_config.npu.profile_token_end tool_config.torch.contents tool_config.torch.discrete
      tool_config.torch.step_start tool_config.torch.step_end
      tool_config.torch.profile_token_start tool_config.torch.profile_token_end
      tool_config.torch.schedule.skip_first tool_config.torch.schedule.wait
      tool_config.torch.schedule.warmup tool_config.torch.schedule.active
      tool_config.torch.schedule.repeat tool_config.torch_memory.trace_alloc_max_entries
      tool_config.torch_memory.stack_depth tool_config.precision_debugger.config_path
      tool_config.precision_debugger.steps tool_config.precision_debugger.stages
      tool_config.precision_debugger.strict
    `,
      "profiler.enable, which has no effect",
    ),
  }),
  inside("profile", {
    withoutEffect: each("use_profile", PROFILER),
    dormant: each(
      "profile_ranks step_start step_end save_path",
      "profile.use_profile, which has no effect",
    ),
  }),
);

/** Everything that an engine can have, in the actor and in the reference. */
export const ENGINES = join(
  inside("fsdp_config", FSDP),
  MEGATRON,
  TORCHTITAN,
  VEOMNI,
  PROFILERS,
  ROUTER_REPLAY,
);

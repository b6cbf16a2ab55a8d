/**
 * Command lines of OpenRLHF's train_ppo_ray: flags with names of their own, some of which rgx has
 * for something else. They become overrides of a section `openrlhf`. Flags that are not OpenRLHF's
 * stay as they are, so that rgx's stand beside them.
 */
import { UsageError } from "../../../core/errors.ts";
import { OPENRLHF } from "./openrlhf.ts";

const names = (text: string): readonly string[] => text.trim().split(/\s+/);

/** Flags without a value. */
const SWITCHES = new Set(names(`
  colocate_actor_ref colocate_critic_reward colocate_all_models vllm_sync_with_ray
  enable_prefix_caching enforce_eager vllm_enable_sleep enable_vllm_is_correction use_icepop
  async_train partial_rollout save_hf_ckpt disable_ds_ckpt load_checkpoint use_ds_universal_ckpt
  gradient_checkpointing deepcompile enable_ema adam_offload actor_init_on_gpu use_liger_kernel
  overlap_comm gradient_checkpointing_use_reentrant disable_fast_tokenizer deepspeed_enable_sleep
  packing_samples use_dynamic_batch load_in_4bit normalize_reward full_determinism
  save_value_network use_kl_loss no_advantage_std_norm ref_reward_offload apply_chat_template
  dynamic_filtering perf use_ms bf16 flash_attn freeze_visual_encoder
  actor.muon.nesterov actor.muon.no_nesterov critic.muon.nesterov critic.muon.no_nesterov
  critic.gradient_checkpointing_enable critic.gradient_checkpointing_reentrant
`));

/** Flags with several values. */
const LISTS = new Set(names(`
  target_modules eps_clip_low_high adam_betas reward_clip_range dynamic_filtering_reward_range
  vllm_is_truncated_threshold critic.adam.betas
`));

/** The newer names, in groups → the older ones, which are those of the section. */
const GROUPED: ReadonlyMap<string, string> = new Map(
  names(`
    actor.model_name_or_path=pretrain data.prompt_dataset=prompt_data
    data.prompt_probs=prompt_data_probs data.prompt_split=prompt_split data.input_key=input_key
    data.label_key=label_key data.input_template=input_template
    data.apply_chat_template=apply_chat_template data.max_len=max_len data.max_samples=max_samples
    data.disable_fast_tokenizer=disable_fast_tokenizer
    data.dataloader_num_workers=dataloader_num_workers data.image_key=image_key
    data.max_images_per_prompt=max_images_per_prompt
    rollout.batch_size=rollout_batch_size rollout.micro_batch_size=micro_rollout_batch_size
    rollout.vllm_generate_batch_size=vllm_generate_batch_size
    rollout.max_new_tokens=generate_max_len rollout.n_samples_per_prompt=n_samples_per_prompt
    rollout.top_p=top_p rollout.temperature=temperature
    rollout.max_tokens_per_gpu=rollout_max_tokens_per_gpu
    train.batch_size=train_batch_size train.micro_batch_size=micro_train_batch_size
    train.max_epochs=max_epochs train.num_episodes=num_episodes train.seed=seed
    train.colocate_all=colocate_all_models train.colocate_actor_ref=colocate_actor_ref
    train.colocate_critic_reward=colocate_critic_reward train.async_enable=async_train
    train.async_queue_size=async_queue_size train.partial_rollout_enable=partial_rollout
    train.enable_ema=enable_ema train.ema_beta=ema_beta train.agent_func_path=agent_func_path
    train.dynamic_batch_enable=use_dynamic_batch train.max_tokens_per_gpu=train_max_tokens_per_gpu
    train.full_determinism_enable=full_determinism
    algo.advantage.estimator=advantage_estimator algo.advantage.gamma=gamma
    algo.advantage.lambd=lambd algo.advantage.no_std_norm=no_advantage_std_norm
    algo.advantage.is_correction_enable=enable_vllm_is_correction
    algo.advantage.is_correction_threshold=vllm_is_truncated_threshold
    algo.advantage.is_correction_type=vllm_is_correction_type
    algo.kl.init_coef=init_kl_coef algo.kl.use_loss=use_kl_loss algo.kl.estimator=kl_estimator
    algo.kl.target=kl_target algo.kl.horizon=kl_horizon
    algo.dynamic_filtering_enable=dynamic_filtering
    algo.dynamic_filtering_range=dynamic_filtering_reward_range
    actor.adam.lr=actor_learning_rate actor.adam.betas=adam_betas actor.adam.eps=adam_eps
    actor.adam.weight_decay=l2 actor.optim=optim actor.lr_scheduler=lr_scheduler
    actor.lr_warmup_ratio=lr_warmup_ratio actor.min_lr_ratio=min_lr_ratio actor.max_norm=max_norm
    actor.eps_clip=eps_clip actor.eps_clip_low_high=eps_clip_low_high actor.dual_clip=dual_clip
    actor.policy_loss_type=policy_loss_type actor.aux_loss_coef=aux_loss_coef
    actor.entropy_coef=entropy_loss_coef actor.num_nodes=actor_num_nodes
    actor.num_gpus_per_node=actor_num_gpus_per_node
    actor.gradient_checkpointing_enable=gradient_checkpointing
    actor.gradient_checkpointing_reentrant=gradient_checkpointing_use_reentrant
    actor.freeze_visual_encoder=freeze_visual_encoder
    critic.num_nodes=critic_num_nodes critic.num_gpus_per_node=critic_num_gpus_per_node
    critic.save_value_network=save_value_network critic.freezing_steps=freezing_actor_steps
    ds.value_head_prefix=value_head_prefix ds.experts_implementation=experts_implementation
    ckpt.best_metric_key=best_metric_key
    ref.num_nodes=ref_num_nodes ref.num_gpus_per_node=ref_num_gpus_per_node
    ref.offload=ref_reward_offload reward.offload=ref_reward_offload
    reward.num_nodes=reward_num_nodes reward.num_gpus_per_node=reward_num_gpus_per_node
    reward.model_name_or_path=reward_pretrain reward.remote_url=remote_rm_url
    reward.normalize_enable=normalize_reward reward.clip_range=reward_clip_range
    reward.overlong_buffer_len=overlong_buffer_len
    reward.overlong_penalty_factor=overlong_penalty_factor
    reward.stop_properly_penalty_coef=stop_properly_penalty_coef
    vllm.num_engines=vllm_num_engines vllm.tensor_parallel_size=vllm_tensor_parallel_size
    vllm.sync_backend=vllm_sync_backend vllm.sync_with_ray=vllm_sync_with_ray
    vllm.enable_prefix_caching=enable_prefix_caching vllm.enforce_eager=enforce_eager
    vllm.enable_sleep=vllm_enable_sleep
    vllm.gpu_memory_utilization=vllm_gpu_memory_utilization
    ds.zero_stage=zero_stage ds.param_dtype=param_dtype ds.zpg=zpg ds.adam_offload=adam_offload
    ds.attn_implementation=attn_implementation ds.use_liger_kernel=use_liger_kernel
    ds.grad_accum_dtype=grad_accum_dtype ds.overlap_comm=overlap_comm ds.deepcompile=deepcompile
    ds.enable_sleep=deepspeed_enable_sleep ds.tensor_parallel_size=ds_tensor_parallel_size
    ds.packing_samples=packing_samples ds.ring_attn_size=ring_attn_size
    ds.ring_attn_head_stride=ring_head_stride ds.load_in_4bit=load_in_4bit
    ds.lora.rank=lora_rank ds.lora.alpha=lora_alpha ds.lora.target_modules=target_modules
    ds.lora.dropout=lora_dropout ds.use_universal_ckpt=use_ds_universal_ckpt
    ckpt.output_dir=save_path ckpt.path=ckpt_path ckpt.save_steps=save_steps
    ckpt.save_hf=save_hf_ckpt ckpt.disable_ds=disable_ds_ckpt ckpt.max_num=max_ckpt_num
    ckpt.max_mem=max_ckpt_mem ckpt.load_enable=load_checkpoint
    eval.steps=eval_steps eval.dataset=eval_dataset eval.split=eval_split
    eval.temperature=eval_temperature eval.n_samples_per_prompt=eval_n_samples_per_prompt
    logger.logging_steps=logging_steps logger.wandb.key=use_wandb logger.wandb.org=wandb_org
    logger.wandb.group=wandb_group logger.wandb.project=wandb_project
    logger.wandb.run_name=wandb_run_name logger.tensorboard_dir=use_tensorboard
  `).map((pair) => pair.split("=") as [string, string]),
);

/** Flags by which a command line is known as one of OpenRLHF. */
const OWN = /^--(pretrain|prompt_data|actor\.model_name_or_path|data\.prompt_dataset)(=|$)/;

/** Whether these arguments are a command line of OpenRLHF. */
export function isOfOpenRlhf(args: readonly string[]): boolean {
  return args.some((arg) => OWN.test(arg));
}

const SECTION = "openrlhf";
const KNOWN = new Set(
  Object.values(OPENRLHF).flatMap((list) => Object.keys(list ?? {}))
    .filter((key) => key.startsWith(`${SECTION}.`))
    .map((key) => key.slice(SECTION.length + 1)),
);

/** Whether a name is in the section, or inside a group of it (`critic.adam.lr`). */
function isKnown(name: string): boolean {
  return KNOWN.has(name) || INSIDE.test(name);
}

/** Groups of which nothing acts: a critic, and another optimizer. */
const INSIDE = /^(critic|actor\.muon)\./;

/**
 * The arguments with OpenRLHF's flags as `openrlhf.name=value`.
 * @throws UsageError for a flag without its value
 */
export function withOpenRlhfKeys(args: readonly string[]): string[] {
  const translated: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const [, flag, given] = /^--([\w.]+)(?:=(.*))?$/s.exec(args[i]!) ?? [];
    const name = flag === undefined ? undefined : GROUPED.get(flag) ?? flag;
    if (name === undefined || !isKnown(name)) {
      translated.push(args[i]!);
      continue;
    }
    const key = `${SECTION}.${name}`;
    if (given !== undefined) translated.push(`${key}=${given}`);
    else if (SWITCHES.has(name)) translated.push(`${key}=true`);
    else {
      const values: string[] = [], most = LISTS.has(name) ? Infinity : 1;
      while (values.length < most && args[i + 1] !== undefined && !/^--\D/.test(args[i + 1]!)) {
        values.push(args[++i]!);
      }
      if (values.length === 0) throw new UsageError(`--${flag}: expected a value`);
      translated.push(`${key}=${LISTS.has(name) ? `[${values.join(", ")}]` : values[0]}`);
    }
  }
  return translated;
}

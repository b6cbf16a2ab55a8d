/**
 * Command lines of OpenRLHF's train_ppo_ray. Some of its flags have another meaning in rgx, so each
 * of them becomes a flag of a section, `--openrlhf.name`. Other flags are not changed, so flags of
 * rgx can stand beside them.
 */
import { listingOf } from "./foreign_keys.ts";
import { OPENRLHF } from "./openrlhf/openrlhf.ts";

/**
 * The newer names, in groups → the older names, which the section uses. Other newer names have the
 * words of the older ones: `vllm.num_engines` is vllm_num_engines, `data.max_len` is max_len.
 */
const GROUPED: ReadonlyMap<string, string> = new Map(
  `
    actor.model_name_or_path=pretrain data.prompt_dataset=prompt_data
    data.prompt_probs=prompt_data_probs rollout.micro_batch_size=micro_rollout_batch_size
    rollout.max_new_tokens=generate_max_len train.micro_batch_size=micro_train_batch_size
    train.colocate_all=colocate_all_models train.async_enable=async_train
    train.partial_rollout_enable=partial_rollout train.dynamic_batch_enable=use_dynamic_batch
    train.full_determinism_enable=full_determinism algo.advantage.no_std_norm=no_advantage_std_norm
    algo.advantage.is_correction_enable=enable_vllm_is_correction
    algo.advantage.is_correction_threshold=vllm_is_truncated_threshold
    algo.advantage.is_correction_type=vllm_is_correction_type algo.kl.init_coef=init_kl_coef
    algo.kl.use_loss=use_kl_loss algo.dynamic_filtering_enable=dynamic_filtering
    algo.dynamic_filtering_range=dynamic_filtering_reward_range actor.adam.lr=actor_learning_rate
    actor.adam.weight_decay=l2 actor.entropy_coef=entropy_loss_coef
    actor.gradient_checkpointing_enable=gradient_checkpointing
    actor.gradient_checkpointing_reentrant=gradient_checkpointing_use_reentrant
    critic.num_nodes=critic_num_nodes critic.num_gpus_per_node=critic_num_gpus_per_node
    critic.save_value_network=save_value_network critic.freezing_steps=freezing_actor_steps
    ref.offload=ref_reward_offload
    reward.offload=ref_reward_offload reward.model_name_or_path=reward_pretrain
    reward.remote_url=remote_rm_url reward.normalize_enable=normalize_reward
    ds.enable_sleep=deepspeed_enable_sleep ds.ring_attn_head_stride=ring_head_stride
    ds.use_universal_ckpt=use_ds_universal_ckpt ckpt.output_dir=save_path ckpt.save_hf=save_hf_ckpt
    ckpt.disable_ds=disable_ds_ckpt ckpt.max_num=max_ckpt_num ckpt.max_mem=max_ckpt_mem
    ckpt.load_enable=load_checkpoint logger.wandb.key=use_wandb
    logger.tensorboard_dir=use_tensorboard
  `.trim().split(/\s+/).map((pair) => pair.split("=") as [string, string]),
);

/** Flags by which a command line is known as one of OpenRLHF. */
const OWN = /^--(pretrain|prompt_data|actor\.model_name_or_path|data\.prompt_dataset)(=|$)/;

/** Whether these arguments are a command line of OpenRLHF. */
export function isOfOpenRlhf(args: readonly string[]): boolean {
  return args.some((arg) => OWN.test(arg));
}

const SECTION = "openrlhf";

function isKnown(flag: string): boolean {
  const key = `${SECTION}.${flag}`;
  return [OPENRLHF.obeyed, OPENRLHF.translated].some((list) => Object.hasOwn(list, key)) ||
    listingOf(key) !== undefined;
}

/** The groups; other projects have keys in `data`, too. */
const GROUP =
  /^(data(?!\.(seed|train_))|rollout|train|actor|algo|ref|reward|vllm|ds|ckpt|eval|logger)\./;

function olderName(flag: string): string {
  const parts = flag.split(".");
  if (GROUPED.has(flag) || !GROUP.test(flag)) return GROUPED.get(flag) ?? flag;
  const same = [parts.join("_"), parts.slice(-2).join("_"), parts.at(-1)!];
  return same.find(isKnown) ?? flag;
}

/** The arguments with OpenRLHF's flags as those of the section. */
export function withOpenRlhfKeys(args: readonly string[]): string[] {
  return args.map((arg) =>
    arg.replace(/^--([\w.]+)/, (written, flag: string) => {
      const name = olderName(flag);
      return isKnown(name) ? `--${SECTION}.${name}` : written;
    })
  );
}

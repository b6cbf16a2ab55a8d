/**
 * The page docs/coming_from.md for those who know another trainer: a text with tables
 * that are made from the lists in `configs/foreign/`.
 */
import { leaves } from "../dotted_keys.ts";
import { FOREIGN_COMMANDS } from "../foreign/foreign_commands.ts";
import { FOREIGN_SPELLINGS, listingOf, TRANSLATED_KEYS } from "../foreign/foreign_keys.ts";
import { loadConfig } from "../load.ts";
import { code, table } from "../markdown.ts";
import { meaningOf } from "../reading/key_names.ts";
import text from "./coming_from.md" with { type: "text" };

const VERL_MODEL = "actor_rollout_ref.model";
const VERL_ACTOR = "actor_rollout_ref.actor";
const VERL_ROLLOUT = "actor_rollout_ref.rollout";

/** Names that are separated by white space. */
const names = (text: string): readonly string[] => text.trim().split(/\s+/);

/** The keys that most files of a project have. */
const USED: Readonly<Record<string, readonly string[]>> = {
  TRL: names(`
    model_name_or_path dataset_name reward_funcs reward_weights learning_rate
    per_device_train_batch_size gradient_accumulation_steps generation_batch_size
    num_generations max_prompt_length max_completion_length temperature beta
    epsilon epsilon_high loss_type scale_rewards num_iterations max_steps
    mask_truncated_completions chat_template_kwargs gradient_checkpointing
    warmup_ratio lr_scheduler_type report_to output_dir load_in_4bit
    use_peft lora_r lora_alpha lora_target_modules bf16 attn_implementation
    use_vllm vllm_mode deepspeed fsdp num_processes model_revision
    adapter_name_or_path dataset_train_split dataset_prompt_column dataset_config
    test_split_size push_to_hub tools packing
  `),
  verl: names(`
    algorithm.adv_estimator algorithm.use_kl_in_reward algorithm.filter_groups.enable
    data.train_files data.val_files
    data.train_batch_size data.max_prompt_length data.max_response_length
    data.truncation data.filter_overlong_prompts data.prompt_key
    ${VERL_MODEL}.path ${VERL_MODEL}.lora_rank
    ${VERL_ACTOR}.optim.lr ${VERL_ACTOR}.ppo_mini_batch_size
    ${VERL_ACTOR}.ppo_micro_batch_size_per_gpu ${VERL_ACTOR}.use_dynamic_bsz
    ${VERL_ACTOR}.use_kl_loss ${VERL_ACTOR}.kl_loss_coef ${VERL_ACTOR}.kl_loss_type
    ${VERL_ACTOR}.clip_ratio_high ${VERL_ACTOR}.loss_agg_mode
    ${VERL_ACTOR}.policy_loss.loss_mode
    ${VERL_ACTOR}.fsdp_config.param_offload ${VERL_ROLLOUT}.n ${VERL_ROLLOUT}.name
    ${VERL_ROLLOUT}.temperature ${VERL_ROLLOUT}.tensor_model_parallel_size
    ${VERL_ROLLOUT}.val_kwargs.temperature ${VERL_ROLLOUT}.multi_turn.enable
    reward_model.enable custom_reward_function.path trainer.total_epochs
    trainer.total_training_steps trainer.save_freq trainer.test_freq
    trainer.logger trainer.default_local_dir trainer.n_gpus_per_node
  `),
  "open-r1": names(`
    reward_funcs reward_weights dataset_prompt_column system_prompt chat_template
    dataset_mixture dataset_config cosine_max_len cosine_min_value_wrong
    repetition_n_grams repetition_max_penalty code_language max_completion_len
    soft_punish_cache use_vllm push_to_hub hub_model_id hub_strategy hub_model_revision
    callbacks benchmarks wandb_project wandb_entity code_eval_test_batch_size
  `),
  Axolotl: names(`
    base_model rl trl.num_generations trl.max_completion_length trl.beta trl.loss_type
    trl.scale_rewards trl.reward_funcs trl.reward_weights trl.temperature trl.use_vllm
    trl.vllm_server_host trl.async_prefetch trl.replay_buffer_size
    adapter lora_r lora_alpha lora_target_linear lora_target_modules load_in_4bit
    axolotl.datasets val_set_size axolotl.chat_template axolotl.sequence_len micro_batch_size
    gradient_accumulation_steps num_epochs max_steps optimizer lr_scheduler learning_rate
    cosine_min_lr_ratio warmup_steps saves_per_epoch evals_per_epoch bf16 axolotl.flash_attention
    gradient_checkpointing wandb_project wandb_name special_tokens axolotl.sample_packing
    axolotl.train_on_inputs axolotl.plugins deepspeed fsdp
  `),
  Unsloth: names(`
    model_name max_seq_length dtype load_in_4bit load_in_8bit full_finetuning fast_inference
    max_lora_rank gpu_memory_utilization r target_modules lora_alpha use_rslora
    use_gradient_checkpointing random_state unsloth_num_chunks vllm_sampling_params
    load_in_fp8 token
  `),
  OpenRLHF: names(`
    pretrain prompt_data input_key label_key apply_chat_template max_samples
    n_samples_per_prompt rollout_batch_size train_batch_size micro_train_batch_size
    prompt_max_len generate_max_len temperature advantage_estimator policy_loss_type
    eps_clip eps_clip_low_high dual_clip use_kl_loss init_kl_coef kl_estimator
    actor_learning_rate lr_scheduler lr_warmup_ratio adam_betas l2 max_norm num_episodes
    max_epochs lora_rank bf16 gradient_checkpointing dynamic_filtering overlong_buffer_len
    remote_rm_url reward_pretrain eval_dataset save_path save_steps use_wandb zero_stage
    vllm_num_engines colocate_all_models packing_samples async_train critic_learning_rate
  `).map((name) => `openrlhf.${name}`),
  "reasoning-gym": names(`
    reasoning_gym.datasets reasoning_gym.dataset_size
    reasoning_gym.developer_prompt reasoning_gym.developer_role curriculum.enabled
    reward.use_accuracy reward.secondary_rewards
  `),
};

/** The page. @throws Error when a key of `USED` is in no list */
export async function comingFromPage(): Promise<string> {
  let page = text.replace("<!-- commands -->", commandTable())
    .replace("<!-- defaults: verl -->", await verlDefaults());
  for (const [project, keys] of Object.entries(USED)) {
    page = page.replace(`<!-- keys: ${project} -->`, keyTable(keys));
  }
  return page;
}

/** One row for the keys that have the same name in rgx, then one for each other key. */
function keyTable(keys: readonly string[]): string {
  const isSame = (key: string) => meaningOf(key).kind === "key" && placeOf(key) === undefined;
  const same = keys.filter(isSame);
  return table(["key", "in rgx"], [
    ...(same.length === 0 ? [] : [[same.map(code).join(", "), "the same name"]]),
    ...keys.filter((key) => !isSame(key)).map((key) => [
      // A name with another meaning elsewhere stands in a section of its own.
      code(key.replace(/^(axolotl|openrlhf)\./, "")),
      placeOf(key)!,
    ]),
  ]);
}

/** What becomes of a key; undefined for a key of rgx. @throws Error for an unknown key */
function placeOf(key: string): string | undefined {
  const translated = Object.entries(TRANSLATED_KEYS.keys)
    .find(([name, { aliases }]) => name === key || aliases.includes(key));
  if (translated !== undefined) {
    return translated[1].doc.replace(
      /^(verl|reasoning-gym|open-r1|Axolotl|Unsloth|OpenRLHF): /,
      "",
    );
  }
  const spelt = FOREIGN_SPELLINGS.get(key);
  if (spelt !== undefined) return code(spelt);
  const listing = listingOf(key);
  if (listing !== undefined) {
    const { kind, why, noted, neutral } = listing;
    if (kind === "acts with") return `acts only with ${why}`;
    if (kind === "no effect" || noted === "any") return `no effect${why === "" ? "" : `: ${why}`}`;
    const taken = neutral.map((value) =>
      code(typeof value === "string" && value !== "" ? value : JSON.stringify(value))
    ).join(", ");
    return `refused${taken === "" ? "" : ` unless ${taken}`}: ${why}`;
  }
  if (meaningOf(key).kind !== "key") throw new Error(`docs/coming_from.md: unknown key ${key}`);
  return undefined;
}

function commandTable(): string {
  return table(
    ["theirs", "in rgx", ""],
    FOREIGN_COMMANDS.map(({ theirs, ours, note }) => [
      code(theirs),
      ours === null ? "none" : code(ours),
      note,
    ]),
  );
}

const MINIMAL = {
  model: "m",
  task: "chain_sum",
  rewards: ["correctness"],
};
/** A run of verl must say how many completions a prompt has, and that advantages are of groups. */
const VERL_RUN: object = {
  ...MINIMAL,
  _base_: "rgx:verl/ppo_trainer.yaml",
  algorithm: { adv_estimator: "grpo" },
  actor_rollout_ref: { rollout: { n: 8 } },
};
/** Sections whose values change what is learned. */
const LEARNING = /^(training|eval)\./;
/** Keys of places and of frequency, which change no result. */
const ORGANISING =
  /output_dir|resume|save_|eval_|logging_|per_device|accumulation|checkpointing|max_batches/;

/** The keys of rgx that verl's own defaults set to other values than rgx's. */
async function verlDefaults(): Promise<string> {
  const values = async (config: object) =>
    new Map(leaves((await loadConfig(config)).config).map(([key, value]) => [key, value]));
  const [rgx, verl] = [await values(MINIMAL), await values(VERL_RUN)];
  const rows = [...rgx].flatMap(([key, value]) => {
    const [here, there] = [value, verl.get(key)].map((one) => JSON.stringify(one));
    const isShown = LEARNING.test(key) && !ORGANISING.test(key) && here !== there;
    return isShown ? [[code(key), code(here!), code(there ?? "null")]] : [];
  });
  return table(["key of rgx", "rgx and TRL", "verl"], rows);
}

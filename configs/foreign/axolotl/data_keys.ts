/** Axolotl's keys of the data, and those of training that is not GRPO. */
import { key } from "../../types/key_spec.ts";
import { anything, float, nullable } from "../../types/value_types.ts";
import { each, refused } from "../foreign_table.ts";
import type { VerlKeys } from "../verl/verl_keys.ts";

const PREPARED = "data is read when the run begins";

export const DATA: VerlKeys = {
  translated: {
    "axolotl.datasets": key(
      anything("a list of data sets"),
      null,
      "Axolotl: one data set, its `path` (or `data_files`) as dataset_name, its `name` as " +
        "dataset_config, its `split` as dataset_train_split",
    ),
    "axolotl.val_set_size": key(
      nullable(float({ min: 0 })),
      null,
      "Axolotl: below 1 what data.train_ratio leaves, else data.test_examples",
      ["val_set_size"],
    ),
  },
  withoutEffect: {
    ...each(
      `
        dataset_prepared_path dataset_shard_num num_dataset_shards_to_save skip_prepare_dataset
        dataset_processes dataset_keep_in_memory hf_use_auth_token is_preprocess
        preprocess_iterable total_num_tokens total_supervised_tokens sample_packing_eff_est
        axolotl_config_path shuffle_before_merging_datasets
      `,
      PREPARED,
    ),
    ...each(
      "sequence_len eval_sequence_len min_sample_len excess_length_strategy max_prompt_len",
      "with rl: grpo lengths cut nothing in Axolotl either; max_prompt_length is the longest prompt",
    ),
  },
  refused: {
    test_datasets: refused("val_set_size holds problems out", []),
    dataset_shard_idx: refused("max_examples takes the first rows of a file"),
    dataset_exact_deduplication: refused("take repeated rows out of the file", false),
    shuffle_merged_datasets: refused("shuffle_dataset: false keeps the order", true),
    pretraining_dataset: refused("rgx trains with GRPO (rgx train), and supervised (rgx sft)", []),
    push_dataset_to_hub: refused("data is not uploaded"),
    default_system_message: refused("data.system_prompt"),
    streaming: refused("a data set is read whole; data.max_examples", false),
    curriculum_sampling: refused("shuffle_dataset: false keeps the order", false),
    batch_size: refused("micro_batch_size and gradient_accumulation_steps"),
    reward_model: refused("rewards are functions: rewards: [{name, weight}]", false),
    process_reward_model: refused("rewards are functions: rewards: [{name, weight}]", false),
  },
  dormant: {
    ...each(
      `
        train_on_inputs sample_packing sample_packing_group_size sample_packing_bin_size
        sample_packing_sequentially sample_packing_mp_start_method eval_sample_packing
        pad_to_sequence_len multipack_real_batches batch_flattening use_pose
        pose_split_on_token_ids pose_max_context_len pose_num_chunks
        pretrain_multipack_buffer_size pretrain_multipack_attn pretraining_sample_concatenation
        streaming_multipack_buffer_size max_packed_sequence_len use_eaft eaft_alpha eaft_k
        noisy_embedding_alpha do_causal_lm_eval eval_causal_lm_metrics eval_table_size
        eval_max_new_tokens generate_samples num_generation_samples generation_max_new_tokens
        generation_temperature generation_top_p generation_top_k generation_prompt_ratio
        generation_do_sample chunked_cross_entropy chunked_cross_entropy_num_chunks
      `,
      "supervised training, without rl",
    ),
    ...each(
      `
        dpo_use_weighting dpo_label_smoothing precompute_ref_log_probs dpo_use_liger_kernel
        dpo_padding_free dpo_loss_type dpo_loss_weights dpo_beta dpo_use_logits_to_keep
        dpo_generate_during_eval dpo_norm_loss rpo_alpha orpo_alpha simpo_gamma cpo_alpha
        kto_desirable_weight kto_undesirable_weight rl_beta center_rewards_coefficient num_labels
        ebft
      `,
      "other values of rl",
    ),
  },
};

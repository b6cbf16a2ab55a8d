/** Axolotl's keys of the model, its tokenizer, adapters and quantisation. */
import { key } from "../../types/key_spec.ts";
import { anything, bool, choice, name, nullable } from "../../types/value_types.ts";
import { allMean, each, refused } from "../foreign_table.ts";
import type { VerlKeys } from "../verl/verl_keys.ts";

const LOADING = "it says how Axolotl loads, stores and computes";
const FROM_FOLDER = "the model is the one of its folder";
const TOKENIZER = "the tokens are those of the tokenizer's folder";
const PLAIN_LORA = "the plain form of LoRA is the one adapter";

export const MODEL: VerlKeys = {
  obeyed: {
    base_model: "model.model_name_or_path",
    tokenizer_config: "model.tokenizer_name_or_path",
    chat_template_jinja: "model.chat_template",
    lora_model_dir: "model.adapter_name_or_path",
    ...allMean("lora.layers_to_transform", "peft_layers_to_transform"),
    peft_use_rslora: "lora.use_rslora",
    peft_init_lora_weights: "lora.init_lora_weights",
    lora_rank_pattern: "lora.rank_pattern",
    lora_alpha_pattern: "lora.alpha_pattern",
  },
  translated: {
    "axolotl.base_model": key(
      nullable(name()),
      null,
      "Axolotl: it says that the file is one of Axolotl, also where another model is typed",
    ),
    "axolotl.adapter": key(
      nullable(choice(["lora", "qlora"], { notYet: ["llama-adapter"] })),
      null,
      "Axolotl: lora.enabled; qlora with model.load_in_4bit; null: all weights are trained",
      ["adapter"],
    ),
    "axolotl.lora_target_linear": key(
      nullable(bool()),
      null,
      "Axolotl: lora.target_modules: all-linear",
      ["lora_target_linear"],
    ),
    "axolotl.chat_template": key(
      nullable(name()),
      null,
      "Axolotl: tokenizer_default, or jinja with chat_template_jinja",
    ),
    "axolotl.special_tokens": key(
      anything("a map of tokens"),
      null,
      "Axolotl: only pad_token, which has no effect: padding is left out of everything",
      ["special_tokens"],
    ),
  },
  withoutEffect: {
    ...each(
      `
        strict low_cpu_mem_usage device device_map max_memory gpu_memory_limit
        experimental_skip_move_to_device embeddings_skip_upcast use_kernels
        tokenizer_use_fast tokenizer_legacy tokenizer_type tokenizer_save_jinja_files
        type_of_model base_model_config lora_fan_in_fan_out lora_on_cpu
        qlora_sharded_model_loading peft_autocast_adapter_dtype merge_lora merge_method
        lora_mlp_kernel lora_qkv_kernel lora_o_kernel lora_embedding_kernel
        is_falcon_derived_model is_llama_derived_model is_mistral_derived_model
        is_qwen_derived_model experts_implementation quantization
        xformers_attention sdp_attention flex_attention flex_attn_compile_kwargs flash_attention
        flash_attn_cross_entropy flash_attn_fuse_mlp flash_attn_rms_norm flash_optimum
        sage_attention eager_attention gemma4_hybrid_attn_impl large_head_attention
        flash_attn_d512 sdpa_varlen fused_attn_kernel
      `,
      LOADING,
    ),
  },
  refused: {
    ...each(
      `
        reinit_weights resize_token_embeddings_to_32x mean_resizing_embeddings shrink_embeddings
        scaling_softmax s2_attention use_onebitllms gptq quantize_moe_experts
        llama4_linearized_experts tokenizer_use_mistral_common fix_untrained_tokens
      `,
      refused(FROM_FOLDER, false),
    ),
    ...each(
      `
        cls_model_config overrides_of_model_config overrides_of_model_kwargs
        model_quantization_config model_quantization_config_kwargs bnb_config_kwargs
        processor_type processor_kwargs image_size image_resize_algorithm role_boundaries
      `,
      refused(FROM_FOLDER, {}),
    ),
    revision_of_model: refused("name the folder of the model", "main"),
    ...each("tokens added_tokens_overrides eot_tokens", refused(TOKENIZER, [], {})),
    ...each("peft_use_dora peft_ensure_weight_tying relora", refused(PLAIN_LORA, false)),
    ...each(
      `
        peft peft_layer_replication peft_trainable_token_indices loraplus_lr_ratio
        loraplus_lr_embedding
      `,
      refused(PLAIN_LORA, {}),
    ),
    peft_layers_pattern: refused("lora.layers_to_transform counts the layers of the model", []),
    qat: refused("model.load_in_4bit quantises frozen weights", {}),
    unfrozen_parameters: refused("an adapter, or all weights, are trained", []),
    freeze_mm_modules: refused("models read text alone", false),
  },
  dormant: {
    ...each("scaling_softmax_factor scaling_softmax_bias", "scaling_softmax, which is refused"),
    ...each(
      "relora_prune_ratio relora_prune_method relora_cpu_offload",
      "relora, which is refused",
    ),
  },
};

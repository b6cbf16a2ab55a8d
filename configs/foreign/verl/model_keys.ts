/** Keys of verl's model: where it is, its adapter, and how it is computed. */
import { key } from "../../types/key_spec.ts";
import { anything, float, int, nullable } from "../../types/value_types.ts";
import { each, refused, type ValueRule } from "../foreign_table.ts";
import { inside, join, PLACE } from "./verl_keys.ts";

const CONFIG_JSON = "the model is the one of its config.json";
const ADAPTER = "name the adapter's folder in model_name_or_path";

/** verl names all linear modules with a dash or an underscore. */
const modules: ValueRule = (node) =>
  node.kind === "scalar" && node.value === "all_linear" ? { ...node, value: "all-linear" } : node;

const LORA = inside("lora", {
  translated: {
    rank: key(nullable(int({ min: 0 })), null, "verl, Megatron: lora.r; 0: no adapter"),
    alpha: key(nullable(float({ min: 0 })), null, "verl, Megatron: lora.lora_alpha"),
    dropout: key(nullable(float({ min: 0 })), null, "verl, Megatron: lora.lora_dropout"),
    target_modules: key(
      anything("a list of linear_qkv, linear_proj, linear_fc1, linear_fc2"),
      null,
      "verl, Megatron: lora.target_modules, the same modules by their names in the file",
    ),
  },
  withoutEffect: each("merge a2a_experimental dtype", PLACE),
  dormant: each(
    "freeze_vision_model freeze_vision_projection freeze_language_model",
    "images, which are refused",
  ),
  refused: {
    type: refused("the plain form of LoRA is the one adapter", "lora"),
    exclude_modules: refused("lora.exclude_modules", []),
    dropout_position: refused("dropout acts on what A reads", "pre"),
    lora_A_init_method: refused("lora.init_lora_weights", "xavier", "kaiming"),
    lora_B_init_method: refused("lora.init_lora_weights", "zero"),
    adapter_path: refused(ADAPTER),
  },
});

export const MODEL = inside(
  "actor_rollout_ref.model",
  join(LORA, {
    obeyed: {
      path: "model.model_name_or_path",
      "override_config.rope_scaling": "model.rope_scaling",
      "override_config.rope_parameters": "model.rope_scaling",
      tokenizer_path: "model.tokenizer_name_or_path",
      custom_chat_template: "model.chat_template",
      enable_gradient_checkpointing: "training.gradient_checkpointing",
    },
    values: { target_modules: modules },
    translated: {
      lora_rank: key(nullable(int({ min: 0 })), null, "verl: lora.r; 0: no adapter"),
      lora_alpha: key(
        nullable(float({ above: 0 })),
        null,
        "verl: lora.lora_alpha, with lora_rank (16 unless written)",
      ),
      target_modules: key(
        anything("all-linear, a list, or an expression"),
        null,
        "verl: lora.target_modules, with lora_rank (all-linear unless written)",
      ),
      exclude_modules: key(
        anything("a list or an expression"),
        null,
        "verl: lora.exclude_modules, with lora_rank",
      ),
    },
    withoutEffect: {
      ...each(
        `
        use_shm enable_activation_offload use_remove_padding use_liger use_fused_kernels
        fused_kernel_options.impl_backend tiled_mlp.enabled tiled_mlp.num_shards
        gradient_checkpointing_kwargs.activations_checkpoint_method
        gradient_checkpointing_kwargs.activations_checkpoint_granularity
        gradient_checkpointing_kwargs.activations_checkpoint_num_layers
        override_config.attn_implementation
      `,
        PLACE,
      ),
      trust_remote_code: "no code of a model is run",
    },
    dormant: each(
      "mtp.enable_train mtp.enable_rollout mtp.detach_encoder mtp.mtp_loss_scaling_factor " +
        "mtp.speculative_algorithm mtp.speculative_num_steps mtp.speculative_eagle_topk " +
        "mtp.speculative_num_draft_tokens mtp.method mtp.num_speculative_tokens",
      "mtp.enable, which is refused",
    ),
    refused: {
      hf_config_path: refused(CONFIG_JSON),
      external_lib: refused("no code of a model is run"),
      override_config: refused(CONFIG_JSON, {}),
      ...each(
        "override_config.attention_dropout override_config.embd_pdrop override_config.resid_pdrop",
        refused("only adapters have dropout: lora_dropout", 0),
      ),
      "override_config.model_config": refused(CONFIG_JSON, {}),
      "override_config.moe_config.freeze_moe_router": refused(
        "mixtures of experts can not be trained",
        false,
      ),
      lora_adapter_path: refused(ADAPTER),
      "mtp.enable": refused("a token is predicted from the head alone", false),
    },
  }),
);

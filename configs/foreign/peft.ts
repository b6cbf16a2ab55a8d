/** Keys of PEFT 0.21's LoraConfig: section `lora`. Those that rgx obeys have the same names. */
import { table } from "./table.ts";

const PLAIN_LORA = "the plain form of LoRA is the one adapter";

export const PEFT = table(
  "PEFT",
  `
[, lora]
! bias ["none"]: biases stay frozen
! task_type ["CAUSAL_LM"]: language models are what is trained
! use_dora lora_bias use_qalora use_bdlora ensure_weight_tying [false]: ${PLAIN_LORA}
! layers_pattern ["layers", "h", ["layers"], ["h"], []]: lora.layers_to_transform counts the layers of
  the model
! layer_replication trainable_token_indices alora_invocation_tokens: ${PLAIN_LORA}
! target_parameters: lora.target_modules
! loftq_config eva_config corda_config lora_ga_config velora_config monteclora_config arrow_config
  kasa_config [{}]: ${PLAIN_LORA}
! peft_type ["LORA"]: ${PLAIN_LORA}
! base_model_name_or_path: model.model_name_or_path
- runtime_config megatron_config megatron_core: an adapter is trained on one card
- qalora_group_size: for use_qalora, which is refused
- fan_in_fan_out: the type of the layer says it
- inference_mode auto_mapping peft_version: PEFT writes it for itself
`,
);

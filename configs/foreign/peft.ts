/** Keys of PEFT 0.21's LoraConfig: section `lora`. */
import { each, flatAndIn, type ForeignTable, refused, type RefusedKey } from "./foreign_table.ts";

const PLAIN_LORA = "the plain form of LoRA is the one adapter";

const LORA: Record<string, RefusedKey> = {
  bias: refused("biases stay frozen", "none"),
  task_type: refused("language models are what is trained", "CAUSAL_LM"),
  use_dora: refused(PLAIN_LORA, false),
  layers_pattern: refused(
    "lora.layers_to_transform counts the layers of the model",
    "layers",
    "h",
    ["layers"],
    ["h"],
    [],
  ),
  lora_bias: refused(PLAIN_LORA, false),
  use_qalora: refused(PLAIN_LORA, false),
  use_bdlora: refused(PLAIN_LORA, false),
  layer_replication: refused(PLAIN_LORA),
  trainable_token_indices: refused(PLAIN_LORA),
  target_parameters: refused("lora.target_modules"),
  alora_invocation_tokens: refused(PLAIN_LORA),
  ensure_weight_tying: refused(PLAIN_LORA, false),
  loftq_config: refused(PLAIN_LORA, {}),
  eva_config: refused(PLAIN_LORA, {}),
  corda_config: refused(PLAIN_LORA, {}),
  lora_ga_config: refused(PLAIN_LORA, {}),
  velora_config: refused(PLAIN_LORA, {}),
  monteclora_config: refused(PLAIN_LORA, {}),
  arrow_config: refused(PLAIN_LORA, {}),
  kasa_config: refused(PLAIN_LORA, {}),
  peft_type: refused(PLAIN_LORA, "LORA"),
};

const WITHOUT_EFFECT: Record<string, string> = {
  ...each("runtime_config megatron_config megatron_core", "an adapter is trained on one card"),
  qalora_group_size: "for use_qalora, which is refused",
  fan_in_fan_out: "the type of the layer says it",
  ...each("inference_mode auto_mapping peft_version", "PEFT writes it for itself"),
};

/** Those that rgx obeys have the same names in rgx's schema. */
export const PEFT: ForeignTable = {
  obeyed: {},
  values: {},
  translated: {},
  withoutEffect: flatAndIn("lora", WITHOUT_EFFECT),
  refused: {
    ...flatAndIn("lora", LORA),
    "lora.base_model_name_or_path": refused("model.model_name_or_path"),
    base_model_name_or_path: refused("model.model_name_or_path"),
  },
};

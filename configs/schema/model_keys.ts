/**
 * Keys of the model and of its adapter: sections `model`, `model.init` and `lora` (PEFT 0.21's
 * LoraConfig).
 */
import { key, keys } from "../types/key_spec.ts";
import { excludedModules, moduleNames, modulePattern, targetModules } from "./lora_types.ts";
import { int, listOf, text } from "../types/value_types.ts";

/** The default alphabet: printable ASCII and the line break. */
export const ASCII = "\n" + String.fromCharCode(...Array.from({ length: 95 }, (_, i) => 32 + i));

export const TOKENIZER = {
  path: "model.init.tokenizer",
  about: "the character-level tokenizer's characters and special tokens",
  keys: keys({ texts: listOf(text(), "a list of text") }, {
    type: "one characters = characters -- one token a character",
    alphabet: key(text(), ASCII, "all characters that are tokens"),
    special_tokens: `texts = ["<pad>","<unk>","<eos>","<answer>","</answer>"] -- tokens of several
      characters; <eos> and <unk> must be there`,
  }),
};

export const INIT = {
  path: "model.init",
  about: "a model that is made from a seed in place of a loaded one; null: none",
  parts: { tokenizer: TOKENIZER },
  isOptional: true as const,
  keys: keys({}, {
    architecture: "one llama = llama -- Llama: GQA, RoPE, RMSNorm, SwiGLU",
    hidden_size: "int>=2 = required -- width of the residual stream",
    intermediate_size: "int>=1 = required -- width of the MLP's inner layer",
    num_hidden_layers: "int>=1 = required -- decoder layers",
    num_attention_heads: "int>=1 = required -- query heads",
    num_key_value_heads: key(
      int({ min: 1 }),
      (init) => (init.num_attention_heads as number | undefined) ?? 1,
      "key and value heads, which divide the query heads",
    ),
    max_position_embeddings: "int>=2 = 512 -- longest sequence, prompt and completion",
    rope_theta: "number>0 = 10000 -- base of the rotary angles",
    rms_norm_eps: "number>0 = 1e-5 -- added to the mean square before the root",
    tie_word_embeddings: "bool = true -- the head has the weights of the embedding",
    initializer_range: "number>0 = 0.02 -- standard deviation of the first weights",
  }),
};

export const MODEL = {
  path: "model",
  about: "the model that is trained, and how it is held in memory",
  parts: { init: INIT },
  flat: true,
  keys: keys({}, {
    model_name_or_path: `name? = null -- folder of a Hugging Face model, GGUF file, or a name on
      the Hub that is in the local cache [model.name, model.model_name, model_name, model,
      model_path, model.model_path, model.path]`,
    adapter_name_or_path: `name? = null -- LoRA adapter (PEFT's folder, or a name on the Hub) that
      is trained further on model_name_or_path; its file says its rank, alpha, modules and, unless
      it is written, its dropout; the reference of beta is the adapter as it was`,
    tokenizer_name_or_path: "name? = null -- folder of the tokenizer; null = the model's",
    chat_template: `text? = null -- chat template in place of the model's: a file, or the Jinja
      text itself [model.chat_template_path, chat_template_path, training.chat_template_path]`,
    shape: `map? = null -- sizes as in the model's config.json, and in \`of\` the name of the
      model that has them (absent: this one): a dry run plans memory with them where the model is
      not there; names in rgx's own configs/models need none`,
    rope_scaling: `map? = null -- RoPE scaling in place of that of the model's config.json, with
      its keys ({rope_type: yarn, factor: 4}): for texts beyond the model's length; not with lora,
      whose files would not say it`,
    dtype: `one auto|float32|float16|bfloat16 = auto -- what frozen weights are held in: auto = as
      they are stored, others widen or round them; with bfloat16 and no lora section, matrices are
      also trained in it (training.bf16_rounding); all else that is trained and all sums are
      float32`,
    load_in_4bit: `bool = false -- quantise the frozen linear layers at load: NF4 in blocks of 64,
      scales in 8 bits (double quantisation)`,
    load_in_8bit: `bool = false -- quantise the frozen linear layers at load: 8 bits in blocks of
      64`,
  }),
};

export const LORA = {
  path: "lora",
  about: "the adapter that is trained; null: full fine-tuning",
  isOn: ({ enabled }: { enabled: boolean }) => enabled,
  flat: true,
  isOptional: true as const,
  keys: keys({
    targets: targetModules(),
    excluded: excludedModules(),
    modules: moduleNames(),
    layers: listOf(int({ min: 0 }), "a list of layer numbers"),
    tokens: listOf(int({ min: 0 }), "a list of token ids"),
    ranks: modulePattern(int({ min: 1 })),
    alphas: modulePattern(),
  }, {
    enabled: "bool = true -- false: full fine-tuning although there is a lora section",
    r: "int>=1 = 16 -- rank of A and B [lora.rank, lora_rank]",
    lora_alpha: "number>0 = 32 -- the adapter's output is scaled by lora_alpha / r [lora.alpha]",
    lora_dropout: `number>=0<1 = 0 -- share of what A reads that is dropped while training
      [lora.dropout]`,
    target_modules: `targets? = null -- modules with an adapter: names, ends of paths, or an
      expression for the whole path; null = q_proj and v_proj, of GPT-2 c_attn; all-linear = all
      of the layers; lm_head = the head; embed_tokens, of GPT-2 wte = the embedding`,
    target_parameters:
      `modules = [] -- parameters of experts and routers with an adapter, by the end
      of their path: mlp.experts.gate_up_proj, mlp.experts.down_proj, mlp.gate.weight`,
    use_rslora: "bool = false -- the adapter's output is scaled by lora_alpha / √r",
    use_dora: `bool = false -- DoRA: beside A and B, a magnitude is trained for every output of an
      adapted module`,
    bias: `one none|all|lora_only = none -- biases of the model that are trained and stored with the
      adapter: all, or those of the adapted modules`,
    lora_bias: `bool = false -- B has a bias; merging needs modules that have one`,
    trainable_token_indices: `tokens? = null -- ids of tokens whose rows of the embedding are
      trained, and of a head that is tied to it`,
    modules_to_save: `modules = [] -- modules, by the end of their path, that are trained in full
      and stored with the adapter: lm_head, embed_tokens, norm, …`,
    exclude_modules: `excluded = [] -- names, ends of paths or an expression for the whole path of
      modules without an adapter`,
    layers_to_transform: "layers? = null -- layers with an adapter, counted from 0; null = all",
    rank_pattern: "ranks = {} -- another r, by module",
    alpha_pattern: "alphas = {} -- another lora_alpha, by module",
    init_lora_weights: `one true|false|gaussian|pissa|olora same true=true|false=false = "true" --
      true: A uniform, B zero; gaussian: A normal with deviation 1/r, B zero; false: both uniform;
      pissa: A and B are the largest singular values of the weight, olora: its QR decomposition; both
      are taken out of the weight`,
  }),
};

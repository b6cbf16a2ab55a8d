/** What is trained: a model, and an adapter on it. */

/** The model that is trained, and how it is held in memory. */
export interface ModelSection {
  /**
   * Folder of a Hugging Face model, GGUF file, or a name on the Hub that is in the local cache.
   */
  model_name_or_path: string | null;
  /**
   * LoRA adapter (PEFT's folder, or a name on the Hub) that is trained further on
   * model_name_or_path; its file says its rank, alpha, modules and, unless it is written, its
   * dropout; the reference of beta is the adapter as it was.
   */
  adapter_name_or_path: string | null;
  /** Folder of the tokenizer; null = the model's. */
  tokenizer_name_or_path: string | null;
  /** Chat template in place of the model's: a file, or the Jinja text itself. */
  chat_template: string | null;
  /**
   * Sizes as in the model's config.json, and in `of` the name of the model that has them (absent:
   * this one): a dry run plans memory with them where the model is not there; names in rgx's own
   * configs/models need none.
   */
  shape: Record<string, unknown> | null;
  /**
   * RoPE scaling in place of that of the model's config.json, with its keys ({rope_type: yarn,
   * factor: 4}): for texts beyond the model's length; not with lora, whose files would not say it.
   */
  rope_scaling: Record<string, unknown> | null;
  /**
   * What frozen weights are held in: auto = as they are stored, others widen or round them; with
   * bfloat16 and no lora section, matrices are also trained in it (training.bf16_rounding); all
   * else that is trained and all sums are float32.
   */
  dtype: "auto" | "float32" | "float16" | "bfloat16";
  /**
   * Quantise the frozen linear layers at load: NF4 in blocks of 64, scales in 8 bits (double
   * quantisation).
   */
  load_in_4bit: boolean;
  /** Quantise the frozen linear layers at load: 8 bits in blocks of 64. */
  load_in_8bit: boolean;
  /** A model that is made from a seed in place of a loaded one. */
  init: ModelInit | null;
}

/** A model that is made from a seed instead of loaded (rgx's own section `model.init`). */
export interface ModelInit {
  /** Llama: GQA, RoPE, RMSNorm, SwiGLU. */
  architecture: "llama";
  /** Width of the residual stream. */
  hidden_size: number;
  /** Width of the MLP's inner layer. */
  intermediate_size: number;
  /** Decoder layers. */
  num_hidden_layers: number;
  /** Query heads. */
  num_attention_heads: number;
  /** Key and value heads, which divide the query heads. */
  num_key_value_heads: number;
  /** Longest sequence, prompt and completion. */
  max_position_embeddings: number;
  /** Base of the rotary angles. */
  rope_theta: number;
  /** Added to the mean square before the root. */
  rms_norm_eps: number;
  /** The head has the weights of the embedding. */
  tie_word_embeddings: boolean;
  /** Standard deviation of the first weights. */
  initializer_range: number;
  /** Characters of the character-level tokenizer and its special tokens. */
  tokenizer: { type: "characters"; alphabet: string; special_tokens: string[] };
}

/** The adapter that is trained: PEFT's LoraConfig. */
export interface LoraSection {
  /** Rank of A and B. */
  r: number;
  /** The adapter's output is scaled by lora_alpha / r. */
  lora_alpha: number;
  /** Share of what A reads that is dropped while training. */
  lora_dropout: number;
  /**
   * Modules with an adapter: names, ends of paths, or an expression for the whole path; null =
   * q_proj and v_proj, of GPT-2 c_attn; all-linear = all of the layers; lm_head = the head.
   */
  target_modules: string[] | string | null;
  /** The adapter's output is scaled by lora_alpha / √r. */
  use_rslora: boolean;
  /**
   * Modules, by the end of their path, that are trained in full and stored with the adapter:
   * lm_head, embed_tokens, norm, ….
   */
  modules_to_save: string[];
  /** Names, ends of paths or an expression for the whole path of modules without an adapter. */
  exclude_modules: string[] | string;
  /** Layers with an adapter, counted from 0; null = all. */
  layers_to_transform: number[] | null;
  /** Another r, by module. */
  rank_pattern: Record<string, number>;
  /** Another lora_alpha, by module. */
  alpha_pattern: Record<string, number>;
  /**
   * true: A uniform, B zero; gaussian: A normal with deviation 1/r, B zero; false: both uniform.
   */
  init_lora_weights: "true" | "false" | "gaussian";
}

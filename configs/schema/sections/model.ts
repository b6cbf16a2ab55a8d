/** What is trained: a model, and an adapter on it. */

/** The model that is trained, and how it is held in memory. */
export interface ModelSection {
  /**
   * Folder of a Hugging Face model, a GGUF file, or a name on the Hub; null when `init` is given.
   */
  model_name_or_path: string | null;
  /** A LoRA adapter that is trained further: a folder, or a name on the Hub; null = a new one. */
  adapter_name_or_path: string | null;
  /** Folder of the tokenizer; null = the model's. */
  tokenizer_name_or_path: string | null;
  /** A Jinja template, or the path of a file with one; null = the model's own. */
  chat_template: string | null;
  /** Fields of a config.json and `of`, the name of the model (`configs/model_shapes.ts`). */
  shape: Record<string, unknown> | null;
  /** Section `rope_scaling` of a config.json, in place of the model's own; null = its own. */
  rope_scaling: Record<string, unknown> | null;
  /** Storage type of frozen weights; auto = as they are stored in the files. */
  dtype: "auto" | "float32" | "float16" | "bfloat16";
  /** Frozen linear layers are quantised when they are loaded. At most one of the two is set. */
  load_in_4bit: boolean;
  /** As load_in_4bit (NF4), in 8 bits. */
  load_in_8bit: boolean;
  /** A model that is made from a seed in place of a loaded one. */
  init: ModelInit | null;
}

/** A model that is made from a seed instead of loaded (rgx's own section `model.init`). */
export interface ModelInit {
  /** Llama's layers: GQA, RoPE, RMSNorm, SwiGLU. */
  architecture: "llama";
  /** Width of the residual stream. */
  hidden_size: number;
  /** Width of the MLP's inner layer. */
  intermediate_size: number;
  /** Number of decoder layers. */
  num_hidden_layers: number;
  /** Number of query heads. */
  num_attention_heads: number;
  /** Number of key and value heads; it divides the number of query heads. */
  num_key_value_heads: number;
  /** Longest sequence in tokens, prompt and completion together. */
  max_position_embeddings: number;
  /** Base of the rotary angles. */
  rope_theta: number;
  /** Added to the mean square before its root. */
  rms_norm_eps: number;
  /** Whether the head has the weights of the embedding. */
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
  /** Share of the adapter's inputs that is dropped in training. */
  lora_dropout: number;
  /**
   * Names, ends of paths, a regular expression for the whole path, or "all-linear". null = the
   * default of the architecture.
   */
  target_modules: string[] | string | null;
  /** Whether the scale is lora_alpha / √r. */
  use_rslora: boolean;
  /** Modules that are trained in full and stored with the adapter. */
  modules_to_save: string[];
  /** Names, ends of paths, or a regular expression for the whole path. */
  exclude_modules: string[] | string;
  /** null = all. */
  layers_to_transform: number[] | null;
  /** Another `r` for some modules, by name. */
  rank_pattern: Record<string, number>;
  /** Another `lora_alpha` for some modules, by name. */
  alpha_pattern: Record<string, number>;
  /**
   * `true`: A uniform, B zero. `gaussian`: A normal with deviation 1/r, B zero. `false`: both
   * uniform.
   */
  init_lora_weights: "true" | "false" | "gaussian";
}

/**
 * The typed result of reading a configuration: what the trainer gets. Keys are TRL's and transformers'
 * (GRPOConfig 1.16, TrainingArguments 5.23, PEFT LoraConfig 0.21); a key exists here once it has an effect.
 * Defaults live in the schema (`schema.ts`), not here.
 */

/** A model made from a seed instead of loaded (rgx's own section `model.init`). */
export interface ModelInit {
  architecture: "llama";
  hidden_size: number;
  intermediate_size: number;
  num_hidden_layers: number;
  num_attention_heads: number;
  num_key_value_heads: number;
  max_position_embeddings: number;
  rope_theta: number;
  rms_norm_eps: number;
  tie_word_embeddings: boolean;
  initializer_range: number;
  /** Characters of the character-level tokenizer and its special tokens. */
  tokenizer: { type: "characters"; alphabet: string; special_tokens: string[] };
}

export interface LoraSection {
  r: number;
  lora_alpha: number;
  lora_dropout: number;
  target_modules: string[] | "all-linear";
  use_rslora: boolean;
}

export interface RewardSection {
  name: string;
  weight: number;
  /** The reward's own parameters, checked against what its registry entry declares. */
  params: Record<string, unknown>;
}

export type SchedulerType = "linear" | "cosine" | "constant" | "constant_with_warmup";

export interface RunConfig {
  model: {
    /** Folder of a Hugging Face model, or null when `init` is given. */
    model_name_or_path: string | null;
    tokenizer_name_or_path: string | null;
    init: ModelInit | null;
  };
  /** null = full fine-tuning. */
  lora: LoraSection | null;
  data: {
    /** Procedural task, or null when `dataset_name` is given. */
    task_name: string | null;
    task_config: Record<string, unknown>;
    /** JSONL file with question/answer or prompt columns. */
    dataset_name: string | null;
    num_examples: number;
    seed: number;
    add_instructions: boolean;
    system_prompt: string | null;
  };
  rewards: RewardSection[];
  /** Supervised warm start before GRPO, or null. */
  sft: {
    max_steps: number;
    per_device_train_batch_size: number;
    learning_rate: number;
    lr_scheduler_type: SchedulerType;
    warmup_steps: number;
    weight_decay: number;
    max_grad_norm: number;
  } | null;
  /** Held-out evaluation before and after training. num_examples 0 = none. */
  eval: { num_examples: number; temperature: number | null; batch_size: number };
  training: {
    output_dir: string;
    learning_rate: number;
    per_device_train_batch_size: number;
    gradient_accumulation_steps: number;
    num_train_epochs: number;
    max_steps: number;
    lr_scheduler_type: SchedulerType;
    warmup_steps: number;
    weight_decay: number;
    adam_beta1: number;
    adam_beta2: number;
    adam_epsilon: number;
    max_grad_norm: number;
    seed: number;
    logging_steps: number;
    save_steps: number;
    save_total_limit: number | null;
    shuffle_dataset: boolean;
    num_generations: number;
    max_completion_length: number;
    max_prompt_length: number | null;
    temperature: number;
    top_p: number;
    top_k: number;
    min_p: number | null;
    beta: number;
    use_bias_correction_kl: boolean;
    /** Dropout (of adapters) is off in training too. */
    disable_dropout: boolean;
    epsilon: number;
    epsilon_high: number | null;
    loss_type: "dapo";
    scale_rewards: "group";
    log_completions: boolean;
    num_completions_to_print: number;
  };
  logging: { run_name: string; project: string };
}

/** How completions are drawn, and where. */

/** How completions are sampled. `generation_kwargs` has been translated into these keys. */
export interface SamplingSection {
  /** G, the completions of one prompt. */
  num_generations: number;
  /**
   * Completions of one problem in evaluation while training, 1 or more; null = num_generations.
   */
  num_generations_eval: number | null;
  /** Tokens of a completion at most. */
  max_completion_length: number;
  /** Longer prompts are refused, or cut (truncate_prompts); null = no prompt is too long. */
  max_prompt_length: number | null;
  /** left: longer prompts keep their last max_prompt_length tokens; null: they are refused. */
  truncate_prompts: "left" | null;
  /**
   * Values for the chat template, for example {enable_thinking: false} for Qwen3; those of a row of
   * the data go before them.
   */
  chat_template_kwargs: Record<string, unknown>;
  /** Logits are divided by it before a token is drawn. */
  temperature: number;
  /** Nucleus sampling: only the likeliest tokens that have this probability together; 1 = off. */
  top_p: number;
  /** Only the k likeliest tokens; 0 = off. */
  top_k: number;
  /** Only tokens with min_p × the probability of the likeliest, or more; null = all. */
  min_p: number | null;
  /**
   * Logits of tokens that were in the prompt or the completion are divided by it if positive,
   * multiplied by it if negative; 1 = off.
   */
  repetition_penalty: number;
  /** No end-of-text token before so many tokens. */
  min_new_tokens: number;
  /** Texts after which a completion ends; the text is kept. */
  stop: string[];
  /** Seed of sampling; null = seed. */
  generation_seed: number | null;
}

/** Where the completions of training are sampled. */
export interface GenerationSection {
  /**
   * Who samples the completions of training: the trainer's process, or servers with OpenAI's API
   * (rgx serve, vLLM; docs/rollouts.md).
   */
  backend: "in_process" | "openai";
  /** openai: address of the server, or of several that share the prompts. */
  base_url: string[] | null;
  /** openai: environment variable with the key; null = OPENAI_API_KEY, which may be unset. */
  api_key_env: string | null;
  /**
   * openai: seconds for which all servers may be down before the run saves a checkpoint and ends
   * with exit code 75.
   */
  server_timeout: number;
  /**
   * openai: train on samples of the policy of so many steps ago, so that servers sample while the
   * trainer trains; 0 = always the present policy.
   */
  max_staleness: number;
}

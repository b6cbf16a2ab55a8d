/** How completions are drawn, and where. */

/** How completions are sampled. `generation_kwargs` has been translated into these keys. */
export interface SamplingSection {
  /** G: completions of one prompt. */
  num_generations: number;
  /**
   * Completions of one problem in evaluation while training; null = num_generations. 1 is allowed.
   */
  num_generations_eval: number | null;
  /** Maximum number of tokens of a completion. */
  max_completion_length: number;
  /** Maximum number of tokens of a prompt; null = none. */
  max_prompt_length: number | null;
  /**
   * What happens to longer prompts: null = refused before step 1, left = the last tokens are kept.
   */
  truncate_prompts: "left" | null;
  /** Values for the chat template; those of a row of the data go before them. */
  chat_template_kwargs: Record<string, unknown>;
  /** Logits are divided by it before a token is drawn. */
  temperature: number;
  /** Nucleus sampling: only the likeliest tokens that have this probability together; 1 = all. */
  top_p: number;
  /** Only this many of the likeliest tokens; 0 = all. */
  top_k: number;
  /** Only tokens with min_p × the probability of the likeliest, or more; null = all. */
  min_p: number | null;
  /**
   * Logits of tokens that occurred before (in prompt or completion) are divided by it if positive,
   * multiplied by it if negative; 1 = off.
   */
  repetition_penalty: number;
  /** Minimum number of tokens before the end-of-text token. */
  min_new_tokens: number;
  /** A completion ends after the first of these texts, which is kept. */
  stop: string[];
  /** Seed of sampling; null = seed. */
  generation_seed: number | null;
}

/** Where the completions of training are sampled. */
export interface GenerationSection {
  /** The trainer's own process, or servers with OpenAI's API. */
  backend: "in_process" | "openai";
  /** Not empty for openai, else null. */
  base_url: string[] | null;
  /** null = OPENAI_API_KEY. */
  api_key_env: string | null;
  /** Seconds. */
  server_timeout: number;
  /** Steps; 0 = the present policy samples. */
  max_staleness: number;
}

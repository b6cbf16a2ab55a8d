/**
 * Keys of how completions are sampled (generation parameters of GRPOConfig): section `training`.
 */
import { keys } from "../types/key_spec.ts";
import { int, name, oneOrMore, refine, text, type ValueType } from "../types/value_types.ts";

/** A text that ends a completion: any text that is not empty, also a line break. */
const STOP_TEXT = refine(text(), (value) => value === "" ? "expected text, found none" : null);

const FROM_0 = int({ min: 0 });
/** 0 switches it off; in other programs −1 (vLLM, verl) or null (older TRL) does. */
const TOP_K: ValueType<number> = {
  expected: FROM_0.expected,
  ts: "number",
  read(node, complain) {
    const isOff = node.kind === "scalar" && (node.value === -1 || node.value === null);
    return isOff ? 0 : FROM_0.read(node, complain);
  },
};

export const SAMPLING_KEYS = keys({
  stop: oneOrMore(STOP_TEXT, "a list of text"),
  top_k: TOP_K,
}, {
  num_generations: "int>=2 = 8 -- G, the completions of one prompt",
  num_generations_eval: `int>=1? = null -- completions of one problem in evaluation while
    training, 1 or more; null = num_generations`,
  max_completion_length: `int>=1 = 512 -- tokens of a completion at most; of a dialogue all
    that follows the prompt [max_tokens]`,
  max_tool_calling_iterations: `int>=0? = null -- answers with calls of tools whose calls are
    executed, in a dialogue; null: no limit`,
  max_prompt_length: `int>=1? = null -- longer prompts are refused, or cut (truncate_prompts);
    null = no prompt is too long`,
  chat_template_kwargs: `map = {} -- values for the chat template, for example {enable_thinking:
    false} for Qwen3; those of a row of the data go before them`,
  truncate_prompts: `one left? = null -- left: longer prompts keep their last max_prompt_length
    tokens; null: they are refused`,
  temperature: "number>0 = 1 -- logits are divided by it before a token is drawn",
  top_p: `number>0<=1 = 1 -- nucleus sampling: only the likeliest tokens that have this
    probability together; 1 = off`,
  top_k: "top_k = 0 -- only the k likeliest tokens; 0 = off",
  min_p: `number>=0<=1? = null -- only tokens with min_p × the probability of the likeliest, or
    more; null = all`,
  repetition_penalty: `number>0 = 1 -- logits of tokens that were in the prompt or the completion
    are divided by it if positive, multiplied by it if negative; 1 = off`,
  min_new_tokens: "int>=0 = 0 -- no end-of-text token before so many tokens",
  stop: "stop = [] -- texts after which a completion ends; the text is kept",
  generation_seed: "int>=0? = null -- seed of sampling; null = seed",
});

const WORDS = "an address such as http://HOST:8000, or a list of them";

const ADDRESS: ValueType<string> = refine(
  name(),
  (value) => /^https?:\/\/./.test(value) && URL.canParse(value) ? null : WORDS,
);

export const GENERATION = {
  path: "generation",
  about: "who samples the completions",
  keys: keys({ addresses: oneOrMore(ADDRESS, WORDS) }, {
    backend: `one in_process|openai = in_process -- who samples the completions of training: the
      trainer's process, or servers with OpenAI's API (rgx serve, vLLM; docs/rollouts.md)`,
    activations: `one float32|int8 = float32 -- in_process: int8 samples training's completions with
      rounded inputs of 4-bit weights, faster on a CPU; the loss is corrected for it as for a
      server's (vllm_importance_sampling_correction), evaluations are not rounded`,
    kv_cache_dtype: `one float32|bfloat16 = float32 -- in_process, on a CPU: bfloat16 samples
      training's completions with rounded keys and values, which take half of the memory; the loss
      is corrected for it as for rounded activations, evaluations are not rounded`,
    base_url: `addresses? = null -- openai: address of the server, or of several that share the
      prompts`,
    api_key_env: `name? = null -- openai: environment variable with the key; null =
      OPENAI_API_KEY, which may be unset`,
    server_timeout: `number>=0 = 240 -- openai: seconds for which all servers may be down before
      the run saves a checkpoint and ends with exit code 75`,
    max_staleness: `int>=0<=100 = 0 -- openai: train on samples of the policy of so many steps
      ago, so that servers sample while the trainer trains; 0 = always the present policy`,
  }),
};

/** Keys of where the completions of a run are sampled: section `generation`. */
import { keys } from "../types/key_spec.ts";
import { name, oneOrMore, refine, type ValueType } from "../types/value_types.ts";

const WORDS = "an address such as http://HOST:8000, or a list of them";

const ADDRESS: ValueType<string> = refine(
  name(),
  (value) => /^https?:\/\/./.test(value) && URL.canParse(value) ? null : WORDS,
);

export const GENERATION = {
  path: "generation",
  flat: false,
  keys: keys({ addresses: oneOrMore(ADDRESS, WORDS) }, {
    backend: `one in_process|openai = in_process -- who samples the completions of training: the
      trainer's process, or servers with OpenAI's API (rgx serve, vLLM; docs/rollouts.md)`,
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

/** The built-in reward `judge`: a language model behind an OpenAI-compatible server rates. */
import type { ParamSpec } from "../../core/named_params.ts";
import type { ScorerReward } from "../scorer.ts";
import { JudgeScorer, judgeSettings } from "./judge_scorer.ts";

const text = (description: string): ParamSpec => ({
  type: "string",
  default: null,
  nullable: true,
  description,
});
const price = (tokens: string): ParamSpec => ({
  type: "float",
  default: null,
  nullable: true,
  min: 0,
  description: `price of a million ${tokens} tokens, in any currency; null: not known`,
});

export const judge: ScorerReward = {
  name: "judge",
  description: "The rating of a model behind an OpenAI-compatible server, brought to 0 … 1. An " +
    "answer without a rating is a failure, which counts 0, unless invalid_value is given.",
  params: {
    base_url: text("address of the server, as http://HOST:PORT/v1; null: OPENAI_BASE_URL"),
    model: text("its name on the server; null: the only one that the server lists"),
    api_key_env: text("environment variable with the key; null: OPENAI_API_KEY, if it is set"),
    prompt_template: text(
      "what is asked; {question}, {prompt}, {answer}, {completion}, {min} and {max} are filled " +
        "in; null: rgx's own",
    ),
    system_prompt: text("system message; null: none"),
    scale: { type: "float[]", default: [0, 10], description: "lowest and highest rating" },
    normalize: {
      type: "bool",
      default: true,
      description: "bring ratings to 0 … 1; false: the rating itself is the value",
    },
    invalid_value: {
      type: "float",
      default: null,
      nullable: true,
      description: "value of an answer without a rating; null: such an answer is a failure",
    },
    temperature: { type: "float", default: 0, min: 0, description: "temperature of the judge" },
    max_tokens: { type: "int", default: 512, min: 1, description: "longest answer of the judge" },
    extra_body: {
      type: "any",
      default: {},
      description: "further fields of each request, such as {top_p: 0.9}",
    },
    concurrency: { type: "int", default: 8, min: 1, description: "requests at the same time" },
    retries: {
      type: "int",
      default: 4,
      min: 0,
      description: "further attempts of a request that failed, with growing pauses",
    },
    cache: {
      type: "bool",
      default: true,
      description: "keep answers in the user's cache: the same question costs once",
    },
    price_in: price("prompt"),
    price_out: price("new"),
  },
  check: (params) => void judgeSettings(params),
  createScorer: (name, params, timeout) => new JudgeScorer(name, judgeSettings(params), timeout),
};

/** Keys of sampling completions (GRPOConfig's generation parameters): section `training`. */
import { key, type Section } from "./key_spec.ts";
import type { SamplingSection } from "./run_config.ts";
import { choice, float, int, listOf, name, nullable, type ValueType } from "./value_types.ts";

/** `name` in the nested styles of the field: alone, in `generation`, in `training.generation_config`. */
function sampling(...names: string[]): string[] {
  return names.flatMap((name) => [
    `generation.${name}`,
    `training.generation_config.${name}`,
    `generation_config.${name}`,
  ]);
}

/** One text alone is a list of it. */
const STOP: ValueType<string[]> = {
  expected: "a list of text",
  read(node, complain) {
    if (node.kind === "list") return listOf(name(), "a list of text").read(node, complain);
    const one = name().read(node, complain);
    return one === undefined ? undefined : [one];
  },
};

export const SAMPLING_KEYS: Section<SamplingSection>["keys"] = {
  num_generations: key(int({ min: 2 }), 8, "completions of one prompt", [
    "num_return_sequences",
    ...sampling("num_return_sequences", "num_generations"),
    "actor_rollout_ref.rollout.n",
  ]),
  num_generations_eval: key(
    nullable(int({ min: 1 })),
    null,
    "completions of one problem in evaluation while training; null = num_generations",
  ),
  max_completion_length: key(int({ min: 1 }), 512, "tokens of a completion at most", [
    "max_new_tokens",
    ...sampling("max_new_tokens", "max_completion_length"),
    "data.max_response_length",
    "max_tokens",
  ]),
  max_prompt_length: key(
    nullable(int({ min: 1 })),
    null,
    "longer prompts are refused, or cut (truncate_prompts)",
    [
      "data.max_prompt_length",
      "generation.max_prompt_length",
    ],
  ),
  truncate_prompts: key(
    nullable(choice(["left"])),
    null,
    "left: longer prompts keep their last max_prompt_length tokens; null: they are refused",
  ),
  temperature: key(float({ above: 0 }), 1, "softmax temperature of sampling", [
    ...sampling("temperature"),
    "actor_rollout_ref.rollout.temperature",
  ]),
  top_p: key(float({ above: 0, max: 1 }), 1, "nucleus sampling; 1 = off", [
    ...sampling("top_p"),
    "actor_rollout_ref.rollout.top_p",
  ]),
  top_k: key(int({ min: 0 }), 0, "only the k likeliest tokens; 0 = off", [
    ...sampling("top_k"),
    "actor_rollout_ref.rollout.top_k",
  ]),
  min_p: key(
    nullable(float({ min: 0, max: 1 })),
    null,
    "only tokens of at least min_p × the likeliest",
    sampling("min_p"),
  ),
  repetition_penalty: key(float({ above: 0 }), 1, "> 1: tokens that were there are less likely", [
    ...sampling("repetition_penalty"),
  ]),
  min_new_tokens: key(int({ min: 0 }), 0, "no end before so many tokens", [
    ...sampling("min_new_tokens"),
  ]),
  stop: key<string[]>(
    STOP,
    () => [],
    "texts after which a completion ends",
    sampling("stop"),
  ),
  generation_seed: key(nullable(int({ min: 0 })), null, "seed of sampling; null = seed"),
};

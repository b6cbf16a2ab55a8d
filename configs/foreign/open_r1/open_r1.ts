/** Keys that recipes of open-r1 have beside TRL's: GRPOScriptArguments, GRPOConfig, SFTConfig. */
import { key, type KeySpec } from "../../types/key_spec.ts";
import { float, freeMap, int, nullable, text } from "../../types/value_types.ts";
import {
  allMean,
  flatAndIn,
  type ForeignTable,
  type RefusedKey,
  steersElsewhere,
} from "../foreign_table.ts";

/** Key of a recipe → the reward, by its name there, and the parameter that it sets. */
export const REWARD_PARAMETERS: Readonly<Record<string, readonly [reward: string, name: string]>> =
  {
    cosine_min_value_wrong: ["cosine", "min_value_wrong"],
    cosine_max_value_wrong: ["cosine", "max_value_wrong"],
    cosine_min_value_correct: ["cosine", "min_value_correct"],
    cosine_max_value_correct: ["cosine", "max_value_correct"],
    cosine_max_len: ["cosine", "max_len"],
    repetition_n_grams: ["repetition_penalty", "ngram_size"],
    repetition_max_penalty: ["repetition_penalty", "max_penalty"],
    code_language: ["code_format", "language"],
    max_completion_len: ["soft_overlong_punishment", "max_completion_len"],
    soft_punish_cache: ["soft_overlong_punishment", "soft_punish_cache"],
  };

/** Where the key of a parameter stands in the tree. */
export const parameterPath = (name: string) => `training.${name}`;

/** The parameters' keys. The reward checks their ranges. */
const PARAMETER_KEYS = Object.fromEntries(
  Object.entries(REWARD_PARAMETERS).map(([name, [reward, parameter]]): [string, KeySpec] => {
    const type = /value|penalty/.test(parameter)
      ? float()
      : parameter === "language"
      ? text()
      : int();
    const doc = `open-r1: ${parameter} of the reward ${reward}`;
    return [parameterPath(name), key<unknown>(nullable<unknown>(type), null, doc, [name])];
  }),
);

const REVISION = "push_to_hub: true uploads to the branch hub_revision";

const TRAINING: Record<string, RefusedKey> = {
  benchmarks: steersElsewhere("rgx bench asks a model after its training", []),
  callbacks: steersElsewhere(
    "push_to_hub: true with hub_strategy: every_save uploads at each save",
    [],
  ),
  overwrite_hub_revision: steersElsewhere(REVISION, false),
  push_to_hub_revision: steersElsewhere(REVISION, false),
};

const WANDB = "rgx writes wandb's files for wandb sync, which may upload them with --entity NAME";

const CODE_KEYS = "code_eval_test_batch_size code_eval_scoring_mode parallel_code_exec_per_proc " +
  "e2b_router_url morph_router_url code_provider ioi_provider";

export const OPEN_R1: ForeignTable = {
  obeyed: allMean("training.hub_revision", "hub_model_revision", "training.hub_model_revision"),
  values: {},
  translated: {
    ...PARAMETER_KEYS,
    "data.dataset_mixture": key(
      nullable(freeMap()),
      null,
      "open-r1: a mixture of one data set, its `id` as dataset_name, its `config` as " +
        "dataset_config, its `split` as dataset_train_split, `test_split_size` as what train_ratio leaves",
      ["dataset_mixture"],
    ),
  },
  withoutEffect: flatAndIn("training", {
    wandb_entity: WANDB,
    wandb_run_group: "runs have no groups; curves compares any of them",
  }),
  dormant: flatAndIn(
    "training",
    Object.fromEntries(
      CODE_KEYS.split(" ").map((name) => [name, "the rewards that run code, which are refused"]),
    ),
  ),
  refused: flatAndIn("training", TRAINING),
};

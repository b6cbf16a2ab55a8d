/**
 * The typed result of reading a configuration, which the trainer gets: the types of its keys are
 * those of the schema. Keys are those of TRL and transformers (GRPOConfig 1.16, TrainingArguments
 * 5.23, PEFT's LoraConfig 0.21). In a package the types are written out, with the meaning of each
 * key (`tools/package/config_types.ts`).
 */
import type { PartValues, Values } from "../types/key_spec.ts";
import type { ALGORITHM_KEYS } from "./algorithm_keys.ts";
import type { LOOP_KEYS } from "./loop_keys.ts";
import type { LORA } from "./model_keys.ts";
import type { ENVIRONMENTS } from "./multi_turn_keys.ts";
import type { RewardSection } from "./reward_section.ts";
import type { PARTS } from "./schema.ts";

/**
 * The sections of a configuration.
 * @internal
 */
type Sections = Omit<PartValues<typeof PARTS>, "lora">;

/** A model that is made from a seed instead of loaded (rgx's own section `model.init`). */
export type ModelInit = NonNullable<RunConfig["model"]["init"]>;

/** The adapter that is trained: PEFT's LoraConfig. */
export type LoraSection = Omit<Values<typeof LORA["keys"]>, "enabled">;

/** reasoning-gym's curriculum: after each step the levels of a task go up or down by its scores. */
export type CurriculumSection = NonNullable<RunConfig["curriculum"]>;

/** Training on preferences (`rgx dpo`). */
export type DpoSection = NonNullable<RunConfig["dpo"]>;

/** The model that the policy learns from. */
export type TeacherSection = NonNullable<RunConfig["teacher"]>;

/** The training loop: optimizer, schedule, logging, evaluation, checkpoints. */
export type LoopSection = Values<typeof LOOP_KEYS>;

/** How the policy is trained on completions: GRPO and its variants. */
export type AlgorithmSection = Values<typeof ALGORITHM_KEYS>;

/** How the ratio between the policy and the sampler is computed and bounded. */
export type ImportanceMode = AlgorithmSection["vllm_importance_sampling_mode"];

/** The environment that a dialogue is held with, and the tools of the model. */
export type EnvironmentKeys = Values<typeof ENVIRONMENTS["keys"]>;

/**
 * A whole configuration with canonical keys and all defaults filled in. docs/configuration.md
 * explains each key.
 */
export interface RunConfig extends Sections, EnvironmentKeys {
  /** null = full fine-tuning. */
  lora: LoraSection | null;
  /** At least one; each completion gets the weighted sum of their values. */
  rewards: RewardSection[];
}

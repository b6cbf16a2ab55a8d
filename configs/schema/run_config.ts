/**
 * The typed result of reading a configuration, which the trainer gets: the types of its keys are
 * those of the schema. Keys are those of TRL and transformers (GRPOConfig 1.16, TrainingArguments
 * 5.23, PEFT's LoraConfig 0.21). In a package the types are written out, with the meaning of each
 * key (`tools/package/config_types.ts`).
 */
import type { Values } from "../types/key_spec.ts";
import type { ALGORITHM_KEYS } from "./algorithm_keys.ts";
import type {
  CURRICULUM,
  CURRICULUM_SCHEDULE,
  DATA,
  DPO,
  EVAL,
  LOGGING,
  SFT,
  TEACHER,
} from "./data_keys.ts";
import type { GENERATION, SAMPLING_KEYS } from "./sampling_keys.ts";
import type { HF_UPLOAD, HUB_KEYS, LOOP_KEYS } from "./loop_keys.ts";
import type { INIT, LORA, MODEL, TOKENIZER } from "./model_keys.ts";
import type { ENVIRONMENTS, MULTI_TURN } from "./multi_turn_keys.ts";
import type { RewardSection } from "./reward_section.ts";
import type { SLURM } from "./slurm_keys.ts";

/** The values of a section without its switch: a section that is off is null as a whole. */
type On<K> = Omit<Values<K>, "enabled">;

/** A model that is made from a seed instead of loaded (rgx's own section `model.init`). */
export type ModelInit = Values<typeof INIT["keys"]> & {
  /** Characters of the character-level tokenizer and its special tokens. */
  tokenizer: Values<typeof TOKENIZER["keys"]>;
};

/** The adapter that is trained: PEFT's LoraConfig. */
export type LoraSection = On<typeof LORA["keys"]>;

/** reasoning-gym's curriculum: after each step the levels of a task go up or down by its scores. */
export type CurriculumSection = On<typeof CURRICULUM["keys"]> & {
  /** Whether levels of difficulty move with the results. */
  enabled: true;
  /** When levels go up without regard to scores. */
  schedule: Values<typeof CURRICULUM_SCHEDULE["keys"]>;
};

/** Training on preferences (`rgx dpo`). */
export type DpoSection = Values<typeof DPO["keys"]>;

/** The model that the policy learns from. */
export type TeacherSection = Values<typeof TEACHER["keys"]>;

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
export interface RunConfig extends EnvironmentKeys {
  /** The model that is trained, and how it is held in memory. */
  model: Values<typeof MODEL["keys"]> & {
    /** A model that is made from a seed in place of a loaded one. */
    init: ModelInit | null;
  };
  /** null = full fine-tuning. */
  lora: LoraSection | null;
  /** The problems, and how they become prompts. */
  data: Values<typeof DATA["keys"]>;
  /** Difficulty levels that follow the results, or null. */
  curriculum: CurriculumSection | null;
  /** At least one; each completion gets the weighted sum of their values. */
  rewards: RewardSection[];
  /** Supervised warm start before GRPO, or null. */
  sft: Values<typeof SFT["keys"]> | null;
  /** Training on preferences, or null: only `rgx dpo` obeys it. */
  dpo: DpoSection | null;
  /** A model whose distributions the policy learns on its own samples, or null. */
  teacher: TeacherSection | null;
  /** Held-out evaluation before and after training. */
  eval: Values<typeof EVAL["keys"]>;
  /** Who samples the completions. */
  generation: Values<typeof GENERATION["keys"]>;
  /** Limits of dialogues with environments and tools. */
  multi_turn: Values<typeof MULTI_TURN["keys"]>;
  /** The keys of TRL's GRPOConfig, in one section as there. */
  training: LoopSection & Values<typeof SAMPLING_KEYS> & AlgorithmSection & Values<typeof HUB_KEYS>;
  /** The names and trackers of the run. */
  logging: Values<typeof LOGGING["keys"]>;
  /** The upload after a run, as reasoning-gym's recipes have it; null = none. */
  hf_upload: Values<typeof HF_UPLOAD["keys"]> | null;
  /** Defaults of the flags of `rgx slurm`, or null. Training does not read this section. */
  slurm: Values<typeof SLURM["keys"]> | null;
}

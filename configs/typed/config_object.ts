/** A configuration as an object of a program, with the keys of a YAML file. */
import type { RewardItem } from "./items.ts";
import type {
  CurriculumKeys,
  DataKeys,
  EvalKeys,
  GenerationKeys,
  HfUploadKeys,
  LoggingKeys,
  LoraKeys,
  ModelKeys,
  SftKeys,
  SlurmKeys,
} from "./sections.ts";
import type { TrainingKeys } from "./training_keys.ts";

/** Values that replace those of a configuration, by section and key. Undefined: it is kept. */
export interface ConfigOverrides {
  /** The model. */
  model?: ModelKeys;
  /** The adapter; null: all of the model is trained. */
  lora?: LoraKeys | null;
  /** The problems. */
  data?: DataKeys;
  /** Levels of difficulty that follow the results. */
  curriculum?: CurriculumKeys | null;
  /** Rewards: names, or `{name, weight, …parameters}`, or `{path, …}` for a file. */
  rewards?: readonly RewardItem[];
  /** Supervised training before GRPO; null: none. */
  sft?: SftKeys | null;
  /** The evaluation before and after training. */
  eval?: EvalKeys;
  /** Who samples the completions of training. */
  generation?: GenerationKeys;
  /** The training loop, sampling and GRPO. */
  training?: TrainingKeys;
  /** Names and trackers. */
  logging?: LoggingKeys;
  /** The upload after the run; null: none. */
  hf_upload?: HfUploadKeys | null;
  /** The job of `rgx slurm`; null: its flags alone. */
  slurm?: SlurmKeys | null;
  /** Environment variables that configurations can name. */
  env?: Record<string, string>;
}

/** A configuration as an object with the keys of a YAML file. */
export interface ConfigObject extends ConfigOverrides {
  /**
   * What it inherits from: a file or several, relative to the working directory, or embedded ones
   * (`rgx:experiments/quickstart`).
   */
  _base_?: string | string[];
}

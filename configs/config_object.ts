/**
 * A configuration as an object of a program, with the keys of a YAML file. Most keys have the same
 * types as in a configuration that was read. A few keys can be written in more ways.
 */
import type { TrackerName } from "../core/tracker_names.ts";
import type { RewardFile } from "../rewards/custom/reward_file.ts";
import type { CurriculumSection, LoraSection, ModelInit, RunConfig } from "./schema/run_config.ts";
import type { RewardSection } from "./schema/reward_section.ts";

/** A reward of rgx, or one that was registered, by name; other fields are its parameters. */
export interface NamedReward extends Partial<Pick<RewardSection, "as" | "weight" | "timeout">> {
  /** A name of `rewardNames()`. */
  name: string;
  /** The reward's parameters, by their names. */
  [parameter: string]: unknown;
}

/** A reward from a file, which runs without permissions; other fields are its parameters. */
export interface FileReward
  extends Omit<RewardFile, "net">, Partial<Pick<RewardSection, "name" | "weight" | "timeout">> {
  /** Hosts that the reward may connect to. */
  net?: string | readonly string[];
  /** The reward's parameters, by their names. */
  [parameter: string]: unknown;
}

/** A reward in the list `rewards`; also one of a configuration that was read. */
export type RewardItem = string | NamedReward | FileReward | RewardSection;

/** A task in a mixture of tasks. */
export interface TaskItem {
  /** A name of `taskNames()`, or the file of a task. */
  task_name: string;
  /** The share of the task, relative to the other tasks; default 1. */
  weight?: number;
  /** The parameters of the task. */
  config?: Record<string, unknown>;
}

/**
 * Sections with some of their keys.
 * @internal
 */
type Some<S> = { [N in keyof S]?: Partial<NonNullable<S[N]>> | Extract<S[N], null> };

/**
 * Sections whose keys are written as they are read.
 * @internal
 */
type Plain = "sft" | "dpo" | "teacher" | "eval" | "multi_turn" | "hf_upload" | "slurm";

/** Values that replace those of a configuration, by section and key. Undefined changes nothing. */
export interface ConfigOverrides extends Some<Pick<RunConfig, Plain>> {
  /** The model. */
  model?: Partial<Omit<RunConfig["model"], "init">> & {
    /** Maximum length of prompt and completion together, used if max_prompt_length is unset. */
    max_seq_length?: number | null;
    /** A model that is made from a seed, instead of one by name. */
    init?:
      | Partial<Omit<ModelInit, "tokenizer">> & { tokenizer?: Partial<ModelInit["tokenizer"]> }
      | null;
  };
  /** The adapter; null: all weights of the model are trained. */
  lora?:
    | Partial<Omit<LoraSection, "init_lora_weights">> & {
      /** false: all weights are trained, although there is a section `lora`. */
      enabled?: boolean;
      /** How the matrices A and B are initialised. true: A is uniform, B is zero. */
      init_lora_weights?: LoraSection["init_lora_weights"] | boolean;
    }
    | null;
  /** The problems. */
  data?: Partial<Omit<RunConfig["data"], "tasks">> & {
    /** Several tasks drawn by weight, in place of one: a list of them, or a map of names. */
    tasks?: (string | TaskItem)[] | Record<string, Omit<TaskItem, "task_name">> | null;
  };
  /** Levels of difficulty that follow the results. */
  curriculum?:
    | Partial<Omit<CurriculumSection, "enabled" | "curricula" | "schedule">> & {
      /** false: levels stay as the configuration sets them. */
      enabled?: boolean;
      /** Starting levels of tasks, by their names. */
      curricula?: Record<string, Partial<CurriculumSection["curricula"][string]>>;
      /** The steps after which levels rise without regard to scores. */
      schedule?: Partial<CurriculumSection["schedule"]>;
    }
    | null;
  /** Rewards: names, or `{name, weight, …parameters}`, or `{path, …}` for a file. */
  rewards?: readonly RewardItem[];
  /** Who samples the completions of training. */
  generation?: Partial<Omit<RunConfig["generation"], "base_url">> & {
    /** Address of the server, or addresses of several servers that share the prompts. */
    base_url?: string | string[] | null;
  };
  /** What answers the model: a file, `{path}`, or a name; null: nothing answers it. */
  environment?: string | RunConfig["environment"];
  /** Several of them by name, of which each row of the data names one. */
  environments?: Record<string, string | RunConfig["environment"]> | null;
  /** Files with tools that the model may call. */
  tools?: (string | RunConfig["tools"][number])[];
  /** The training loop, sampling and GRPO. */
  training?: Partial<Omit<RunConfig["training"], "stop">> & {
    /** Texts after which a completion ends; the text is kept. */
    stop?: string | string[];
    /** Weights of the rewards, in order. */
    reward_weights?: number[] | null;
    /** Overrides the keys of sampling by name; also stop, seed, min_new_tokens. */
    generation_kwargs?: Record<string, unknown>;
  };
  /** Names and trackers. */
  logging?: Partial<Omit<RunConfig["logging"], "report_to">> & {
    /** Trackers that get the metrics, besides metrics.jsonl. */
    report_to?: TrackerName | "none" | "all" | (TrackerName | "none" | "all")[];
  };
  /** Environment variables that configurations can name. */
  env?: Record<string, string>;
}

/** A configuration as an object with the keys of a YAML file. */
export interface ConfigObject extends ConfigOverrides {
  /**
   * The configurations that this one inherits from: files, relative to the working directory, or
   * embedded ones (`rgx:experiments/quickstart`).
   */
  _base_?: string | string[];
}

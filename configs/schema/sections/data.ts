/** Where the problems of a run are from, and which are hard enough for it. */

import type { PromptRole } from "../../../data/prompt_roles.ts";

/** The problems of a run, and how they become prompts. */
export interface DataSection {
  /** A procedural task, or null when `dataset_name` is given. */
  task_name: string | null;
  /** The task's parameters. */
  task_config: Record<string, unknown>;
  /** Several tasks drawn by weight. task_name is then null or "composite". */
  tasks: TaskSection[] | null;
  /** Files of tasks that are not part of rgx. */
  task_files: { path: string; sha256?: string }[];
  /** A JSONL, CSV or parquet file, a folder, or a data set in the cache of the Hub. */
  dataset_name: string | null;
  /** The split that is trained on, or slices (data/split_slices.ts). */
  dataset_train_split: string;
  /** The split that is held out, or slices; test: where the data has it. */
  dataset_test_split: string;
  /** The column that holds the prompts; null = one of those that data/row_entries.ts knows. */
  dataset_prompt_column: string | null;
  /** null = all rows of a file. */
  num_examples: number | null;
  /** Only this many first rows of a file; null = all. */
  max_examples: number | null;
  /** Sizes of the splits; null = as the data has them (data/split_sizes.ts). */
  train_ratio: number | null;
  /** Problems of evaluations while training; null = as the data has them. */
  validation_examples: number | null;
  /** Problems that are asked before and after training; null = as the data has them. */
  test_examples: number | null;
  /** Seed of the task's generator. */
  seed: number;
  /** Whether a text before each question says which form the answer should have. */
  add_instructions: boolean;
  /** A text is a user's message for the chat template, or continued as plain text. */
  prompt_format: "chat" | "plain";
  /** Text or name of the system message; null = none. */
  system_prompt: string | null;
  /** Role of that message. */
  developer_role: PromptRole;
}

/** One task of a mixture of tasks. */
export interface TaskSection {
  /** Name of a registered task, or the file of one of the user. */
  task_name: string;
  /** Its share of the entries, relative to the other tasks. */
  weight: number;
  /** The task's parameters. */
  config: Record<string, unknown>;
}

/** reasoning-gym's curriculum: after each step the levels of a task go up or down by its scores. */
export interface CurriculumSection {
  /** A curriculum that is off is null in the configuration. */
  enabled: true;
  /** When levels go up without regard to scores. */
  schedule: {
    /** Levels go up every `update_steps` steps, whatever the scores. */
    automatic: boolean;
    /** Steps between two rises, with `automatic`. */
    update_steps: number;
  };
  /** The number of newest scores that decide. While there are fewer, levels stay. */
  last_k: number;
  /** Levels go up where the mean of these scores is above it. */
  success_threshold: number;
  /** Levels go down where the mean is below it. */
  failure_threshold: number;
  /**
   * Tasks and their starting levels (`*` = all attributes). Empty: all tasks of the run that have
   * levels.
   */
  curricula: Record<string, { attribute_levels: Record<string, number>; weight: number }>;
}

/** Where the problems of a run are from, and which are hard enough for it. */

import type { PromptRole } from "../../../data/prompt_roles.ts";

/** The problems of a run, and how they become prompts. */
export interface DataSection {
  /** A reasoning task, or the file of a task of yours (./digit_sum.ts). */
  task_name: string | null;
  /** Parameters of the task. */
  task_config: Record<string, unknown>;
  /** Several tasks drawn by weight, in place of one; task_name is then null or composite. */
  tasks: TaskSection[] | null;
  /**
   * Files of your tasks; each that is named in place of a task is added here, with its SHA-256.
   */
  task_files: { path: string; sha256?: string }[];
  /**
   * JSONL, CSV or parquet file, folder, or data set of the Hub (after rgx pull --dataset) with
   * question/answer, prompt or messages columns.
   */
  dataset_name: string | null;
  /**
   * The split of a file or data set that is trained on, or slices, as in `datasets`: train[:90%],
   * train[100:], train+validation.
   */
  dataset_train_split: string;
  /**
   * The split that is held out, or slices: train[90%:]; test: where the data has that split, or
   * else a validation split.
   */
  dataset_test_split: string;
  /**
   * The file, folder or data set of the Hub that is held out, in place of a split of dataset_name.
   */
  eval_dataset_name: string | null;
  /** The column of a file that holds the prompts; null: prompt, question, problem or messages. */
  dataset_prompt_column: string | null;
  /** Training entries; of a file all (null), unless it is written. */
  num_examples: number | null;
  /** Only the first so many rows of a file; null: all. */
  max_examples: number | null;
  /**
   * Share of the problems that is trained on; the others are for test and validation. Of a task it
   * is a share of num_examples.
   */
  train_ratio: number | null;
  /**
   * Problems that evaluations while training ask in place of the held-out ones; null: none, but the
   * rest of train_ratio for data with a test split.
   */
  validation_examples: number | null;
  /**
   * Problems that are asked before and after training: eval.num_examples, and of a file without a
   * test split exactly so many are held out; null: the rest of train_ratio.
   */
  test_examples: number | null;
  /** Seed of the task's generator. */
  seed: number;
  /**
   * Put the answer-format instruction before the question; of data that is not rgx's own false,
   * unless it is written.
   */
  add_instructions: boolean;
  /**
   * chat: prompts go through the model's chat template, a text as a user's message; plain: they are
   * continued as plain text, as TRL continues a prompt that is a text.
   */
  prompt_format: "chat" | "plain";
  /**
   * Text of the system message, or DeepSeekZero, default, simple, direct, chain_of_draft or gsm8k;
   * a conversation of the data keeps a system message of its own.
   */
  system_prompt: string | null;
  /** Role of the message that holds system_prompt, for templates that know another one. */
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
  /** Whether levels of difficulty move with the results. */
  enabled: true;
  /** When levels go up without regard to scores. */
  schedule: {
    /** Levels go up every `update_steps` steps, whatever the scores. */
    automatic: boolean;
    /** Steps between two rises, with `automatic`. */
    update_steps: number;
  };
  /** Newest scores of a task that decide; while there are fewer, levels stay. */
  last_k: number;
  /** Levels go up where the mean of these scores is above it. */
  success_threshold: number;
  /** Levels go down where the mean of these scores is below it. */
  failure_threshold: number;
  /**
   * Starting levels, `*` of all attributes; empty: all tasks of the run that have levels, from 0.
   */
  curricula: Record<string, { attribute_levels: Record<string, number>; weight: number }>;
}

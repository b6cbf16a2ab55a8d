/**
 * Opens a source of problems (problem_source.ts): tasks that generate problems (task_source.ts), or
 * the entries of a file (file_source.ts). open_problems.ts reads the files that a configuration may
 * name. Both kinds of sources give entries by split and index, and the splits never share a
 * problem's key.
 */
import { UsageError } from "../core/errors.ts";
import { resolveTaskConfig } from "../tasks/registry.ts";
import { FileSource, type FileSourceOptions } from "./file_source.ts";
import type { ProblemSource } from "./problem_source.ts";
import { trainShare } from "./split_sizes.ts";
import { type StartingLevels, type TaskShare, TaskSource } from "./task_source.ts";

/** Which problems are asked for; the keys are those of the `data` section. */
export interface SourceOptions extends FileSourceOptions {
  /** Exactly one of `task_name` and `dataset_name` is given; "composite" stands for `tasks`. */
  task_name: string | null;
  /** A file, a folder, or the name of a data set in the cache of the Hub. */
  dataset_name: string | null;
  /** The data set that is held out instead of a split of `dataset_name`. */
  eval_dataset_name?: string | null;
  /** The column of a file that holds the prompts; null: one of the known columns. */
  dataset_prompt_column?: string | null;
  /** The split of a data set that is trained on, or slices: train[:90%]; default train. */
  dataset_train_split?: string;
  /** The split that is held out; default: test, or validation, where the data has them. */
  dataset_test_split?: string;
  /** Whether training compares two answers of each row, so that rows need no right answer. */
  comparesAnswers?: boolean;
  /** Parameters of the task. */
  task_config: Record<string, unknown>;
  /** Several tasks, each drawn by its weight; task i has the seed `seed` + i + 1. */
  tasks?: readonly TaskShare[] | null;
  /**
   * The levels of a curriculum at which tasks begin; null: their parameters are used as written.
   */
  curriculum?: { readonly curricula: StartingLevels } | null;
  /** Seed of the task's generator; a file has none. */
  seed: number;
  /** Length of the training split; for a file its maximum length, where null means all. */
  num_examples: number | null;
}

/**
 * @param notes what a user should know about a file's data
 * @throws UsageError when the source cannot be used
 */
export function openSource(options: SourceOptions, notes: readonly string[] = []): ProblemSource {
  const { dataset_name, num_examples, seed } = options;
  const tasks = options.tasks ?? partsOf(options);
  const task_name = options.task_name ?? (tasks === null ? null : "composite");
  if ((task_name === null) === (dataset_name === null)) {
    throw new UsageError(
      `data: exactly one of task_name and dataset_name must be given, found ` +
        `task_name = ${task_name} and dataset_name = ${dataset_name}`,
    );
  }
  if (num_examples !== null && (!Number.isSafeInteger(num_examples) || num_examples < 1)) {
    throw new UsageError(
      `data: num_examples: must be an integer of at least 1, found ${num_examples}`,
    );
  }
  if (task_name === null) return new FileSource(dataset_name!, options, notes);
  if (num_examples === null) {
    throw new UsageError(`data: num_examples: ${task_name} makes as many as are asked for`, {
      advice: "Give a number, for example data.num_examples=2048.",
    });
  }
  const ratio = options.train_ratio ?? null;
  return new TaskSource({
    tasks: tasks ?? [{ task_name, weight: 1, config: options.task_config }],
    isMixed: tasks !== null,
    curricula: options.curriculum?.curricula ?? null,
    seed,
    num_examples: ratio === null ? num_examples : trainShare(num_examples, ratio),
  });
}

/** The parts of the task "composite", as its own parameters name them; null for another task. */
function partsOf({ task_name, task_config }: SourceOptions): TaskShare[] | null {
  if (task_name !== "composite") return null;
  const { datasets } = resolveTaskConfig("composite", task_config);
  return (datasets as unknown as (Partial<TaskShare> & { name: string })[]).map(
    ({ name, weight = 1, config = {} }) => ({ task_name: name, weight, config }),
  );
}

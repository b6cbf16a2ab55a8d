/**
 * Where problems come from: tasks that generate them, or a file with a fixed number of them. Both give
 * entries by split and index, and their splits never share a key: a task draws each split from its own
 * key space, a file deals its questions out by their hash (so that equal questions share a split).
 */
import { RgxError, UsageError } from "../core/errors.ts";
import { RandomStream, SPLIT, type Split } from "../core/philox.ts";
import type { CompositeDataset } from "../tasks/composite_dataset.ts";
import { resolveTaskConfig } from "../tasks/registry.ts";
import type { Entry } from "../tasks/types.ts";
import { readJsonLines } from "./jsonl.ts";
import { type StartingLevels, type TaskShare, TaskSource } from "./task_source.ts";

/** What problems are asked for; the keys are those of a configuration's `data`. */
export interface SourceOptions {
  /** Exactly one of the two is given; "composite" stands for `tasks`. */
  task_name: string | null;
  dataset_name: string | null;
  /** What `dataset_name` holds, where that was read already; else it is a JSON Lines file. */
  entries?: readonly Entry[] | null;
  /** Its own test split; without one, questions are held back by their hash. */
  testEntries?: readonly Entry[] | null;
  /** Parameters of the task. */
  task_config: Record<string, unknown>;
  /** Several tasks in place of one, each drawn by its weight; task i has the seed `seed` + i + 1. */
  tasks?: readonly TaskShare[] | null;
  /** Tasks begin at the levels of a curriculum; null = parameters are as written. */
  curriculum?: { readonly curricula: StartingLevels } | null;
  seed: number;
  /** Length of the training split; of a file at most, and null = all. */
  num_examples: number | null;
  /** Of a file instead, where it is given: the first so many entries of its training split. */
  max_examples?: number | null;
}

/** Entries by split and index. */
export interface ProblemSource {
  /** The task's name, or the file's path. */
  readonly name: string;
  /** Entries are made on demand, and any index ≥ 0 is valid. */
  readonly endless: boolean;
  /**
   * Entry `index` of a split; of a file, index < length(split). `redraw` > 0 gives another entry of the
   * same split in its place, always the same one (endless sources only).
   */
  entry(split: Split, index: number, redraw?: number): Entry;
  /** Entries of a split; of an endless source `num_examples` for training and Infinity for the others. */
  length(split: Split): number;
  /** What a user should know of the data, although nothing is wrong. */
  readonly notes?: readonly string[];
  /** The training split of several tasks, whose weights, parameters and tasks can be changed; else null. */
  readonly mix: CompositeDataset | null;
  /**
   * Other parameters for a task's training entries, all of them, from the next entry on; its held-out splits
   * stay. @throws UsageError when the source has no such task, or the task refuses a value
   */
  setConfig(task: string, config: Readonly<Record<string, unknown>>): void;
}

/** Opens what a configuration's data section names; throws UsageError when it can not be used. */
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
  const alone = { task_name, weight: 1, config: options.task_config };
  const curricula = options.curriculum?.curricula ?? null;
  const isMixed = tasks !== null;
  return new TaskSource({ tasks: tasks ?? [alone], isMixed, curricula, seed, num_examples });
}

/** The parts of the task "composite" as its own parameters name them; null for another task. */
function partsOf({ task_name, task_config }: SourceOptions): TaskShare[] | null {
  if (task_name !== "composite") return null;
  const { datasets } = resolveTaskConfig("composite", task_config);
  return (datasets as unknown as (Partial<TaskShare> & { name: string })[]).map(
    ({ name, weight = 1, config = {} }) => ({ task_name: name, weight, config }),
  );
}

/** Share of a file's questions in the validation split, and as much again in the test split. */
const HELD_BACK = 0.1;

class FileSource implements ProblemSource {
  readonly endless = false;
  readonly mix = null;
  readonly #entries: Record<Split, Entry[]> = { train: [], validation: [], test: [] };

  readonly notes: readonly string[];

  constructor(
    readonly name: string,
    { num_examples, max_examples = null, entries, testEntries }: SourceOptions,
    notes: readonly string[],
  ) {
    for (const entry of entries ?? readJsonLines(name)) {
      this.#entries[testEntries ? "train" : fileSplitOf(entry.question)].push(entry);
    }
    if (testEntries) this.#entries.test = [...testEntries];
    const left = this.#entries.train.splice(max_examples ?? num_examples ?? Infinity).length;
    const unused = `${name}: ${left} more training entries are not used: data.num_examples is ` +
      `${num_examples} (data.num_examples=null takes all)`;
    this.notes = left > 0 && max_examples === null ? [...notes, unused] : notes;
    if (this.#entries.train.length === 0) {
      throw new UsageError(
        `the data file ${name} has too few entries: none fell into the train split`,
        {
          advice:
            "About a fifth of a file's questions are kept for evaluation, chosen by their text.",
        },
      );
    }
  }

  entry(split: Split, index: number, redraw = 0): Entry {
    const entry = this.#entries[split][index];
    if (entry === undefined || redraw > 0) {
      throw new RgxError(
        `the ${split} split of ${this.name} has ${this.length(split)} entries, entry ${index} ` +
          `(redraw ${redraw}) does not exist`,
      );
    }
    return entry;
  }

  length(split: Split): number {
    return this.#entries[split].length;
  }

  setConfig(): void {
    throw new UsageError(`${this.name}: the problems of a file have no parameters`);
  }
}

/**
 * The split of a question of a file that has no test split of its own. By the question alone: adding lines to a file
 * moves no question to another split.
 */
export function fileSplitOf(question: string): Split {
  const at = RandomStream.forPurpose(0, "split", question).random();
  const splits = Object.keys(SPLIT) as Split[];
  return splits[at < HELD_BACK ? SPLIT.test : at < 2 * HELD_BACK ? SPLIT.validation : SPLIT.train]!;
}

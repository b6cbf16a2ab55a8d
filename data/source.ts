/**
 * Where problems come from: a task that generates them, or a file with a fixed number of them. Both give
 * entries by split and index, and their splits never share a key: a task draws each split from its own
 * key space, a file deals its questions out by their hash (so that equal questions share a split).
 */
import { RgxError, UsageError } from "../core/errors.ts";
import { RandomStream, SPLIT, type Split } from "../core/philox.ts";
import { createDataset, type Dataset } from "../tasks/dataset.ts";
import type { Entry } from "../tasks/types.ts";
import { readJsonLines } from "./jsonl.ts";

export interface SourceOptions {
  /** Exactly one of the two is given. */
  task_name: string | null;
  dataset_name: string | null;
  /** Parameters of the task. */
  task_config: Record<string, unknown>;
  seed: number;
  /** Length of the training split (of a file: at most). */
  num_examples: number;
}

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
}

/** Opens what a configuration's data section names; throws UsageError when it can not be used. */
export function openSource(options: SourceOptions): ProblemSource {
  const { task_name, dataset_name, num_examples } = options;
  if ((task_name === null) === (dataset_name === null)) {
    throw new UsageError(
      `data: exactly one of task_name and dataset_name must be given, found ` +
        `task_name = ${task_name} and dataset_name = ${dataset_name}`,
    );
  }
  if (!Number.isSafeInteger(num_examples) || num_examples < 1) {
    throw new UsageError(
      `data: num_examples: must be an integer of at least 1, found ${num_examples}`,
    );
  }
  return task_name !== null
    ? new TaskSource(task_name, options)
    : new FileSource(dataset_name!, options);
}

/** Redrawn entries lie this far behind each other: no run counts so far. */
const REDRAW_STRIDE = 2 ** 40;

class TaskSource implements ProblemSource {
  readonly endless = true;
  readonly #datasets: Record<Split, Dataset>;
  readonly #trainLength: number;

  constructor(readonly name: string, { task_config, seed, num_examples }: SourceOptions) {
    const open = (split: Split) => createDataset(name, { ...task_config, seed, split });
    this.#datasets = { train: open("train"), validation: open("validation"), test: open("test") };
    this.#trainLength = num_examples;
  }

  entry(split: Split, index: number, redraw = 0): Entry {
    return this.#datasets[split].entry(index + redraw * REDRAW_STRIDE);
  }

  length(split: Split): number {
    return split === "train" ? this.#trainLength : Infinity;
  }
}

/** Share of a file's questions in the validation split, and as much again in the test split. */
const HELD_BACK = 0.1;

class FileSource implements ProblemSource {
  readonly endless = false;
  readonly #entries: Record<Split, Entry[]> = { train: [], validation: [], test: [] };

  constructor(readonly name: string, { num_examples }: SourceOptions) {
    for (const entry of readJsonLines(name)) this.#entries[splitOf(entry.question)].push(entry);
    this.#entries.train.splice(num_examples);
    if (this.#entries.train.length === 0) {
      throw new UsageError(
        `the data file ${name} has too few entries: none fell into the train split`,
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
}

/** By the question alone: adding lines to a file moves no question to another split. */
function splitOf(question: string): Split {
  const at = RandomStream.forPurpose(0, "split", question).random();
  const splits = Object.keys(SPLIT) as Split[];
  return splits[at < HELD_BACK ? SPLIT.test : at < 2 * HELD_BACK ? SPLIT.validation : SPLIT.train]!;
}

/** The interface of all sources of problems. */
import type { Split } from "../core/philox.ts";
import type { CompositeDataset } from "../tasks/composite_dataset.ts";
import type { Entry } from "../tasks/types.ts";

/** A file of problems that was read. */
export interface SourceFile {
  /** Its path, as it was named. */
  readonly path: string;
  /** Number of rows, of whatever split. */
  readonly rows: number;
  /** Whether it was read for the held-out problems alone. */
  readonly heldOut: boolean;
}

/** Gives problems as entries by split and index. */
export interface ProblemSource {
  /** The task's name, or the file's path. */
  readonly name: string;
  /** Entries are made on demand, and any index ≥ 0 is valid. */
  readonly endless: boolean;
  /**
   * Entry `index` of a split; for a file, index < length(split). With `redraw` > 0 another entry of
   * the same split takes its place, always the same one (endless sources only).
   */
  entry(split: Split, index: number, redraw?: number): Entry;
  /**
   * Number of entries of a split. For an endless source: `num_examples` for training, and Infinity
   * for the other splits.
   */
  length(split: Split): number;
  /** The files that were read; none for tasks and given entries. */
  readonly files?: readonly SourceFile[];
  /** Notes for the user about the data. */
  readonly notes?: readonly string[];
  /**
   * The training split of several tasks, whose weights, parameters and tasks can be changed; null
   * for one task or a file.
   */
  readonly mix: CompositeDataset | null;
  /**
   * Gives a task new parameters (all of them) for its training entries, from the next entry on. The
   * held-out splits stay.
   * @throws UsageError when the source has no such task, or the task refuses a value
   */
  setConfig(task: string, config: Readonly<Record<string, unknown>>): void;
}

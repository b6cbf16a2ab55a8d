/**
 * Problems of a data file. A file that has no test split of its own is split by the hashes of its
 * questions, so that equal questions share a split. It is not split where nothing is evaluated.
 */
import { RgxError, UsageError } from "../core/errors.ts";
import { RandomStream, type Split } from "../core/philox.ts";
import type { Entry } from "../tasks/types.ts";
import { readJsonLines } from "./row_entries.ts";
import type { ProblemSource } from "./problem_source.ts";

/** What is read from a file of problems, and what of it is held out. */
export interface FileSourceOptions {
  /** The file's entries, where they were read already; else it is read as JSON Lines. */
  entries?: readonly Entry[] | null;
  /** The file's own test split; without one, questions are held out by their hashes. */
  testEntries?: readonly Entry[] | null;
  /** false: a file without a test split is trained on as a whole, for nothing is evaluated. */
  hold_out?: boolean;
  /** Maximum length of the training split; null = no maximum. */
  num_examples: number | null;
  /** Takes the place of `num_examples`, where it is given. */
  max_examples?: number | null;
}

/** Share of the questions that are held out, of a file without a test split. */
const HELD_OUT = 0.2;
/** How such a file is split, in the words of docs/tasks.md. */
export const HELD_OUT_RULE =
  "Of a file without a test split, a fifth of the questions is held out, chosen by their text; " +
  "none if eval.num_examples is 0.";

export class FileSource implements ProblemSource {
  readonly endless = false;
  readonly mix = null;
  readonly notes: readonly string[];
  readonly #entries: Record<Split, Entry[]> = { train: [], validation: [], test: [] };

  /** @throws UsageError when the file cannot be read, or has no training entries */
  constructor(
    readonly name: string,
    { num_examples, max_examples = null, entries, testEntries, hold_out = true }: FileSourceOptions,
    notes: readonly string[],
  ) {
    for (const entry of entries ?? readJsonLines(name)) {
      const isTest = !testEntries && hold_out && isHeldOut(entry.question);
      this.#entries[isTest ? "test" : "train"].push(entry);
    }
    if (testEntries) this.#entries.test = [...testEntries];
    const left = this.#entries.train.splice(max_examples ?? num_examples ?? Infinity).length;
    const unused = `${name}: ${left} more training entries are not used: data.num_examples is ` +
      `${num_examples} (data.num_examples=null takes all)`;
    this.notes = left > 0 && max_examples === null ? [...notes, unused] : notes;
    if (this.#entries.train.length === 0) {
      throw new UsageError(
        `the data file ${name} has too few entries: none fell into the train split`,
        { advice: HELD_OUT_RULE },
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
 * Whether a question of a file without a test split is held out. It depends on the question alone,
 * so adding lines to the file moves no question to the other split.
 */
export function isHeldOut(question: string): boolean {
  return RandomStream.forPurpose(0, "split", question).random() < HELD_OUT;
}

/**
 * Problems of a data file. A file that has no test split of its own is split by the hashes of its
 * questions, so that equal questions share a split. If nothing is evaluated, the file is not split.
 */
import { RgxError, UsageError } from "../core/errors.ts";
import { RandomStream, type Split } from "../core/philox.ts";
import type { Entry } from "../tasks/types.ts";
import type { ProblemSource, SourceFile } from "./problem_source.ts";
import { hasSplitSizes, splitCounts, type SplitSizes } from "./split_sizes.ts";

/** The problems of a file, and which of them are held out. */
export interface FileSourceOptions extends SplitSizes {
  /** The file's entries. */
  entries?: readonly Entry[] | null;
  /** The files that the entries were read from. */
  files?: readonly SourceFile[];
  /** The file's own test split; without one, questions are held out by their hashes. */
  testEntries?: readonly Entry[] | null;
  /**
   * false: nothing is evaluated, so all questions of a file without a test split are trained on.
   */
  hold_out?: boolean;
  /** Maximum length of the training split; null = no maximum. */
  num_examples: number | null;
  /** Replaces `num_examples` if it is given. */
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
  readonly files: readonly SourceFile[];
  readonly #entries: Record<Split, Entry[]> = { train: [], validation: [], test: [] };

  /** @throws UsageError when the file has no training entries */
  constructor(readonly name: string, options: FileSourceOptions, notes: readonly string[]) {
    const { num_examples, max_examples = null, entries, testEntries, hold_out = true } = options;
    this.files = options.files ?? [];
    const all = entries ?? [];
    if (hasSplitSizes(options)) notes = [...notes, ...this.#divide(all, options)];
    else {
      for (const entry of all) {
        const isTest = !testEntries && hold_out && isHeldOut(entry.question);
        this.#entries[isTest ? "test" : "train"].push(entry);
      }
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

  /**
   * Divides the entries by the sizes that the options ask for. The questions are put in the order
   * of their hashes; the first are for the test, the next for the validation, the last are trained
   * on. Equal questions count once and share a split.
   * @returns a note about entries that are in no split
   * @throws UsageError when there are fewer questions than are asked for
   */
  #divide(entries: readonly Entry[], options: FileSourceOptions): string[] {
    const { testEntries, test_examples = null, hold_out = true } = options;
    const places = new Map(entries.map(({ question }) => [question, placeOf(question)]));
    const questions = [...places.keys()].sort((a, b) => places.get(a)! - places.get(b)!);
    const held = hold_out ? questions.filter(isHeldOut).length : 0;
    const test = testEntries ? null : held;
    const counts = splitCounts(questions.length, options, { name: this.name, test });
    const inTest = new Set(testEntries?.map(({ question }) => question)).size;
    if (testEntries && test_examples !== null && test_examples > inTest) {
      throw new UsageError(
        `data.test_examples ${test_examples}: more than the ${inTest} different problems of the ` +
          `test split of ${this.name}`,
        { advice: "Ask for fewer problems." },
      );
    }
    const splits = new Map<string, Split>();
    for (const [i, question] of questions.entries()) {
      if (i < counts.test) splits.set(question, "test");
      else if (i < counts.test + counts.validation) splits.set(question, "validation");
      else if (i >= questions.length - counts.train) splits.set(question, "train");
    }
    for (const entry of entries) {
      const split = splits.get(entry.question);
      if (split !== undefined) this.#entries[split].push(entry);
    }
    const left = questions.length - splits.size;
    return left === 0
      ? []
      : [`${this.name}: ${left} of the ${questions.length} different problems are in no split`];
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
  return placeOf(question) < HELD_OUT;
}

/** A number in [0, 1) that depends on the question alone. */
function placeOf(question: string): number {
  return RandomStream.forPurpose(0, "split", question).random();
}

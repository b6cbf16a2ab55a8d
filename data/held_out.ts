/**
 * Held-out problems, and training problems that avoid them. Disjoint keys are not enough, since two
 * keys can give the same question. So the held-out questions are remembered, and a training entry
 * with one of them is replaced by another draw, always the same one for the same index.
 */
import { UsageError } from "../core/errors.ts";
import type { Split } from "../core/philox.ts";
import type { Entry } from "../tasks/types.ts";
import { HELD_OUT_RULE } from "./file_source.ts";
import type { ProblemSource } from "./problem_source.ts";

/**
 * Evaluations and benchmarks number their prompts from here. The numbers key the random draws;
 * those of training stay far below.
 */
export const EVAL_PROMPT_ID = 2 ** 48;

/** Which problems are kept for the evaluation. */
export interface HeldOutOptions {
  /** Where problems come from. */
  source: ProblemSource;
  /**
   * Number of held-out problems; 0 = none. Where the source has too few different ones, a part of
   * them is held out, and a note says so.
   */
  heldOutCount: number;
  /** The split that held-out problems are from; default: test. */
  heldOutSplit?: Split;
  /** Number of problems of a task for the validation, default 0; a file's split says its own. */
  validationCount?: number;
  /** Called now and then while many problems are drawn, with how many different ones there are. */
  onDraw?: (found: number, wanted: number) => void;
}

/** Held-out problems, and training problems with other questions. */
export interface SplitProblems {
  /** The source of the problems; changing its training split changes `trainEntry`. */
  readonly source: ProblemSource;
  /** Entries with different questions, in the order of the split. */
  readonly heldOut: readonly Entry[];
  /** Entries that are asked while training in place of the held-out ones; may be empty. */
  readonly validation: readonly Entry[];
  /**
   * Says if there are fewer held-out problems than asked for, and if a file's training split
   * repeats its test split; else empty.
   */
  readonly notes: readonly string[];
  /** Training entry `index`; its question is never a held-out one. */
  trainEntry(index: number): Entry;
  /** How many of the training entries asked for so far had to be redrawn. */
  readonly redrawn: number;
  /**
   * How many different training entries with a held-out question were returned. There are such
   * entries only in a file whose test split repeats its training split.
   */
  readonly overlap: number;
}

/** The problems that evaluations while training ask. */
export function askedWhileTraining(
  { heldOut, validation }: Pick<SplitProblems, "heldOut" | "validation">,
): readonly Entry[] {
  return validation.length > 0 ? validation : heldOut;
}

/** After this many draws in a row without a new question the split counts as exhausted. */
const FRUITLESS_DRAWS = 10_000;
/** After this many redraws of one training entry every problem counts as held out. */
const MAX_REDRAWS = 1_000;
/** A task with too few problems has one of this many held out; a file's splits are disjoint. */
const ONE_IN = 5;

/**
 * Chooses the held-out problems of a source.
 * @throws UsageError when the source has no problems to hold out
 */
export function splitProblems(
  { source, heldOutCount, heldOutSplit = "test", validationCount = 0, onDraw }: HeldOutOptions,
): SplitProblems {
  const { heldOut, notes } = distinctEntries(source, heldOutSplit, heldOutCount, onDraw);
  const questions = new Set(heldOut.map((entry) => entry.question));
  const validation = validationEntries(source, validationCount, questions);
  for (const { question } of validation) questions.add(question);
  const redrawnIndices = new Set<number>(), shared = new Set<number>();
  return {
    source,
    heldOut,
    validation,
    notes: [...notes, ...sharedNote(source, questions)],
    trainEntry(index) {
      let entry = source.entry("train", index);
      for (let redraw = 1; source.endless && questions.has(entry.question); redraw++) {
        if (redraw > MAX_REDRAWS) throw nothingLeft(source, heldOut.length);
        redrawnIndices.add(index);
        entry = source.entry("train", index, redraw);
      }
      if (questions.has(entry.question)) shared.add(index);
      return entry;
    },
    get redrawn() {
      return redrawnIndices.size;
    },
    get overlap() {
      return shared.size;
    },
  };
}

/**
 * Entries of the validation split with different questions, none of which is held out.
 * @throws UsageError when a task has too few
 */
function validationEntries(
  source: ProblemSource,
  count: number,
  heldOut: ReadonlySet<string>,
): Entry[] {
  if (source.endless) requireFew("data.validation_examples", count);
  const wanted = source.endless ? count : Infinity;
  const { entries, isFruitless } = differentEntries(source, "validation", wanted, { heldOut });
  if (!isFruitless) return entries;
  throw new UsageError(
    `data.validation_examples ${count}: ${source.name} has only ${entries.length} different ` +
      "problems beside the held-out ones",
    { advice: "Ask for fewer, or set parameters with more variety." },
  );
}

/**
 * Entries of a split with different questions, in its order, `wanted` at the maximum. There are
 * fewer if the split ends, or if many draws in a row give nothing new (`isFruitless`).
 * @param heldOut questions that are left out
 */
function differentEntries(
  source: ProblemSource,
  split: Split,
  wanted: number,
  { heldOut, onDraw }: { heldOut?: ReadonlySet<string>; onDraw?: HeldOutOptions["onDraw"] },
): { entries: Entry[]; isFruitless: boolean } {
  const found = new Map<string, Entry>(), length = source.length(split);
  let index = 0, fruitless = 0;
  for (; index < length && found.size < wanted && fruitless < FRUITLESS_DRAWS; index++) {
    if (index % DRAWS_SHOWN === 0) onDraw?.(found.size, wanted);
    const entry = source.entry(split, index), { question } = entry;
    const isKnown = found.has(question) || heldOut?.has(question) === true;
    fruitless = isKnown ? fruitless + 1 : 0;
    if (!isKnown) found.set(question, entry);
  }
  const isFruitless = index < length && found.size < wanted;
  return { entries: [...found.values()], isFruitless };
}

/** A note about the rows of a file that are in both of its splits. */
function sharedNote(source: ProblemSource, questions: ReadonlySet<string>): string[] {
  if (source.endless || questions.size === 0) return [];
  const rows = source.length("train");
  let shared = 0;
  for (let index = 0; index < rows; index++) {
    if (questions.has(source.entry("train", index).question)) shared++;
  }
  if (shared === 0) return [];
  const are = shared === 1 ? "is" : "are";
  return [
    `${source.name}: ${shared} of the ${rows} training problems ${are} held out too, since the test split ` +
    "has the same questions: accuracies say less about new problems",
  ];
}

/** Maximum number of held-out problems of a task: each is drawn, kept and asked twice. */
const MAX_HELD_OUT = 100_000;
/** @throws UsageError for more problems of a task than can be kept */
function requireFew(key: string, count: number): void {
  if (count <= MAX_HELD_OUT) return;
  throw new UsageError(
    `${key}: ${count} held-out problems are wanted, ${MAX_HELD_OUT} is the most of a task`,
    { advice: "An interval is narrow with some thousands: ± 1 point takes 10000." },
  );
}

/** Draws between two reports of the progress. */
const DRAWS_SHOWN = 100;

/** This number means all problems of a file: verl's files for validation are asked as a whole. */
const ALL = 1_000_000;

function distinctEntries(
  source: ProblemSource,
  split: Split,
  count: number,
  onDraw?: HeldOutOptions["onDraw"],
): { heldOut: Entry[]; notes: string[] } {
  if (source.endless) requireFew("eval.num_examples", count);
  // An endless source needs one problem more, so that something is left to train on.
  const wanted = source.endless && count > 0 ? count + 1 : count;
  const { entries } = differentEntries(source, split, wanted, { onDraw });
  const size = entries.length;
  if (size >= wanted) return { heldOut: entries.slice(0, count), notes: [] };
  const heldOutCount = source.endless ? Math.floor(size / ONE_IN) : size;
  const short =
    `eval.num_examples: ${count} held-out problem${
      count === 1 ? " is" : "s are"
    } wanted, but ${source.name} ` +
    `has only ${size} different ones`;
  if (heldOutCount > 0) {
    const how = source.endless
      ? `: ${heldOutCount} of them held out, the others trained on`
      : " to hold out: all of them are asked";
    const notes = !source.endless && count >= ALL ? [] : [short + how];
    return { heldOut: entries.slice(0, heldOutCount), notes };
  }
  if (source.endless) {
    const advice = "Set eval.num_examples=0, or parameters with more variety.";
    throw new UsageError(short, { advice });
  }
  const rows = source.length("train");
  throw new UsageError(
    `eval.num_examples: none of the ${rows} problem${rows === 1 ? "" : "s"} of ` +
      `${source.name} is held out, so there is nothing to evaluate`,
    {
      advice: `${HELD_OUT_RULE} Use eval.num_examples=0, more rows, or a test file beside it.`,
    },
  );
}

function nothingLeft(source: ProblemSource, count: number): UsageError {
  return new UsageError(
    `no training problem is left: ${source.name} keeps drawing the ${count} held-out ones`,
    { advice: "set eval.num_examples lower, or choose parameters with more variety" },
  );
}

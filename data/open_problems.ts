/**
 * Opens the source of problems that a configuration's `data` section names. This file reads the
 * entries of files, folders, and data sets pulled from the Hub; open_source.ts makes the source.
 */
import { UsageError } from "../core/errors.ts";
import { type DataSplit, findDataFiles, isAway } from "../hub/data_files.ts";
import { publishedPlace } from "../hub/set_addresses.ts";
import type { Entry } from "../tasks/types.ts";
import { type DataRow, haveSplits, rowsOfSplit } from "./read_rows.ts";
import { withoutAnswers, withPrompts } from "./row_entries.ts";
import { datasetEntries, formatOf } from "./dataset_entries.ts";
import type { ProblemSource } from "./problem_source.ts";
import { openSource, type SourceOptions } from "./open_source.ts";
import { requireDataFiles, SplitReader } from "./split_rows.ts";
import { parseSplit } from "./split_slices.ts";

const TRAIN = "train", TEST = "test";

/**
 * Like `openSource`, with the entries of `dataset_name`: a file, a folder or a data set of the Hub.
 * `task_name` may also be a published data set; `dataset_name` is then its file or folder. A data
 * set with a test split keeps it.
 */
export async function openProblems(options: SourceOptions): Promise<ProblemSource> {
  const { task_name, dataset_name, entries = null } = options;
  const place = task_name === null ? null : publishedPlace(task_name);
  // openSource refuses names that do not go together.
  const isTask = task_name !== null && place === null;
  if (entries !== null || isTask || (dataset_name ?? place) === null) return openSource(options);
  const name = (dataset_name ?? place)!, notes: string[] = [];
  const column = options.dataset_prompt_column ?? null;
  const found = await splitRows(task_name, name, options);
  const trainRows = withPrompts(found.train, column);
  const testRows = found.test === null ? null : withPrompts(found.test, column);
  const format = task_name ?? formatOf(trainRows);
  const entriesIn = (some: readonly DataRow[]) =>
    entriesOfRows(some, name, format, notes, !options.comparesAnswers);
  const train = entriesIn(trainRows);
  const testEntries = testRows === null ? null : entriesIn(testRows);
  // For problems that are asked, splitProblems has the same message.
  const isAsked = options.hold_out ?? true;
  const isChosen = options.eval_dataset_name != null ||
    (options.dataset_test_split ?? TEST) !== TEST;
  if (!isAsked && testEntries !== null && isChosen) {
    notes.push(...sharedProblems(name, train, testEntries));
  }
  const read = { dataset_name: name, entries: train, testEntries, files: found.files };
  return openSource({ ...options, task_name: null, ...read }, notes);
}

/** Whether a `data` section names problems; an environment needs none. */
export function hasProblems(
  { task_name, tasks, dataset_name }: Pick<SourceOptions, "task_name" | "tasks" | "dataset_name">,
): boolean {
  return task_name != null || tasks != null || dataset_name != null;
}

/** The rows of the two splits, and the files that hold them; no test split: null. */
async function splitRows(task: string | null, name: string, options: SourceOptions) {
  const { dataset_train_split = TRAIN, eval_dataset_name = null } = options;
  const reader = new SplitReader(name), isNamed = options.dataset_name !== null;
  const train = await trainRowsOf(task, reader, dataset_train_split, isNamed);
  const trained = reader.counts;
  const tested = eval_dataset_name === null ? reader : new SplitReader(eval_dataset_name);
  const test = await testRowsOf(tested, options);
  const files = [...trained].map(([path, rows]) => ({ path, rows, heldOut: false }));
  for (const [path, rows] of tested.counts) {
    if (tested !== reader || !trained.has(path)) files.push({ path, rows, heldOut: true });
  }
  return { train, test, files };
}

/** The rows that are held out; null: there is no test split. */
async function testRowsOf(
  reader: SplitReader,
  {
    dataset_train_split = TRAIN,
    dataset_test_split = TEST,
    eval_dataset_name = null,
  }: SourceOptions,
): Promise<readonly DataRow[] | null> {
  const isOwn = eval_dataset_name !== null;
  if (isOwn || dataset_test_split !== TEST) return await reader.split(dataset_test_split);
  const testFiles = await testFilesOf(reader.name, [...reader.counts.keys()]);
  if (testFiles !== null) return await reader.read(testFiles);
  const isTrained = parseSplit(dataset_train_split).some(({ split }) => split === TEST);
  const rows = reader.allRows;
  return !isTrained && haveSplits(rows) ? rowsOfSplit(rows, TEST) : null;
}

/** A note where problems of the test are trained on, too. */
function sharedProblems(name: string, train: readonly Entry[], test: readonly Entry[]): string[] {
  const trained = new Set(train.map(({ question }) => question));
  const shared = test.filter(({ question }) => trained.has(question)).length;
  if (shared === 0) return [];
  const are = shared === 1 ? "is" : "are";
  return [
    `${name}: ${shared} of the ${test.length} problems of the test split ${are} trained on, too`,
  ];
}

/**
 * All entries of a data set's split. The names of its files tell the splits apart, the list of its
 * README, or a column `split`.
 * @param split also slices, in the notation of the `datasets` package: `train[:100]`
 * @param format gsm8k, math500, mmlu_pro, or file (any questions and answers)
 */
export async function readEntries(
  name: string,
  split: DataSplit = "train",
  format = "file",
): Promise<Entry[]> {
  return entriesOfRows(await new SplitReader(name).split(split), name, format, []);
}

function entriesOfRows(
  rows: readonly DataRow[],
  name: string,
  format: string,
  notes: string[],
  needsAnswers = true,
): Entry[] {
  const dropped: string[] = [];
  const found = datasetEntries(format, rows, name, dropped);
  if (dropped.length > 0) {
    const what = dropped.length === 1 ? "1 row is" : `${dropped.length} rows are`;
    notes.push(`${what} left out: the answer has no "####" (the first: ${dropped[0]})`);
  }
  const unanswered = needsAnswers ? withoutAnswers(found) : null;
  if (unanswered !== null) notes.push(`${name}: ${unanswered}`);
  return found;
}

/** Whether the problems are those of a published data set that is not on this machine. */
export async function isAbsent(
  { task_name, dataset_name }: Pick<SourceOptions, "task_name" | "dataset_name">,
): Promise<boolean> {
  const place = task_name === null ? null : publishedPlace(task_name);
  if (place === null || dataset_name !== null) return false;
  return await isAway(place);
}

/** Whether the data that `dataset_name` names is not on this machine. */
export async function isDataGone(
  { dataset_name }: Pick<SourceOptions, "dataset_name">,
): Promise<boolean> {
  return dataset_name !== null && await isAway(dataset_name);
}

async function trainRowsOf(
  task: string | null,
  reader: SplitReader,
  split: string,
  isNamed: boolean,
): Promise<readonly DataRow[]> {
  try {
    return await reader.split(split, true);
  } catch (error) {
    if (isNamed || !(error instanceof UsageError)) throw error;
    throw new UsageError(`the data set ${task} is not here: ${error.message}`, {
      advice: `Name its file or folder: data.dataset_name=PATH. ${error.advice ?? ""}`.trim(),
      cause: error,
    });
  }
}

/** The files of a data set whose questions are held out by their text; else null. */
export async function filesWithoutTest(
  { task_name, dataset_name, eval_dataset_name = null }: Pick<
    SourceOptions,
    "task_name" | "dataset_name" | "eval_dataset_name"
  >,
): Promise<string[] | null> {
  if (eval_dataset_name !== null) return null;
  const name = dataset_name ?? (task_name === null ? null : publishedPlace(task_name));
  if (name === null) return null;
  const { files } = await findDataFiles(name, "train");
  return files === null || await testFilesOf(name, files) !== null ? null : files;
}

/** The files of the test split, or null where the data set has no test split. */
async function testFilesOf(name: string, train: readonly string[]): Promise<string[] | null> {
  try {
    const files = await requireDataFiles(name, "test");
    return files.some((file) => train.includes(file)) ? null : files;
  } catch (error) {
    const { splits } = await findDataFiles(name, TRAIN);
    const isThere = splits?.some((split) => split === TEST || split === "validation") ?? false;
    if (error instanceof UsageError && !isThere) return null;
    throw error;
  }
}

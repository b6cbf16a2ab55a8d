/**
 * Opens the source of problems that a configuration's `data` section names. Here it reads what must
 * be read asynchronously: parquet files, folders, and data sets pulled from the Hub. All other
 * sources come from open_source.ts.
 */
import { UsageError } from "../core/errors.ts";
import { type DataSplit, findDataFiles } from "../hub/data_files.ts";
import { publishedPlace } from "../hub/set_addresses.ts";
import type { Entry } from "../tasks/types.ts";
import { type DataRow, haveSplits, readRows, rowsOfSplit } from "./read_rows.ts";
import { withoutAnswers, withPrompts } from "./row_entries.ts";
import { datasetEntries, formatOf } from "./dataset_entries.ts";
import type { ProblemSource } from "./problem_source.ts";
import { openSource, type SourceOptions } from "./open_source.ts";

/**
 * Like `openSource`, but `dataset_name` may also be a parquet file, a folder or a data set of the
 * Hub. `task_name` may also be a published data set; `dataset_name` is then its file or folder. A
 * data set with a test split keeps it.
 */
export async function openProblems(options: SourceOptions): Promise<ProblemSource> {
  const { task_name, dataset_name, entries = null } = options;
  const place = task_name === null ? null : publishedPlace(task_name);
  // openSource refuses names that do not go together.
  const isTask = task_name !== null && place === null;
  if (entries !== null || isTask || (dataset_name ?? place) === null) return openSource(options);
  const name = (dataset_name ?? place)!, notes: string[] = [];
  const trainFiles = await trainFilesOf(task_name, name, dataset_name !== null);
  const column = options.dataset_prompt_column ?? null;
  const readAll = async (files: readonly string[]) => withPrompts(await readRows(files), column);
  const rows = await readAll(trainFiles), testFiles = await testFilesOf(name, trainFiles);
  const format = task_name ?? formatOf(rows);
  const read = (some: readonly DataRow[]) => entriesOfRows(some, name, format, notes);
  const train = read(rowsOfSplit(rows, "train"));
  const testInColumn = haveSplits(rows) ? rowsOfSplit(rows, "test") : null;
  const testRows = testFiles === null ? testInColumn : await readAll(testFiles);
  const testEntries = testRows === null ? null : read(testRows);
  const source = { ...options, task_name: null, dataset_name: name, entries: train, testEntries };
  return openSource(source, notes);
}

/**
 * All entries of a data set's split. The names of its files tell the splits apart, or a column
 * `split`.
 * @param format gsm8k, math500, mmlu_pro, or file (any questions and answers)
 */
export async function readEntries(
  name: string,
  split: DataSplit = "train",
  format = "file",
): Promise<Entry[]> {
  const rows = await readRows(await requireDataFiles(name, split));
  return entriesOfRows(rowsOfSplit(rows, split), name, format, []);
}

function entriesOfRows(
  rows: readonly DataRow[],
  name: string,
  format: string,
  notes: string[],
): Entry[] {
  const dropped: string[] = [];
  const found = datasetEntries(format, rows, name, dropped);
  if (dropped.length > 0) {
    const what = dropped.length === 1 ? "1 row is" : `${dropped.length} rows are`;
    notes.push(`${what} left out: the answer has no "####" (the first: ${dropped[0]})`);
  }
  const unanswered = withoutAnswers(found);
  if (unanswered !== null) notes.push(`${name}: ${unanswered}`);
  return found;
}

/** Whether the problems are those of a published data set that is not on this machine. */
export async function isAbsent(
  { task_name, dataset_name }: Pick<SourceOptions, "task_name" | "dataset_name">,
): Promise<boolean> {
  const place = task_name === null ? null : publishedPlace(task_name);
  if (place === null || dataset_name !== null) return false;
  return (await findDataFiles(place, "train")).files === null;
}

/** Whether the data that `dataset_name` names is not on this machine. */
export async function isDataGone(
  { dataset_name }: Pick<SourceOptions, "dataset_name">,
): Promise<boolean> {
  if (dataset_name === null) return false;
  // A name that fits several data sets is an error elsewhere.
  const found = await findDataFiles(dataset_name, "train").catch(() => null);
  return found !== null && found.files === null;
}

async function trainFilesOf(task: string | null, name: string, isNamed: boolean) {
  try {
    return await requireDataFiles(name, "train");
  } catch (error) {
    if (isNamed || !(error instanceof UsageError)) throw error;
    throw new UsageError(`the data set ${task} is not here: ${error.message}`, {
      advice: `Name its file or folder: data.dataset_name=PATH. ${error.advice ?? ""}`.trim(),
      cause: error,
    });
  }
}

/** The files of a data set without a test split; null for other data sets. */
export async function filesWithoutTest(
  { task_name, dataset_name }: Pick<SourceOptions, "task_name" | "dataset_name">,
): Promise<string[] | null> {
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
    if (error instanceof UsageError) return null;
    throw error;
  }
}

/**
 * The files of a data set.
 * @param name a file, a folder, or a name on the Hub
 * @throws UsageError when there are none
 */
export async function requireDataFiles(name: string, split: DataSplit): Promise<string[]> {
  const { files, lookedAt, advice } = await findDataFiles(name, split);
  if (files !== null) return files;
  if (lookedAt.length === 1) {
    throw new UsageError(`cannot read the data file ${name}: there is no such file`);
  }
  // A name with hf:// is not a path.
  const why = name.startsWith("hf://")
    ? `no copy from the Hub: looked for ${lookedAt.at(-1)}`
    : `no such file, nor a data set from the Hub: looked for ${lookedAt.join(" and for ")}`;
  throw new UsageError(`${name}: ${why}`, advice === null ? {} : { advice });
}

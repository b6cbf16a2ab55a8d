/** Where problems come from, for data sets too that take time to be read: parquet files, folders, pulled ones. */
import { UsageError } from "../core/errors.ts";
import { type DataSplit, findDataFiles } from "../hub/data_files.ts";
import type { Entry } from "../tasks/types.ts";
import { readRows } from "./data_rows.ts";
import { entriesOf } from "./jsonl.ts";
import { openSource, type ProblemSource, type SourceOptions } from "./source.ts";

/** As `openSource`, but `dataset_name` may also be what {@link readEntries} reads. */
export async function openProblems(options: SourceOptions): Promise<ProblemSource> {
  const { task_name, dataset_name, entries = null } = options;
  // Whether the two names go together is for openSource to say.
  if (dataset_name === null || task_name !== null || entries !== null) return openSource(options);
  return openSource({ ...options, entries: await readEntries(dataset_name) });
}

/** All entries of a data set; a split is chosen by the names of its files where there are several. */
export async function readEntries(name: string, split: DataSplit = "train"): Promise<Entry[]> {
  return entriesOf(await readRows(await requireDataFiles(name, split)), name);
}

/** The files of a data set: a file, a folder, or a name on the Hub. @throws UsageError when there are none */
export async function requireDataFiles(name: string, split: DataSplit): Promise<string[]> {
  const { files, lookedAt, advice } = await findDataFiles(name, split);
  if (files !== null) return files;
  if (lookedAt.length === 1) {
    throw new UsageError(`cannot read the data file ${name}: there is no such file`);
  }
  throw new UsageError(
    `${name}: no such file, nor a data set from the Hub: looked for ${lookedAt.join(" and for ")}`,
    advice === null ? {} : { advice },
  );
}

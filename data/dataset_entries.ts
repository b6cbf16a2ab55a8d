/**
 * Data sets by name: published ones (JSON Lines, or parquet as on the Hub), and "file" for any file
 * with questions and answers. hub/ fetches the files.
 */
import { UsageError } from "../core/errors.ts";
import { didYouMean } from "../core/suggest.ts";
import { PUBLISHED_SETS } from "../hub/set_addresses.ts";
import { listText } from "../hub/data_files.ts";
import type { Entry } from "../tasks/types.ts";
import { type DataRow, readTextRows } from "./read_rows.ts";
import { entriesOf } from "./row_entries.ts";
import { publishedFormat } from "./published_formats.ts";

/** Data sets that can be asked for by name. */
export const DATASET_NAMES: readonly string[] = [...Object.keys(PUBLISHED_SETS), "file"];

/**
 * The published format of rows, found by their columns and not by the name of their file; else
 * "file".
 */
export function formatOf(rows: readonly DataRow[]): string {
  const first = rows[0]?.columns ?? {};
  // A prompt is used as it is; the rows of published sets have questions.
  if (first["prompt"] != null) return "file";
  const has = (name: string) =>
    publishedFormat(name)!.columns.every((column) => first[column] != null);
  if (has("mmlu_pro") && Array.isArray(first["options"])) return "mmlu_pro";
  if (has("math500")) return "math500";
  const isWorked = ({ columns: row }: DataRow) => /\n####\s*\S+\s*$/.test(String(row["answer"]));
  return has("gsm8k") && rows.every(isWorked) ? "gsm8k" : "file";
}

/**
 * All problems of a JSON Lines file, in its order.
 * @param name gsm8k, math500, mmlu_pro, or file (any questions and answers)
 * @throws UsageError naming the file and the line
 */
export function readDataset(name: string, path: string): Entry[] {
  return datasetEntries(name, readTextRows(path), path);
}

/**
 * The problems in rows that were already read.
 * @param path where they are from
 * @param dropped receives the places of gsm8k rows whose answer has no "####"; without it such a
 *   row is an error
 */
export function datasetEntries(
  name: string,
  rows: readonly DataRow[],
  path: string,
  dropped?: string[],
): Entry[] {
  if (name === "file") return entriesOf(rows, path);
  const format = publishedFormat(name);
  if (format === null) {
    throw new UsageError(`unknown data set "${name}"${didYouMean(name, DATASET_NAMES)}`);
  }
  const entries: Entry[] = [];
  for (const { columns: row, place } of rows) {
    if (dropped !== undefined && name === "gsm8k" && isUnsolved(row)) {
      dropped.push(place);
      continue;
    }
    const missing = format.columns.find((column) => row[column] == null);
    if (missing !== undefined) {
      throw new UsageError(
        `${place}: no column "${missing}", expected those of ${name}: ` +
          `${format.columns.join(", ")} (found ${listText(Object.keys(row)) || "none"})`,
      );
    }
    const { question, answer, metadata } = format.entry(row, place);
    entries.push({
      question,
      answer,
      metadata: { ...metadata, source_dataset: name, source_index: entries.length, difficulty: {} },
    });
  }
  if (entries.length === 0) {
    const why = dropped?.length ? `: none of its ${dropped.length} answers has "####"` : "";
    throw new UsageError(`the data file ${path} has no entries${why}`);
  }
  return entries;
}

function isUnsolved({ answer }: Record<string, unknown>): boolean {
  return typeof answer === "string" && !answer.includes("####");
}

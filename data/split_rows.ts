/**
 * The rows of a split of a data set. The names of its files or the list of its README distinguish
 * the splits (hub/data_files.ts), or else a column `split`.
 */
import { UsageError } from "../core/errors.ts";
import { findDataFiles } from "../hub/data_files.ts";
import { type DataRow, readRows, rowsOfSplit, splitOf } from "./read_rows.ts";
import { isWhole, parseSplit, sliceRows } from "./split_slices.ts";

/**
 * The files of a data set.
 * @param name a file, a folder, or a name on the Hub
 * @throws UsageError when there are none
 */
export async function requireDataFiles(name: string, split: string): Promise<string[]> {
  return (await requireFound(name, split)).files;
}

async function requireFound(name: string, split: string) {
  const { files, splits, lookedAt, advice } = await findDataFiles(name, split);
  if (files !== null) return { files, splits };
  if (lookedAt.length === 1) {
    throw new UsageError(`cannot read the data file ${name}: there is no such file`);
  }
  // A name with hf:// is not a path.
  const why = name.startsWith("hf://")
    ? `no copy from the Hub: looked for ${lookedAt.at(-1)}`
    : `no such file, nor a data set from the Hub: looked for ${lookedAt.join(" and for ")}`;
  throw new UsageError(`${name}: ${why}`, advice === null ? {} : { advice });
}

/** Reads splits of one data set; no file is read twice. */
export class SplitReader {
  readonly #rows = new Map<string, readonly DataRow[]>();

  /** @param name a file, a folder, or a name on the Hub */
  constructor(readonly name: string) {}

  /** The files that were read, each with the number of its rows. */
  get counts(): Map<string, number> {
    return new Map([...this.#rows].map(([file, { length }]) => [file, length]));
  }

  /** All rows that were read, of whatever split. */
  get allRows(): DataRow[] {
    return [...this.#rows.values()].flat();
  }

  async read(files: readonly string[]): Promise<DataRow[]> {
    const rows: (readonly DataRow[])[] = [];
    for (const file of files) {
      const there = this.#rows.get(file) ?? await readRows([file]);
      this.#rows.set(file, there);
      rows.push(there);
    }
    return rows.flat();
  }

  /**
   * The rows of a split, or of slices of splits as `parseSplit` reads them.
   * @param isAsked false: the split is the default, `test`, which another split or all rows may
   *   replace
   * @throws UsageError that lists the splits when one is not there
   */
  async split(text: string, isAsked = text !== "test"): Promise<readonly DataRow[]> {
    const slices = parseSplit(text), whole = new Map<string, readonly DataRow[]>();
    const found: (readonly DataRow[])[] = [];
    for (const slice of slices) {
      const rows = whole.get(slice.split) ?? await this.#whole(slice.split, isAsked);
      whole.set(slice.split, rows);
      found.push(sliceRows(rows, slice));
    }
    const rows = found.length === 1 ? found[0]! : found.flat();
    if (rows.length === 0 && !slices.every(isWhole)) {
      const lengths = [...whole].map(([split, { length }]) => `${split} has ${length} rows`);
      const none = `${this.name}: ${JSON.stringify(text)} has no rows`;
      throw new UsageError(`${none}: ${lengths.join(", ")}`);
    }
    return rows;
  }

  async #whole(split: string, isAsked: boolean): Promise<readonly DataRow[]> {
    const { files, splits } = await requireFound(this.name, split);
    // The validation split replaces a missing test split only if nobody asked for a test split.
    if (isAsked && splits !== null && !splits.includes(split)) {
      throw noSplit(this.name, split, splits);
    }
    const rows = await this.read(files);
    if (split === "train" || !isAsked) return rowsOfSplit(rows, split as "train" | "test");
    if (splits !== null) return rows;
    const named = rows.filter((row) => splitOf(row) === split);
    if (named.length > 0) return named;
    const values = new Set(rows.map(splitOf));
    const inColumn = [...values].filter((value) => typeof value === "string");
    throw noSplit(this.name, split, inColumn.length > 0 ? inColumn : ["train"]);
  }
}

function noSplit(name: string, split: string, there: readonly string[]): UsageError {
  return new UsageError(`${name}: there is no split "${split}", only ${there.join(", ")}`, {
    advice: there.length === 1
      ? `A part of it is named as in ${there[0]}[:90%] and ${there[0]}[90%:].`
      : "Name one: data.dataset_train_split and data.dataset_test_split.",
  });
}

/**
 * Rows of data files: JSON Lines and tables in plain text (CSV, TSV), also packed with gzip or
 * zstd, or parquet as on the Hub. Whole files are read. A file that is damaged, or packed in an
 * unknown way, is one error that names it.
 */
import zlib from "node:zlib";
import type { AsyncBuffer, Compressors, FileMetaData } from "hyparquet";
import {
  asyncBufferFromFile,
  parquetMetadataAsync,
  parquetReadObjects,
  parquetSchema,
  snappyUncompress,
} from "hyparquet";
import { bytesText } from "../core/bytes.ts";
import { RgxError, UsageError } from "../core/errors.ts";
import { isRecord } from "../core/json_file.ts";
import { isUtf16, linesOf, whyNotJson, whyUnreadable } from "../core/text_file.ts";
import { isTable } from "../hub/choose_files.ts";
import { isBlank } from "../tasks/python/text.ts";
import { checkPages } from "./parquet_pages.ts";
import { listText } from "../hub/data_files.ts";

/** One row, and its place: `file:line`, or `file: row 3`. */
export interface DataRow {
  readonly columns: Record<string, unknown>;
  readonly place: string;
}

/** All rows of files, in order. @throws UsageError, RgxError */
export async function readRows(paths: readonly string[]): Promise<DataRow[]> {
  const rows: DataRow[] = [];
  for (const path of paths) {
    if (path.endsWith(".parquet")) {
      for (const row of await readParquetRows(path)) rows.push(row);
    } else for (const row of readTextRows(path)) rows.push(row);
  }
  return rows;
}

/** The split that a row names: `split`, as `rgx tasks export` writes it, or verl's `extra_info`. */
export function splitOf({ columns: { split, extra_info } }: DataRow): unknown {
  return split ?? (extra_info as { split?: unknown } | null | undefined)?.split;
}

/** Whether some of the rows, but not all, name the test split. */
export function haveSplits(rows: readonly DataRow[]): boolean {
  const isTest = (row: DataRow) => splitOf(row) === "test";
  return rows.some(isTest) && !rows.every(isTest);
}

/** The rows of a split, where the rows name splits; else all rows. */
export function rowsOfSplit(rows: readonly DataRow[], split: "train" | "test"): readonly DataRow[] {
  if (!haveSplits(rows)) return rows;
  if (split === "test") return rows.filter((row) => splitOf(row) === "test");
  const hasTrain = rows.some((row) => splitOf(row) === "train");
  return rows.filter((row) => {
    const named = splitOf(row) ?? "train";
    return named === "train" || !hasTrain && named !== "test" && named !== "validation";
  });
}

/**
 * The rows of a file that is a text: of a table where its name ends with .csv or .tsv, else JSON.
 * @throws UsageError when the file cannot be read
 */
export function readTextRows(path: string): DataRow[] {
  if (!isTable(path)) return readJsonLineRows(path);
  const text = textOf(unpacked(readBytes(path), path), path);
  const delimiter = /\.tsv(\.\w+)?$/i.test(path) ? "\t" : ",";
  return parseTable(text, path, delimiter);
}

function readBytes(path: string): Uint8Array {
  try {
    return Deno.readFileSync(path);
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

/** Number of bytes that are read to see whether a file is one JSON list. */
const BEGINNING = 2 ** 16;
/** Maximum length of a text in V8. */
const MAX_CHARACTERS = 2 ** 29 - 24;

/**
 * The rows of a JSON Lines file, or of a file with one JSON list.
 * @throws UsageError when the file cannot be read, or a row is not an object
 */
export function readJsonLineRows(path: string): DataRow[] {
  const bytes = unpacked(readBytes(path), path);
  const decode = (piece: Uint8Array) => textOf(piece, path);
  if (/^\s*\[/.test(new TextDecoder().decode(bytes.subarray(0, BEGINNING)))) {
    return parseList(decode(bytes), path);
  }
  const rows: DataRow[] = [];
  let number = 0;
  for (const line of linesOf(bytes, decode)) {
    number++;
    const place = `${path}:${number}`;
    if (!isBlank(line)) rows.push(rowOf(parseExactly(line, place, "one object a line"), place));
  }
  return rows;
}

const startsWith = (bytes: Uint8Array, beginning: readonly number[]) =>
  beginning.every((byte, i) => bytes[i] === byte);

/** No data is packed more tightly than this; small files may be. */
const MAX_RATIO = 100, ALWAYS_UNPACKED = 2 ** 28;
const mostUnpacked = (packed: number) => Math.max(ALWAYS_UNPACKED, MAX_RATIO * packed);

const tooLarge = (path: string, packed: number) =>
  new UsageError(
    `${path}: unpacks to more than ${bytesText(mostUnpacked(packed))}, from ${bytesText(packed)}`,
    { advice: "No data set is packed so tightly: is it the right file?" },
  );

/** The content of a file that gzip or zstd has packed; other files as they are. */
function unpacked(bytes: Uint8Array, path: string): Uint8Array {
  try {
    const maxOutputLength = mostUnpacked(bytes.length);
    if (startsWith(bytes, [0x1f, 0x8b])) return zlib.gunzipSync(bytes, { maxOutputLength });
    if (startsWith(bytes, [0x28, 0xb5, 0x2f, 0xfd])) {
      return zlib.zstdDecompressSync(bytes, { maxOutputLength });
    }
  } catch (cause) {
    if ((cause as { code?: string }).code === "ERR_BUFFER_TOO_LARGE") {
      throw tooLarge(path, bytes.length);
    }
    throw new UsageError(`${path}: cannot be unpacked: ${(cause as Error).message}`, {
      advice: "Is it whole?",
      cause,
    });
  }
  return bytes;
}

/** The error for a file that is no text in UTF-8: its kind, and what to do. */
function notUtf8(bytes: Uint8Array): [what: string, advice: string] {
  const again = "Save it again with that encoding.";
  if (isUtf16(bytes)) return ["is UTF-16, expected UTF-8", again];
  const magic = String.fromCharCode(...bytes.subarray(0, 4));
  if (magic === "PAR1") return ["is parquet", "Give it a name that ends with .parquet."];
  if (magic === "ARRO" || magic === "\xff\xff\xff\xff") {
    const how = 'In Python: datasets.Dataset.from_file(PATH).to_parquet("data.parquet").';
    return ["is an Arrow file, expected JSON Lines or parquet", how];
  }
  return ["is not a text in UTF-8", again];
}

/** The text of a file, without a byte order mark. */
function textOf(bytes: Uint8Array, path: string): string {
  if (bytes.length > MAX_CHARACTERS) {
    throw new UsageError(`${path}: one list of ${bytes.length} bytes is too long to be read`, {
      advice: "Write one object a line (JSON Lines), or parquet.",
    });
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    const [what, advice] = notUtf8(bytes);
    throw new UsageError(`${path}: ${what}`, { advice, cause });
  }
}

function parseList(text: string, path: string): DataRow[] {
  const rows = parseExactly(text, path, "one list of objects, or one object a line");
  return (rows as unknown[]).map((row, i) => rowOf(row, `${path}: row ${i + 1}`));
}

type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;

/**
 * Answers that are integers too large for a double become text, as such numbers in parquet do; so
 * do numbers beyond the range of a double, such as 1e400.
 */
const exact: Reviver = (name, value, { source }) =>
  (name === "answer" || name === "solution") && typeof value === "number" &&
    !Number.isSafeInteger(value) && (/^-?\d+$/.test(source ?? "") || !Number.isFinite(value))
    ? source
    : value;

function parseExactly(text: string, place: string, expected: string): unknown {
  try {
    // The reviver is slow and rarely needed.
    return /\d{16}|\d[eE]\+?\d{3}/.test(text)
      ? JSON.parse(text, exact as Parameters<typeof JSON.parse>[1])
      : JSON.parse(text);
  } catch (cause) {
    const why = whyNotJson(cause);
    throw new UsageError(`${place}: not valid JSON: ${why}; expected ${expected}`, { cause });
  }
}

function rowOf(row: unknown, place: string): DataRow {
  if (!isRecord(row)) throw new UsageError(`${place}: must be an object, found ${describe(row)}`);
  requireFewColumns(Object.keys(row).length, place);
  return { columns: row, place };
}

type Unpack = (input: Uint8Array, length: number) => Uint8Array;

const COMPRESSORS: Readonly<Record<string, Unpack>> = {
  SNAPPY: (input, length) => {
    const page = new Uint8Array(length);
    snappyUncompress(input, page);
    return page;
  },
  GZIP: (input, length) => zlib.gunzipSync(input, { maxOutputLength: length }),
  BROTLI: (input, length) => zlib.brotliDecompressSync(input, { maxOutputLength: length }),
  ZSTD: (input, length) => zlib.zstdDecompressSync(input, { maxOutputLength: length }),
};
/** Unpacks at most as much as a file of this size may hold. */
function boundedCompressors(byteLength: number, path: string): Compressors {
  let left = mostUnpacked(byteLength);
  const bounded = (unpack: Unpack): Unpack => (input, length) => {
    left -= length;
    if (left < 0) throw tooLarge(path, byteLength);
    return new Uint8Array(unpack(input, length));
  };
  return Object.fromEntries(
    Object.entries(COMPRESSORS).map(([name, unpack]) => [name, bounded(unpack)]),
  );
}

/** A table with more is refused: it would take minutes, or more memory than there is. */
const MAX_COLUMNS = 10_000, MAX_ROWS = 10_000_000;
/** The minimum memory of a value, also of a missing one. */
const VALUE_BYTES = 4;

async function readParquetRows(path: string): Promise<DataRow[]> {
  try {
    await Deno.stat(path);
  } catch (cause) {
    throw unreadable(path, cause);
  }
  try {
    const file = await asyncBufferFromFile(path), metadata = await parquetMetadataAsync(file);
    checkTable(metadata, file.byteLength, path);
    const bounded = () => boundedCompressors(file.byteLength, path);
    await checkPages(file, metadata, bounded());
    const rows = await allRows(file, { metadata, compressors: bounded() });
    // A dictionary holds a text once, whatever the number of rows that have it.
    let left = mostUnpacked(file.byteLength);
    const count = (text: string) => {
      left -= text.length;
      if (left < 0) throw tooLarge(path, file.byteLength);
    };
    return rows.map((row, i) => ({
      columns: plain(row, count) as Record<string, unknown>,
      place: `${path}: row ${i + 1}`,
    }));
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    throw new RgxError(
      `${path}: not a parquet file that can be read: ${(cause as Error).message}`,
      { advice: "Is it whole?", cause },
    );
  }
}

/**
 * The library begins to read columns before it has looked at all of them. When it then gives up, a
 * column that fails later would be an error without a handler, which ends the program. So nothing
 * is read before all reading is planned.
 */
async function allRows(
  file: AsyncBuffer,
  options: Pick<Parameters<typeof parquetReadObjects>[0], "metadata" | "compressors">,
): Promise<Record<string, unknown>[]> {
  const planned = Promise.withResolvers<void>();
  const slice = (start: number, end?: number) => {
    const bytes = planned.promise.then(() => file.slice(start, end));
    bytes.catch(() => {}); // one that nobody waits for
    return bytes;
  };
  const rows = parquetReadObjects({ ...options, file: { byteLength: file.byteLength, slice } });
  const failed = rows.then(() => false, () => true);
  const later = new Promise<false>((resolve) => setTimeout(resolve, 0, false));
  if (!await Promise.race([failed, later])) planned.resolve();
  return await rows;
}

function requireFewColumns(columns: number, place: string): void {
  if (columns <= MAX_COLUMNS) return;
  throw new UsageError(`${place}: has ${columns} columns, ${MAX_COLUMNS} is the most`, {
    advice: "Keep the columns of the prompt, the answer, and those that rewards read.",
  });
}

/** @throws UsageError for a table that is too large, or packed in an unknown way */
function checkTable(metadata: FileMetaData, byteLength: number, path: string): void {
  const { schema, num_rows, row_groups } = metadata;
  requireFewColumns(schema.length - 1, path);
  const rows = row_groups.reduce((sum, group) => sum + Number(group.num_rows), Number(num_rows));
  if (!(rows >= 0 && rows <= 2 * MAX_ROWS)) {
    throw new UsageError(`${path}: has ${num_rows} rows, ${MAX_ROWS} is the most`);
  }
  const columnsOfGroups = row_groups.flatMap(({ columns }) => columns);
  const counts = columnsOfGroups.map(({ meta_data }) => Number(meta_data?.num_values ?? 0));
  const values = counts.reduce((sum, count) => sum + count, 0);
  if (!(counts.every((count) => count >= 0) && values * VALUE_BYTES <= mostUnpacked(byteLength))) {
    throw new UsageError(`${path}: has ${values} values in ${bytesText(byteLength)}`, {
      advice: "No data set is packed so tightly: is it the right file?",
    });
  }
  const names = parquetSchema(metadata).children.map(({ element }) => element.name);
  const paths = row_groups.map(({ columns }) =>
    columns.map(({ meta_data }) => String(meta_data?.path_in_schema))
  );
  for (const some of [names, ...paths]) {
    if (new Set(some).size < some.length) {
      throw new UsageError(`${path}: two of its columns have one name`);
    }
  }
  for (const { meta_data } of columnsOfGroups) {
    const codec = meta_data?.codec ?? "UNCOMPRESSED";
    if (codec === "UNCOMPRESSED" || Object.hasOwn(COMPRESSORS, codec)) continue;
    throw new UsageError(
      `${path}: is packed with ${codec}, expected none, snappy, gzip, brotli or zstd`,
      { advice: 'In Python: pandas.read_parquet(PATH).to_parquet("data.parquet").' },
    );
  }
}

/**
 * A parquet value in the types of JSON: 64-bit integers as numbers, times as text.
 * @param onText called with each text
 */
function plain(value: unknown, onText: (text: string) => void): unknown {
  const inner = (value: unknown) => plain(value, onText);
  if (typeof value === "string") onText(value);
  if (typeof value === "bigint") {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : String(value);
  }
  if (value instanceof Date) return value.toISOString();
  if (ArrayBuffer.isView(value)) return Array.from(value as Uint8Array, inner);
  if (Array.isArray(value)) return value.map(inner);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inner(one)]));
}

function unreadable(path: string, cause: unknown): UsageError {
  return new UsageError(`cannot read the data file ${path}: ${whyUnreadable(cause)}`, { cause });
}

/** A value as JSON for a message, cut when it is long. */
export function describe(value: unknown): string {
  let text: string;
  try {
    text = JSON.stringify(value) ?? String(value);
  } catch (error) {
    // The nesting of lists is deeper than the stack.
    if (!(error instanceof RangeError)) throw error;
    text = String(Array.isArray(value) ? "[[…" : "{…");
  }
  return text.length > 60 ? text.slice(0, 60) + "…" : text;
}

// Tables in plain text (CSV, TSV) as RFC 4180 has them: a line of names, then a row a line; a field
// with a comma, a quote or a line break stands in quotes, and a quote in it is doubled. As with
// `datasets`, empty lines are left out and an empty field is null. A column holds numbers if each
// field is written as JavaScript would write the number, so that no answer changes its digits.

/** A line of a table before its fields have names, and its number, counted from 1. */
interface TableLine {
  fields: string[];
  line: number;
}

/**
 * The rows of a table.
 * @param path the file, for messages
 * @throws UsageError naming the line that is no line of a table, or not one of this table
 */
export function parseTable(text: string, path: string, delimiter: "," | "\t"): DataRow[] {
  const [header, ...lines] = linesOfTable(text, path, delimiter);
  if (header === undefined) return [];
  requireFewColumns(header.fields.length, path);
  // pandas writes the numbers of rows into a column without a name, and calls it so.
  const names = header.fields.map((name, i) => name === "" ? `Unnamed: ${i}` : name);
  const known = new Set<string>();
  const twice = names.find((name) => known.size === known.add(name).size);
  if (twice !== undefined) {
    throw new UsageError(`${path}:${header.line}: two columns have the name ${twice}`);
  }
  for (const { fields, line } of lines) {
    if (fields.length === names.length) continue;
    throw new UsageError(
      `${path}:${line}: ${fields.length} field${fields.length === 1 ? "" : "s"}, expected ` +
        `${names.length}: ${listText(names)}`,
      { advice: 'A field with a comma or a line break in it stands in quotes: "a, b".' },
    );
  }
  const isNumber = names.map((_, i) => lines.every(({ fields }) => isNumberOrEmpty(fields[i]!)));
  return lines.map(({ fields, line }) => ({
    place: `${path}:${line}`,
    columns: Object.fromEntries(names.map((name, i) => {
      const field = fields[i]!;
      return [name, field === "" ? null : isNumber[i] ? Number(field) : field];
    })),
  }));
}

function isNumberOrEmpty(field: string): boolean {
  const value = Number(field);
  return field === "" || (Number.isFinite(value) && String(value) === field);
}

function linesOfTable(text: string, path: string, delimiter: string): TableLine[] {
  const found: TableLine[] = [];
  let at = 0, line = 1;
  const fail = (what: string, advice: string): never => {
    throw new UsageError(`${path}:${line}: ${what}`, { advice });
  };
  /** A field in quotes; `at` is then behind it. */
  const quoted = (): string => {
    const start = at + 1;
    let end = text.indexOf('"', start);
    while (end >= 0 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
    if (end < 0) fail("a quote is not closed", "Is the file whole? A quote in a text is doubled.");
    const field = text.slice(start, end);
    at = end + 1;
    if (at < text.length && text[at] !== delimiter && !atLineEnd(text, at)) {
      fail(
        `${JSON.stringify(text[at])} follows a field in quotes`,
        'A quote in such a field is doubled: "say ""yes""".',
      );
    }
    line += field.split("\n").length - 1;
    return field.replaceAll('""', '"');
  };
  const plain = (): string => {
    const start = at;
    while (at < text.length && text[at] !== delimiter && !atLineEnd(text, at)) {
      if (text[at] === '"') {
        fail(
          "a quote within a field that is not in quotes",
          'Put the field in quotes, and double the quote: "5"" pipe".',
        );
      }
      at++;
    }
    return text.slice(start, at);
  };
  while (at < text.length) {
    const fields: string[] = [], begun = line, start = at;
    while (true) {
      fields.push(text[at] === '"' ? quoted() : plain());
      if (text[at] !== delimiter) break;
      at++;
    }
    if (at > start) found.push({ fields, line: begun });
    at += text.startsWith("\r\n", at) ? 2 : 1;
    line++;
  }
  return found;
}

/** A carriage return alone also ends a line: old programs write it, and Python reads it. */
function atLineEnd(text: string, at: number): boolean {
  return text[at] === "\n" || text[at] === "\r";
}

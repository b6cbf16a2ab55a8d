/** For tests only: files of rows, and the options with which they are opened. */
import zlib from "node:zlib";
import { parquetWriteFile } from "hyparquet-writer";
import { withFolder } from "../core/testing.ts";
import type { SourceOptions } from "./open_source.ts";

/** Of a source of problems that `dataset_name` names. */
export const FROM_FILE: Omit<SourceOptions, "dataset_name"> = {
  task_name: null,
  task_config: {},
  seed: 1,
  num_examples: null,
};

/** What `use` makes of a file with this content: bytes, a text, or rows as JSON Lines. */
export function withFile<T>(
  content: string | Uint8Array | readonly unknown[],
  use: (path: string) => T | Promise<T>,
  name = "rows.jsonl",
): Promise<T> {
  return withFolder(async (folder) => {
    const path = `${folder}/${name}`;
    if (content instanceof Uint8Array) await Deno.writeFile(path, content);
    else await Deno.writeTextFile(path, typeof content === "string" ? content : lines(content));
    return await use(path);
  });
}

/** Rows as JSON Lines; a text is a line as it is. */
export function lines(rows: readonly unknown[]): string {
  return rows.map((row) => typeof row === "string" ? row : JSON.stringify(row)).join("\n") + "\n";
}

/** Twenty small problems. */
export const QUESTIONS: string[] = Array.from({ length: 20 }, (_, i) => `${i} + 1 =`);
export const ANSWERS: string[] = QUESTIONS.map((_, i) => String(i + 1));

type Written = Parameters<typeof parquetWriteFile>[0];

/** The problems as columns, as text alone. */
export const TEXT_COLUMNS: Written["columnData"] = [
  { name: "question", data: QUESTIONS, type: "STRING" },
  { name: "answer", data: ANSWERS, type: "STRING" },
];

/** The problems with columns of other types. */
export const ALL_COLUMNS: Written["columnData"] = [
  ...TEXT_COLUMNS,
  { name: "steps", data: QUESTIONS.map((_, i) => BigInt(i)), type: "INT64" },
  { name: "tags", data: QUESTIONS.map(() => ({ kind: "sum", parts: [1, 2] })), type: "JSON" },
  { name: "score", data: QUESTIONS.map((_, i) => i / 3), type: "DOUBLE" },
  { name: "easy", data: QUESTIONS.map((_, i) => i % 2 === 0), type: "BOOLEAN" },
];

/** The packings that are read. */
export const CODECS = ["UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "BROTLI"] as const;

/** Writes columns as a parquet file, also in packings that are not read. */
export function writeParquet(
  filename: string,
  codec: NonNullable<Written["codec"]> = "SNAPPY",
  columnData: Written["columnData"] = ALL_COLUMNS,
): void {
  const packed = (bytes: Uint8Array) => new Uint8Array(bytes);
  const compressors = {
    GZIP: (input: Uint8Array) => packed(zlib.gzipSync(input)),
    ZSTD: (input: Uint8Array) => packed(zlib.zstdCompressSync(input)),
    BROTLI: (input: Uint8Array) => packed(zlib.brotliCompressSync(input)),
    LZ4: packed,
    LZ4_RAW: packed,
  };
  parquetWriteFile({ filename, codec, compressors, columnData, rowGroupSize: 8 });
}

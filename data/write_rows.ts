/**
 * Writes rows to a file: JSON Lines or a parquet table. Rows are written in pieces, so a file may
 * be larger than the memory. The file appears whole or not at all.
 */
import { fileWriter, ParquetWriter } from "hyparquet-writer";
import { produceFileAtomic } from "../core/atomic_file.ts";
import { entryJson } from "../tasks/entry_json.ts";
import type { ColumnType, Row } from "./export_formats.ts";

type Columns = Readonly<Record<string, ColumnType>>;
type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]["schema"][number];

/** Rows of one row group of a parquet file; a whole group is held in memory. */
const GROUP_ROWS = 10_000;
/** Number of characters of JSON Lines that are written together. */
const CHUNK = 1 << 20;

/** @throws RgxError when the file cannot be written; an earlier file is then untouched */
export async function writeJsonLines(path: string, rows: Iterable<Row>): Promise<void> {
  const encoder = new TextEncoder();
  await produceFileAtomic(path, (temporary) => {
    using file = Deno.openSync(temporary, { write: true, create: true, truncate: true });
    let text = "";
    const flush = () => {
      let bytes = encoder.encode(text);
      while (bytes.length > 0) bytes = bytes.subarray(file.writeSync(bytes));
      text = "";
    };
    for (const row of rows) {
      text += entryJson(row) + "\n";
      if (text.length >= CHUNK) flush();
    }
    flush();
  });
}

/** @throws RgxError when the file cannot be written; an earlier file is then untouched */
export async function writeParquet(
  path: string,
  columns: Columns,
  rows: Iterable<Row>,
): Promise<void> {
  await produceFileAtomic(path, async (temporary) => {
    const names = Object.keys(columns);
    const schema: SchemaElement[] = [
      { name: "root", num_children: names.length },
      ...names.flatMap((name) => schemaOf(name, columns[name]!)),
    ];
    const table = new ParquetWriter({ writer: fileWriter(temporary), schema, createdBy: "rgx" });
    let group: Row[] = [];
    const flush = async () => {
      if (group.length === 0) return;
      await table.write({
        columnData: names.map((name) => ({
          name,
          data: group.map((row) => valueOf(columns[name]!, row[name])),
        })),
        rowGroupSize: GROUP_ROWS,
      });
      group = [];
    };
    for (const row of rows) {
      if (group.push(row) >= GROUP_ROWS) await flush();
    }
    await flush();
    await table.finish();
  });
}

function valueOf(type: ColumnType, value: unknown): unknown {
  if (type === "json") return entryJson(value);
  if (type === "int") return BigInt(value as number);
  if (typeof type === "string") return value;
  return Object.fromEntries(
    Object.entries(type).map(([field, inner]) => [field, valueOf(inner, (value as Row)[field])]),
  );
}

/** The parquet schema of a column, in depth-first order. */
function schemaOf(name: string, type: ColumnType): SchemaElement[] {
  const repetition_type = "OPTIONAL" as const;
  if (type === "int") return [{ name, type: "INT64", repetition_type }];
  if (type === "messages") {
    return [
      { name, converted_type: "LIST", num_children: 1, repetition_type },
      { name: "list", num_children: 1, repetition_type: "REPEATED" },
      ...schemaOf("element", { role: "text", content: "text" }),
    ];
  }
  if (typeof type === "string") {
    return [{ name, type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type }];
  }
  const fields = Object.entries(type);
  return [
    { name, num_children: fields.length, repetition_type },
    ...fields.flatMap(([field, inner]) => schemaOf(field, inner)),
  ];
}

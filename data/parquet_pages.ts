/**
 * Checks the pages of a parquet file before the library reads them. The library trusts a page: if a
 * length is missing, it reads the same byte for ever, and it writes a run of 2^31 equal values into
 * memory even if the page has ten values.
 */
import type { AsyncBuffer, ColumnMetaData, Compressors, FileMetaData } from "hyparquet";
import { parquetSchema } from "hyparquet";
import { parquetHeader } from "hyparquet/src/column.js";
import { decompressPage } from "hyparquet/src/datapage.js";
import { getMaxDefinitionLevel, getMaxRepetitionLevel, getTreePath } from "hyparquet/src/schema.js";
import { readVarInt } from "hyparquet/src/thrift.js";

type PageHeader = ReturnType<typeof parquetHeader>;
type Reader = Parameters<typeof readVarInt>[0];

/** The largest levels of a column: how often it is repeated, and how many parents may be null. */
interface Levels {
  repetition: number;
  definition: number;
}

/** @throws Error for an impossible page */
export async function checkPages(
  file: AsyncBuffer,
  metadata: FileMetaData,
  compressors: Compressors,
): Promise<void> {
  const tree = parquetSchema(metadata);
  for (const { columns } of metadata.row_groups) {
    for (const { meta_data } of columns) {
      if (meta_data === undefined) continue;
      const path = getTreePath(tree, meta_data.path_in_schema);
      await checkColumn(file, meta_data, compressors, {
        repetition: getMaxRepetitionLevel(path),
        definition: getMaxDefinitionLevel(path),
      });
    }
  }
}

async function checkColumn(
  file: AsyncBuffer,
  column: ColumnMetaData,
  compressors: Compressors,
  levels: Levels,
): Promise<void> {
  const begin = Number(column.dictionary_page_offset || column.data_page_offset);
  const bytes = await file.slice(begin, begin + Number(column.total_compressed_size));
  const reader = { view: new DataView(bytes), offset: 0 }, all = Number(column.num_values);
  for (let values = 0; values < all && reader.offset < bytes.byteLength - 1;) {
    const header = parquetHeader(reader), count = checkHeader(header, all, column);
    const size = Math.min(header.compressed_page_size, bytes.byteLength - reader.offset);
    const page = new Uint8Array(bytes, reader.offset, size);
    if (!runsEnd(page, header, column, compressors, levels)) {
      throw new Error(`a page of ${nameOf(column)} has more values than it says`);
    }
    reader.offset += header.compressed_page_size;
    values += count;
  }
}

/** The number of values in a page. @throws Error for a header that cannot be */
function checkHeader(header: PageHeader, all: number, column: ColumnMetaData): number {
  const { type, data_page_header: v1, data_page_header_v2: v2 } = header;
  const lengths = [header.compressed_page_size, header.uncompressed_page_size];
  if (type === "DATA_PAGE") lengths.push(v1?.num_values ?? NaN);
  if (v2 !== undefined) {
    lengths.push(v2.num_values, v2.num_nulls, v2.num_rows);
    lengths.push(v2.definition_levels_byte_length, v2.repetition_levels_byte_length);
  }
  const count = v1?.num_values ?? v2?.num_values ?? 0;
  if (!lengths.every((length) => Number.isInteger(length) && length >= 0) || count > all) {
    throw new Error(`a page of ${nameOf(column)} has no valid header`);
  }
  return count;
}

/** Whether the runs of levels and indices in a page end where the page's values do. */
function runsEnd(
  bytes: Uint8Array,
  header: PageHeader,
  { codec, type }: ColumnMetaData,
  compressors: Compressors,
  { repetition, definition }: Levels,
): boolean {
  const { data_page_header: v1, data_page_header_v2: v2 } = header;
  const unpacked = (part: Uint8Array, length: number) =>
    decompressPage(part, length, codec, compressors);
  if (v1 !== undefined) {
    const reader = readerOf(unpacked(bytes, header.uncompressed_page_size));
    const isLevels = (most: number) =>
      most === 0 || isRunWithLength(reader, widthOf(most), v1.num_values);
    return isLevels(repetition) && isLevels(definition) &&
      isRunOfIndices(reader, v1.encoding, type, v1.num_values);
  }
  if (v2 === undefined) return true;
  const { repetition_levels_byte_length: first, definition_levels_byte_length: second } = v2;
  const isLevels = (most: number, at: number) =>
    most === 0 || isRun(readerOf(bytes.subarray(at)), widthOf(most), v2.num_values);
  if (!isLevels(repetition, 0) || !isLevels(definition, first)) return false;
  const values = bytes.subarray(first + second);
  const length = header.uncompressed_page_size - first - second;
  const reader = readerOf(v2.is_compressed === false ? values : unpacked(values, length));
  return isRunOfIndices(reader, v2.encoding, type, v2.num_values);
}

/** Values that are indices into a dictionary, or booleans; others have no runs. */
function isRunOfIndices(
  reader: Reader,
  encoding: string,
  type: ColumnMetaData["type"],
  count: number,
): boolean {
  if (!/^(PLAIN_DICTIONARY|RLE_DICTIONARY|RLE)$/.test(encoding)) return true;
  if (type === "BOOLEAN") return isRunWithLength(reader, 1, count);
  if (reader.offset >= reader.view.byteLength) return true;
  return isRun(reader, reader.view.getUint8(reader.offset++), count);
}

/** As `isRun`, where the length in bytes comes first. Goes to the end of the runs. */
function isRunWithLength(reader: Reader, width: number, count: number): boolean {
  if (reader.offset + 4 > reader.view.byteLength) return true;
  const end = reader.view.getUint32(reader.offset, true) + reader.offset + 4;
  reader.offset += 4;
  const isGood = isRun(reader, width, count);
  reader.offset = end;
  return isGood;
}

/**
 * Whether each run of equal or packed values is at most as long as all values of the page together.
 * A run that is cut off is accepted: the library then finds the end of the bytes.
 */
function isRun(reader: Reader, width: number, count: number): boolean {
  const { byteLength } = reader.view;
  for (let seen = 0; seen < count && reader.offset < byteLength;) {
    const header = readVarInt(reader), isPacked = (header & 1) === 1;
    const length = isPacked ? header >> 1 << 3 : header >>> 1;
    // Packed values come in groups of eight, and each takes bytes, unless it has no width.
    const isLong = length > count + 7 && (!isPacked || width === 0);
    if (length < 0 || isLong) return false;
    reader.offset += isPacked ? (header >>> 1) * width : (width + 7) >> 3;
    seen += length;
  }
  return true;
}

function readerOf(bytes: Uint8Array): Reader {
  return { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), offset: 0 };
}

function widthOf(largest: number): number {
  return 32 - Math.clz32(largest);
}

function nameOf(column: ColumnMetaData): string {
  return column.path_in_schema.join(".");
}

/**
 * Reads zip archives by their central directory (APPNOTE 6.3.3, with zip64): names, places and
 * sizes of the entries, and the bytes of one. Left out: encryption, several disks, and packed
 * contents, which torch.save does not make.
 */
import { crc32 } from "node:zlib";
import type { RgxError } from "../../../core/errors.ts";
import type { ByteSource } from "../byte_source.ts";

export interface ZipEntry {
  readonly name: string;
  readonly size: number;
  readonly headerAt: number;
  /** CRC-32 of the contents. */
  readonly checksum: number;
}

const END = 0x06054b50, END64 = 0x06064b50, LOCATOR64 = 0x07064b50;
const CENTRAL = 0x02014b50, LOCAL = 0x04034b50;
const END_BYTES = 22, LOCATOR_BYTES = 20, CENTRAL_BYTES = 46, LOCAL_BYTES = 30;
const MAX_COMMENT = 65535;
/** Far more than any model's list of tensors needs. */
const MAX_DIRECTORY_BYTES = 2 ** 26;
/** Contents that are read as a whole. */
const MAX_BYTES = 2 ** 28;

type Bad = (message: string) => RgxError;

/** @throws the error that `bad` makes when the archive is damaged, incomplete or not supported */
export async function readZipDirectory(
  source: ByteSource,
  bad: Bad,
): Promise<Map<string, ZipEntry>> {
  const { at, size, count } = await findDirectory(source, bad);
  if (size > MAX_DIRECTORY_BYTES || at + size > source.size) {
    throw bad(
      `its directory of ${size} bytes at byte ${at} is not within its ${source.size} bytes`,
    );
  }
  const bytes = await source.read(at, at + size);
  const view = new DataView(bytes.buffer);
  const text = new TextDecoder();
  const entries = new Map<string, ZipEntry>();
  let p = 0;
  for (let i = 0; i < count; i++) {
    if (p + CENTRAL_BYTES > size || view.getUint32(p, true) !== CENTRAL) {
      throw bad(`entry ${i} of its directory is damaged`);
    }
    const nameLength = view.getUint16(p + 28, true), extraLength = view.getUint16(p + 30, true);
    const next = p + CENTRAL_BYTES + nameLength + extraLength + view.getUint16(p + 32, true);
    if (next > size) throw bad(`entry ${i} of its directory is cut off`);
    const extraAt = p + CENTRAL_BYTES + nameLength;
    const name = text.decode(bytes.subarray(p + CENTRAL_BYTES, extraAt));
    const method = view.getUint16(p + 10, true);
    if ((view.getUint16(p + 8, true) & 1) !== 0) throw bad(`"${name}" in it is encrypted`);
    if (method !== 0) throw bad(`"${name}" in it is packed by method ${method}`);
    if (entries.has(name)) throw bad(`"${name}" is in it twice`);
    const wide = wideSizes(view, p, extraAt, extraAt + extraLength);
    if (wide === null) throw bad(`the sizes of "${name}" in it are damaged`);
    const checksum = view.getUint32(p + 16, true);
    entries.set(name, { name, checksum, ...wide });
    p = next;
  }
  return entries;
}

/**
 * Sizes and place of a directory entry. A field with all bits set has its value in the zip64 extra
 * field.
 */
function wideSizes(view: DataView, p: number, extraAt: number, extraEnd: number) {
  let field = extraEnd, fieldEnd = extraEnd;
  for (let at = extraAt; at + 4 <= extraEnd;) {
    const length = view.getUint16(at + 2, true);
    if (view.getUint16(at, true) === 1) {
      field = at + 4;
      fieldEnd = Math.min(extraEnd, field + length);
      break;
    }
    at += 4 + length;
  }
  const read = (at: number) => {
    const narrow = view.getUint32(at, true);
    if (narrow !== 0xffffffff) return narrow;
    if (field + 8 > fieldEnd) return NaN;
    field += 8;
    return Number(view.getBigUint64(field - 8, true));
  };
  // In this order, without those that are narrow.
  const size = read(p + 24), packedSize = read(p + 20), headerAt = read(p + 42);
  return packedSize === size && [size, headerAt].every(Number.isSafeInteger)
    ? { size, headerAt }
    : null;
}

async function findDirectory(source: ByteSource, bad: Bad) {
  const from = Math.max(0, source.size - END_BYTES - MAX_COMMENT - LOCATOR_BYTES);
  const tail = await source.read(from, source.size);
  const view = new DataView(tail.buffer);
  let end = tail.length - END_BYTES;
  while (end >= 0 && view.getUint32(end, true) !== END) end--;
  if (end < 0) throw bad("its end is missing: it is incomplete");
  const narrow = {
    count: view.getUint16(end + 10, true),
    size: view.getUint32(end + 12, true),
    at: view.getUint32(end + 16, true),
  };
  const locator = end - LOCATOR_BYTES;
  if (locator < 0 || view.getUint32(locator, true) !== LOCATOR64) return narrow;
  const wideAt = Number(view.getBigUint64(locator + 8, true));
  if (wideAt + 56 > source.size) throw bad("the place of its directory is damaged");
  const wide = new DataView((await source.read(wideAt, wideAt + 56)).buffer);
  if (wide.getUint32(0, true) !== END64) throw bad("the place of its directory is damaged");
  return {
    count: Number(wide.getBigUint64(32, true)),
    size: Number(wide.getBigUint64(40, true)),
    at: Number(wide.getBigUint64(48, true)),
  };
}

/** Where the contents of an entry begin. */
export async function storedStart(
  source: ByteSource,
  { name, headerAt, size }: ZipEntry,
  bad: Bad,
): Promise<number> {
  const damaged = () => bad(`"${name}" in it is damaged or cut off`);
  if (headerAt + LOCAL_BYTES > source.size) throw damaged();
  const view = new DataView((await source.read(headerAt, headerAt + LOCAL_BYTES)).buffer);
  const begin = headerAt + LOCAL_BYTES + view.getUint16(26, true) + view.getUint16(28, true);
  if (view.getUint32(0, true) !== LOCAL || begin + size > source.size) throw damaged();
  return begin;
}

export async function readZipEntry(
  source: ByteSource,
  entry: ZipEntry,
  bad: Bad,
): Promise<Uint8Array<ArrayBuffer>> {
  const begin = await storedStart(source, entry, bad);
  if (entry.size > MAX_BYTES) throw bad(`"${entry.name}" in it has ${entry.size} bytes`);
  const bytes = await source.read(begin, begin + entry.size);
  compare(entry, crc32(bytes), bad);
  return bytes;
}

/** Bytes that are read at a time for a checksum. */
const PART_BYTES = 1 << 24;

/**
 * Compares the contents of an entry, which begin at byte `begin`, with their checksum.
 * @throws the error that `bad` makes when they differ
 */
export async function checkStored(
  source: ByteSource,
  entry: ZipEntry,
  begin: number,
  bad: Bad,
): Promise<void> {
  let sum = 0;
  for (let from = 0; from < entry.size; from += PART_BYTES) {
    const to = Math.min(entry.size, from + PART_BYTES);
    sum = crc32(await source.read(begin + from, begin + to), sum);
  }
  compare(entry, sum, bad);
}

function compare({ name, checksum }: ZipEntry, found: number, bad: Bad): void {
  // torch writes 0 where it was told to compute none (set_crc32_options).
  if (checksum !== 0 && found !== checksum) {
    throw bad(`"${name}" in it does not have the checksum that it should`);
  }
}

/**
 * Reads the header of a GGUF file (metadata and tensor table) from its first bytes. Every count and
 * length is compared with what the file can hold before it is used.
 */
import type { RgxError } from "../../../core/errors.ts";

/** An integer beyond 2^53 is a bigint. */
export type GgufScalar = number | bigint | boolean | string;
export type GgufValue = GgufScalar | readonly GgufScalar[];

export type Bad = (message: string, advice?: string) => RgxError;

export class NeedMoreBytes extends Error {
  constructor(readonly what: string) {
    super(`more bytes are needed to read ${what}`);
  }
}

export interface GgufEntry {
  name: string;
  /** The contiguous dimension comes first. */
  dims: number[];
  typeId: number;
  /** Counted from the start of the data. */
  offset: number;
}

export interface GgufHeader {
  metadata: Map<string, GgufValue>;
  entries: GgufEntry[];
  /** First byte after the tensor table. */
  end: number;
}

const STRING = 8, ARRAY = 9;
/** By type: the bytes of a value, and how it is read; null = a text or an array. */
const VALUES: readonly (
  | readonly [bytes: number, read: (view: DataView, at: number) => GgufScalar]
  | null
)[] = [
  [1, (view, at) => view.getUint8(at)],
  [1, (view, at) => view.getInt8(at)],
  [2, (view, at) => view.getUint16(at, true)],
  [2, (view, at) => view.getInt16(at, true)],
  [4, (view, at) => view.getUint32(at, true)],
  [4, (view, at) => view.getInt32(at, true)],
  [4, (view, at) => view.getFloat32(at, true)],
  [1, (view, at) => view.getUint8(at) !== 0],
  null,
  null,
  [8, (view, at) => exactNumber(view.getBigUint64(at, true))],
  [8, (view, at) => exactNumber(view.getBigInt64(at, true))],
  [8, (view, at) => view.getFloat64(at, true)],
];
/** Bytes of the length of a text. */
const LENGTH_BYTES = 8;
/** Length of the name, number of dimensions, type, offset. */
const ENTRY_BYTES = 24;
const MAX_DIMS = 4;

/** @throws NeedMoreBytes when the header does not end within `bytes` */
export function readGgufHeader(
  bytes: Uint8Array<ArrayBuffer>,
  fileBytes: number,
  bad: Bad,
): GgufHeader {
  const cursor = new Cursor(bytes, fileBytes, bad);
  checkStart(cursor, bad);
  const tensorCount = cursor.count("the number of tensors", ENTRY_BYTES);
  const keyCount = cursor.count("the number of metadata", 13);
  const metadata = new Map<string, GgufValue>();
  for (let i = 0; i < keyCount; i++) {
    const key = cursor.string(`metadata key ${i}`);
    if (metadata.has(key)) throw bad(`it has the metadata "${key}" twice`);
    const type = cursor.u32(`metadata "${key}"`);
    metadata.set(
      key,
      type === ARRAY ? readArray(cursor, key, bad) : cursor.value(type, `metadata "${key}"`),
    );
  }
  const entries: GgufEntry[] = [];
  for (let i = 0; i < tensorCount; i++) {
    const name = cursor.string(`the name of tensor ${i}`), what = `tensor "${name}"`;
    const rank = cursor.u32(what);
    if (rank > MAX_DIMS) throw bad(`${what} has ${rank} dimensions, expected ${MAX_DIMS} or fewer`);
    const dims = Array.from({ length: rank }, () => cursor.size(what));
    entries.push({ name, dims, typeId: cursor.u32(what), offset: cursor.size(what) });
  }
  return { metadata, entries, end: cursor.at };
}

function checkStart(cursor: Cursor, bad: Bad): void {
  const magic = cursor.ascii(4);
  if (magic !== "GGUF") {
    throw magic === "vers"
      ? bad("it is a Git LFS pointer, not the model itself", "Run `git lfs pull` in its folder.")
      : bad(
        `it begins with ${JSON.stringify(magic)}, expected "GGUF"`,
        "The file is damaged or of another format.",
      );
  }
  const version = cursor.u32("the version");
  if (version === 2 || version === 3) return;
  throw (version & 0xffff) === 0 && version !== 0
    ? bad("it was written for big-endian machines", "Take the little-endian file.")
    : bad(`its version is ${version}, expected 2 or 3`, "Convert the model again with llama.cpp.");
}

function readArray(cursor: Cursor, key: string, bad: Bad): GgufScalar[] {
  const what = `metadata "${key}"`;
  const type = cursor.u32(what);
  if (type === ARRAY) throw bad(`${what} is an array of arrays, which is not read`);
  const count = cursor.count(what, type === STRING ? LENGTH_BYTES : VALUES[type]?.[0] ?? 1);
  const values: GgufScalar[] = [];
  for (let i = 0; i < count; i++) values.push(cursor.value(type, what));
  return values;
}

class Cursor {
  at = 0;
  readonly #view: DataView;
  readonly #text = new TextDecoder("utf-8", { ignoreBOM: true });

  constructor(
    private readonly bytes: Uint8Array<ArrayBuffer>,
    private readonly fileBytes: number,
    private readonly bad: Bad,
  ) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** Advances by `n` bytes and returns where they begin. */
  #take(n: number, what: string): number {
    const begin = this.at;
    if (begin + n > this.fileBytes) {
      throw this.bad(
        `${what} should end at byte ${begin + n}, the file has ${this.fileBytes}: it is incomplete`,
      );
    }
    if (begin + n > this.bytes.length) throw new NeedMoreBytes(what);
    this.at += n;
    return begin;
  }

  ascii(n: number): string {
    const at = this.#take(n, "the first bytes");
    return String.fromCharCode(...this.bytes.subarray(at, at + n));
  }

  u32(what: string): number {
    return this.#view.getUint32(this.#take(4, what), true);
  }

  /** A u64 that must be exact as a number. */
  size(what: string): number {
    const value = this.#view.getBigUint64(this.#take(8, what), true);
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) {
      throw this.bad(`${what} has a size or offset of ${value}, which no file can hold`);
    }
    return Number(value);
  }

  /** A count of items of at least `each` bytes, which must fit in the rest of the file. */
  count(what: string, each: number): number {
    const n = this.size(what);
    if (n * each > this.fileBytes - this.at) {
      throw this.bad(
        `${what} is ${n}, which the ${this.fileBytes - this.at} bytes that follow cannot hold`,
      );
    }
    return n;
  }

  string(what: string): string {
    const length = this.count(`the length of ${what}`, 1);
    const at = this.#take(length, what);
    return this.#text.decode(this.bytes.subarray(at, at + length));
  }

  value(type: number, what: string): GgufScalar {
    if (type === STRING) return this.string(what);
    const known = VALUES[type] ?? null;
    if (known === null) {
      throw this.bad(`${what} has values of type ${type}, which the format does not know`);
    }
    const [bytes, read] = known;
    return read(this.#view, this.#take(bytes, what));
  }
}

function exactNumber(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

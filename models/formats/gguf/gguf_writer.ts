/**
 * Writes GGUF files (version 3, alignment 32), one tensor after the other. export/gguf_export.ts
 * decides on the metadata of a model. Left out: files in several parts, arrays of arrays.
 */
import { writeFlushed } from "../../../core/atomic_file.ts";
import { elementCount } from "../element_count.ts";
import { checkedPieces, type TensorBytes } from "../tensor_stream.ts";
import type { WeightType } from "../weight_types.ts";
import { encodedBytes, ENCODINGS } from "../weight_encoding.ts";

const TYPES = { u32: 4, i32: 5, f32: 6, bool: 7, string: 8, u64: 10 } as const;
const ARRAY = 9, VERSION = 3, ALIGNMENT = 32;

type Values = {
  u32: number;
  i32: number;
  f32: number;
  bool: boolean;
  string: string;
  u64: number | bigint;
};

/** A value with its type. A list is written as an array of that type. */
export type GgufWritten = {
  [T in keyof Values]: readonly [type: T, value: Values[T] | readonly Values[T][]];
}[keyof Values];

export type GgufMetadata = ReadonlyMap<string, GgufWritten>;

export interface GgufTensorToWrite {
  name: string;
  type: WeightType;
  /** Row-major. The last dimension is contiguous and consists of whole blocks of the type. */
  shape: readonly number[];
  bytes: TensorBytes;
}

/**
 * Writes a file and waits until it is on the disk.
 * @throws RangeError when a tensor's bytes do not match its shape
 */
export async function writeGguf(
  path: string,
  metadata: GgufMetadata,
  tensors: readonly GgufTensorToWrite[],
): Promise<void> {
  await writeFlushed(path, ggufPieces(metadata, tensors));
}

async function* ggufPieces(
  metadata: GgufMetadata,
  tensors: readonly GgufTensorToWrite[],
): AsyncGenerator<Uint8Array> {
  let offset = 0;
  const places = tensors.map(({ name, type, shape }): TensorPlace => {
    const begin = offset;
    offset += aligned(tensorBytes(type, shape));
    return { name, shape, typeId: ENCODINGS[type].id, offset: begin };
  });
  yield ggufHead(metadata, places);
  for (const { name, type, shape, bytes } of tensors) {
    const length = tensorBytes(type, shape);
    yield* checkedPieces(bytes, length, name);
    yield new Uint8Array(aligned(length) - length);
  }
}

const aligned = (bytes: number) => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

function tensorBytes(type: WeightType, shape: readonly number[]): number {
  return encodedBytes(type, elementCount(shape));
}

/** A tensor as the head names it; the offset counts from the beginning of the data. */
export interface TensorPlace {
  name: string;
  shape: readonly number[];
  typeId: number;
  offset: number;
}

/** All bytes before the data, with padding. */
export function ggufHead(
  metadata: GgufMetadata,
  tensors: readonly TensorPlace[],
  { version = VERSION, alignment = ALIGNMENT } = {},
): Uint8Array<ArrayBuffer> {
  const out = new ByteBuilder();
  out.bytes(new TextEncoder().encode("GGUF"));
  out.scalar("u32", version);
  out.u64(tensors.length);
  out.u64(metadata.size);
  for (const [key, [type, value]] of metadata) {
    out.string(key);
    if (typeof value === "object") {
      out.scalar("u32", ARRAY);
      out.scalar("u32", TYPES[type]);
      out.u64(value.length);
      for (const item of value) out.scalar(type, item);
    } else {
      out.scalar("u32", TYPES[type]);
      out.scalar(type, value);
    }
  }
  for (const { name, shape, typeId, offset } of tensors) {
    out.string(name);
    out.scalar("u32", shape.length);
    for (const n of shape.toReversed()) out.u64(n);
    out.scalar("u32", typeId);
    out.u64(offset);
  }
  return out.padded(alignment);
}

class ByteBuilder {
  #buffer = new Uint8Array(2 ** 16);
  #view = new DataView(this.#buffer.buffer);
  #length = 0;
  readonly #text = new TextEncoder();

  /** Makes room for `n` bytes and returns where they begin. */
  #room(n: number): number {
    const at = this.#length;
    this.#length += n;
    if (this.#length > this.#buffer.length) {
      const larger = new Uint8Array(2 * this.#length);
      larger.set(this.#buffer.subarray(0, at));
      this.#buffer = larger;
      this.#view = new DataView(larger.buffer);
    }
    return at;
  }

  bytes(data: Uint8Array): void {
    const at = this.#room(data.length);
    this.#buffer.set(data, at);
  }

  u64(value: number | bigint): void {
    const at = this.#room(8);
    this.#view.setBigUint64(at, BigInt(value), true);
  }

  string(value: string): void {
    const data = this.#text.encode(value);
    this.u64(data.length);
    this.bytes(data);
  }

  scalar(type: keyof typeof TYPES, value: number | bigint | boolean | string): void {
    if (type === "string") return this.string(String(value));
    if (type === "u64") return this.u64(value as bigint);
    const at = this.#room(type === "bool" ? 1 : 4);
    if (type === "bool") this.#view.setUint8(at, value === true ? 1 : 0);
    else if (type === "f32") this.#view.setFloat32(at, Number(value), true);
    else if (type === "i32") this.#view.setInt32(at, Number(value), true);
    else this.#view.setUint32(at, Number(value), true);
  }

  padded(alignment: number): Uint8Array<ArrayBuffer> {
    return this.#buffer.slice(0, Math.ceil(this.#length / alignment) * alignment);
  }
}

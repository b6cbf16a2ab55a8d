/** Makes small GGUF files for tests. Not part of the program. */
import type { GgufScalar } from "./gguf_header.ts";

/** The format's numbers of the value types that tests write. */
const TYPES = { u8: 0, u32: 4, i32: 5, f32: 6, bool: 7, string: 8, u64: 10 } as const;
type TypeName = keyof typeof TYPES;

export type TestMetadata = Record<
  string,
  [type: TypeName, value: GgufScalar | readonly GgufScalar[]]
>;

export interface TestTensor {
  name: string;
  /** Row-major. */
  shape: readonly number[];
  typeId: number;
  data: Uint8Array;
  /** Default: after the tensor before, aligned. */
  offset?: number;
}

export function encodeTestGguf(
  metadata: TestMetadata,
  tensors: readonly TestTensor[],
  { version = 3, alignment = 32 } = {},
): Uint8Array<ArrayBuffer> {
  let bytes = new Uint8Array(2 ** 16), length = 0;
  const putBytes = (more: ArrayLike<number>) => {
    while (length + more.length > bytes.length) {
      const larger = new Uint8Array(bytes.length * 2);
      larger.set(bytes);
      bytes = larger;
    }
    bytes.set(more, length);
    length += more.length;
  };
  const text = new TextEncoder();
  const put = (buffer: ArrayBuffer) => putBytes(new Uint8Array(buffer));
  const number = (type: TypeName, value: GgufScalar) => {
    if (type === "u64") put(new BigUint64Array([BigInt(value)]).buffer);
    else if (type === "f32") put(new Float32Array([Number(value)]).buffer);
    else if (type === "u8" || type === "bool") putBytes([Number(value)]);
    else put(new Uint32Array([Number(value)]).buffer);
  };
  const string = (value: string) => {
    const encoded = text.encode(value);
    number("u64", encoded.length);
    putBytes(encoded);
  };
  const scalar = (type: TypeName, value: GgufScalar) =>
    type === "string" ? string(String(value)) : number(type, value);
  putBytes(text.encode("GGUF"));
  number("u32", version);
  number("u64", tensors.length);
  number("u64", Object.keys(metadata).length);
  for (const [key, [type, value]] of Object.entries(metadata)) {
    string(key);
    if (Array.isArray(value)) {
      number("u32", 9);
      number("u32", TYPES[type]);
      number("u64", value.length);
      for (const element of value) scalar(type, element);
    } else {
      number("u32", TYPES[type]);
      scalar(type, value as GgufScalar);
    }
  }
  let offset = 0;
  const aligned = (n: number) => Math.ceil(n / alignment) * alignment;
  for (const { name, shape, typeId, data, offset: given } of tensors) {
    string(name);
    number("u32", shape.length);
    for (const n of shape.toReversed()) number("u64", n);
    number("u32", typeId);
    number("u64", given ?? offset);
    offset = aligned(offset + data.length);
  }
  for (const { data } of tensors) {
    putBytes(new Uint8Array(aligned(length) - length));
    putBytes(data);
  }
  return bytes.slice(0, length);
}

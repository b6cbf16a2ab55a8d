/**
 * Safetensors files to be written: the header, and tensors as bytes. ../tensor_stream.ts makes
 * their content piece by piece.
 */
import { narrowBF16, narrowF16 } from "../../../core/half_floats.ts";
import { elementCount } from "../element_count.ts";
import { DTYPE_BYTES, type SafetensorsDType } from "./dtypes.ts";

/** A tensor to be written: its values, or its stored bytes (Uint8Array) for any dtype. */
export interface TensorToWrite {
  name: string;
  dtype: SafetensorsDType;
  shape: readonly number[];
  data: Float32Array | Float64Array | Uint8Array | Uint32Array | Int32Array | BigInt64Array;
}

/**
 * `data` as bytes of `dtype`. Floats are converted; everything else must have that type already.
 */
export function storedBytes({ name, dtype, data, shape }: TensorToWrite): Uint8Array {
  const view = (a: ArrayBufferView) => new Uint8Array(a.buffer, a.byteOffset, a.byteLength);
  let bytes: Uint8Array | undefined;
  if (data instanceof Uint8Array) bytes = data;
  else if (data instanceof Float32Array || data instanceof Float64Array) {
    if (dtype === "F32") {
      bytes = view(data instanceof Float32Array ? data : Float32Array.from(data));
    } else if (dtype === "F64") {
      bytes = view(data instanceof Float64Array ? data : Float64Array.from(data));
    } else if (dtype === "BF16") bytes = view(narrowBF16(data));
    else if (dtype === "F16") bytes = view(narrowF16(data));
  } else if (data instanceof Uint32Array && dtype === "U32") bytes = view(data);
  else if (data instanceof Int32Array && dtype === "I32") bytes = view(data);
  else if (data instanceof BigInt64Array && dtype === "I64") bytes = view(data);
  if (bytes === undefined) {
    throw new TypeError(`tensor ${name}: cannot store a ${data.constructor.name} as ${dtype}`);
  }
  const need = storedLength({ dtype, shape });
  if (bytes.length !== need) {
    throw new RangeError(
      `tensor ${name}: ${dtype} of shape [${shape}] takes ${need} bytes, got ${bytes.length}`,
    );
  }
  return bytes;
}

/** A tensor's entry in the header of a file to be written. */
export interface TensorEntry {
  readonly name: string;
  readonly dtype: SafetensorsDType;
  readonly shape: readonly number[];
}

export function storedLength({ dtype, shape }: Pick<TensorEntry, "dtype" | "shape">): number {
  return elementCount(shape) * DTYPE_BYTES[dtype];
}

/**
 * The order of a file's tensors (wide types first, then by name), and all bytes before their data.
 * @throws RangeError when two tensors have the same name
 */
export function layOutSafetensors<T extends TensorEntry>(
  tensors: Iterable<T>,
  metadata: Readonly<Record<string, string>>,
): { sorted: T[]; head: Uint8Array<ArrayBuffer> } {
  const sorted = [...tensors].sort((a, b) =>
    DTYPE_BYTES[b.dtype] - DTYPE_BYTES[a.dtype] || (a.name < b.name ? -1 : 1)
  );
  // Without a prototype, so that a tensor may be called "__proto__" or "constructor".
  const header: Record<string, unknown> = Object.create(null);
  header["__metadata__"] = metadata;
  let at = 0;
  for (const { name, dtype, shape } of sorted) {
    if (Object.hasOwn(header, name)) throw new RangeError(`two tensors are called ${name}`);
    const end = at + storedLength({ dtype, shape });
    header[name] = { dtype, shape, data_offsets: [at, end] };
    at = end;
  }
  const json = new TextEncoder().encode(JSON.stringify(header));
  const head = new Uint8Array(8 + Math.ceil(json.length / 8) * 8).fill(0x20);
  new DataView(head.buffer).setBigUint64(0, BigInt(head.length - 8), true);
  head.set(json, 8);
  return { sorted, head };
}

/**
 * The bytes of a safetensors file. The order in which tensors are given does not matter.
 * @throws TypeError, RangeError when data, dtype and shape do not agree
 */
export function encodeSafetensors(
  tensors: Iterable<TensorToWrite>,
  metadata: Readonly<Record<string, string>> = { format: "pt" },
): Uint8Array<ArrayBuffer> {
  const { sorted, head } = layOutSafetensors(tensors, metadata);
  const parts = [head, ...sorted.map(storedBytes)];
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

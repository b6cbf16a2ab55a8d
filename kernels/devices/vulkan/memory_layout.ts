/**
 * Structures of C as bytes: fields at C's offsets on 64-bit systems, and pointers to other bytes.
 * The memory that a structure points to lives as long as the structure.
 */

export type Bytes = Uint8Array<ArrayBuffer>;
type Scalar = "u32" | "u64" | "i32" | "f32" | "u8" | "pointer";
/** A type of C; "u32*3" is an array. */
type Field = Scalar | `${Scalar}*${number}` | Struct<Fields>;
export type Fields = Readonly<Record<string, Field>>;
/** Bytes are pointed to, or copied where the field is a structure; a text is pointed to. */
type Value = number | bigint | Bytes | string | null;

const SIZES: Record<Scalar, number> = { u32: 4, u64: 8, i32: 4, f32: 4, u8: 1, pointer: 8 };
const keptAlive = new WeakMap<ArrayBuffer, unknown[]>();

/** Zeros that the garbage collector does not move. (Small typed arrays may lie in V8's heap.) */
export function zeros(bytes: number): Bytes {
  return new Uint8Array(new ArrayBuffer(bytes));
}

export function addressOf(bytes: Bytes): bigint {
  return BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes)));
}

/** A text as C has it. */
export function cString(text: string): Bytes {
  const utf8 = new TextEncoder().encode(text), bytes = zeros(utf8.length + 1);
  bytes.set(utf8);
  return bytes;
}

/** The text that ends at the first zero byte. */
export function textOf(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(bytes.subarray(0, end < 0 ? bytes.length : end));
}

/** Parts one after the other, such as an array of structures. */
export function joined(parts: readonly Bytes[]): Bytes {
  const bytes = zeros(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  keptAlive.set(bytes.buffer, [...parts]);
  return bytes;
}

/** An array of handles or other 64-bit numbers. */
export function u64Array(values: readonly bigint[]): Bytes {
  const bytes = zeros(8 * values.length);
  new BigUint64Array(bytes.buffer).set(values);
  return bytes;
}

/** An array of pointers to texts. */
export function textArray(texts: readonly string[]): Bytes {
  const strings = texts.map(cString), bytes = u64Array(strings.map(addressOf));
  keptAlive.set(bytes.buffer, strings);
  return bytes;
}

/** The layout of a structure. */
export class Struct<F extends Fields> {
  readonly size: number;
  readonly align: number;
  /** Offset of each field in bytes. */
  readonly offsets: Readonly<Record<keyof F, number>>;

  /**
   * @param sType the value of Vulkan's field `sType`, which then comes first, with `pNext` after it
   */
  constructor(readonly name: string, readonly sType: number | null, readonly fields: F) {
    let at = sType === null ? 0 : 16, align = sType === null ? 1 : 8;
    const offsets: Record<string, number> = {};
    for (const [field, type] of Object.entries(fields)) {
      const [bytes, alignment] = sizeOf(type);
      at = Math.ceil(at / alignment) * alignment;
      offsets[field] = at;
      at += bytes;
      align = Math.max(align, alignment);
    }
    this.offsets = offsets as Record<keyof F, number>;
    this.align = align;
    this.size = Math.ceil(at / align) * align;
  }

  /** A structure with these values, zeros elsewhere. `next` becomes `pNext`. */
  make(values: Partial<Record<keyof F, Value>> = {}, next: Bytes | null = null): Bytes {
    const bytes = zeros(this.size), view = new DataView(bytes.buffer), kept: unknown[] = [];
    const pointer = (at: number, target: Bytes) => {
      view.setBigUint64(at, addressOf(target), true);
      kept.push(target);
    };
    if (this.sType !== null) view.setUint32(0, this.sType, true);
    if (next !== null) pointer(8, next);
    for (const [field, value] of Object.entries(values) as [keyof F, Value][]) {
      const at = this.offsets[field], type = this.fields[field]!;
      if (value === null) continue;
      if (typeof value === "string") pointer(at, cString(value));
      else if (typeof value !== "object") setNumber(view, at, type, value);
      else if (type instanceof Struct) {
        bytes.set(value, at);
        kept.push(value);
      } else pointer(at, value);
    }
    keptAlive.set(bytes.buffer, kept);
    return bytes;
  }

  /** A number of a structure that starts at byte `base`. */
  number(bytes: Uint8Array, field: keyof F, index = 0, base = 0): number {
    const type = this.fields[field]!;
    if (type instanceof Struct) throw new TypeError(`${this.name}.${String(field)} is a structure`);
    const scalar = type.split("*")[0] as Scalar;
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    const at = base + this.offsets[field] + index * SIZES[scalar];
    switch (scalar) {
      case "u32":
        return view.getUint32(at, true);
      case "i32":
        return view.getInt32(at, true);
      case "f32":
        return view.getFloat32(at, true);
      case "u8":
        return view.getUint8(at);
      default:
        return Number(view.getBigUint64(at, true));
    }
  }

  /** The bytes of a field; they are shared with the structure. */
  part(bytes: Bytes, field: keyof F): Bytes {
    const at = this.offsets[field];
    return bytes.subarray(at, at + sizeOf(this.fields[field]!)[0]) as Bytes;
  }
}

/** Bytes and alignment of a field. */
function sizeOf(type: Field): [bytes: number, alignment: number] {
  if (type instanceof Struct) return [type.size, type.align];
  const [scalar, count = "1"] = type.split("*");
  const size = SIZES[scalar as Scalar];
  return [size * Number(count), size];
}

function setNumber(view: DataView, at: number, type: Field, value: number | bigint): void {
  if (type === "u32") view.setUint32(at, Number(value), true);
  else if (type === "i32") view.setInt32(at, Number(value), true);
  else if (type === "f32") view.setFloat32(at, Number(value), true);
  else view.setBigUint64(at, BigInt(value), true);
}

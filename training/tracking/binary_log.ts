/**
 * What the event files of trackers need: fields in the Protocol Buffers wire format, checksums, and
 * writes of which nothing waits in memory that a killed process could lose.
 */

const VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5;
const UTF8 = new TextEncoder();

export class ProtoMessage {
  readonly #bytes: number[] = [];

  /** An int64, uint64, enum or bool. @param value an integer ≥ 0 */
  integer(field: number, value: number): this {
    this.#tag(field, VARINT);
    return this.#varint(value);
  }

  double(field: number, value: number): this {
    this.#tag(field, FIXED64);
    this.#bytes.push(...new Uint8Array(Float64Array.of(value).buffer));
    return this;
  }

  float(field: number, value: number): this {
    this.#tag(field, FIXED32);
    this.#bytes.push(...new Uint8Array(Float32Array.of(value).buffer));
    return this;
  }

  text(field: number, value: string): this {
    return this.bytes(field, UTF8.encode(value));
  }

  message(field: number, value: ProtoMessage): this {
    return this.bytes(field, value.encode());
  }

  bytes(field: number, value: Uint8Array): this {
    this.#tag(field, BYTES);
    this.#varint(value.length);
    for (const byte of value) this.#bytes.push(byte);
    return this;
  }

  encode(): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(this.#bytes);
  }

  #tag(field: number, wireType: number): void {
    this.#varint(field * 8 + wireType);
  }

  /** Seven bits per byte, low bits first. */
  #varint(value: number): this {
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new RangeError(`a varint is a whole number of at least 0, not ${value}`);
    }
    for (; value >= 128; value = Math.floor(value / 128)) this.#bytes.push(value % 128 + 128);
    this.#bytes.push(value);
    return this;
  }
}

/** Writes all bytes; a single `writeSync` may write fewer. */
export function writeAll(file: Deno.FsFile, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) done += file.writeSync(bytes.subarray(done));
}

export type Crc = (...parts: readonly Uint8Array[]) => number;

/** Check value of "123456789": e3069283. */
export const crc32c: Crc = crcOf(0x82f63b78);

/** Check value of "123456789": cbf43926. */
export const crc32: Crc = crcOf(0xedb88320);

function crcOf(polynomial: number): Crc {
  const table = Uint32Array.from({ length: 256 }, (_, byte) => {
    for (let bit = 0; bit < 8; bit++) byte = byte >>> 1 ^ (byte & 1 ? polynomial : 0);
    return byte;
  });
  return (...parts) => {
    let crc = 0xffffffff;
    for (const part of parts) {
      for (const byte of part) crc = crc >>> 8 ^ table[(crc ^ byte) & 0xff]!;
    }
    return (crc ^ 0xffffffff) >>> 0;
  };
}

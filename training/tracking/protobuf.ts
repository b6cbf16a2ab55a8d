/** The part of the Protocol Buffers wire format that event files need: writing of fields. */

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

/**
 * The 16-bit floats of weight files: IEEE binary16 ("F16") and bfloat16 ("BF16", the upper half of
 * a float32). Widening is exact; narrowing rounds to nearest, ties to even, like torch.
 */

const f32 = new Float32Array(1);
const u32 = new Uint32Array(f32.buffer);

const f16 = new Float16Array(1);
const u16 = new Uint16Array(f16.buffer);

/** The value of one binary16 bit pattern. */
export function f16Value(bits: number): number {
  u16[0] = bits;
  return f16[0]!;
}

/** float32 values of binary16 bit patterns. */
export function widenF16(halves: Uint16Array): Float32Array<ArrayBuffer> {
  return new Float32Array(new Float16Array(halves.buffer, halves.byteOffset, halves.length));
}

/** float32 values of bfloat16 bit patterns. */
export function widenBF16(halves: Uint16Array): Float32Array<ArrayBuffer> {
  return widenBF16Into(halves, new Float32Array(halves.length));
}

/** The same values, written into `out`, which is returned. */
export function widenBF16Into<T extends Float32Array>(halves: Uint16Array, out: T): T {
  const bits = new Uint32Array(out.buffer, out.byteOffset, out.length);
  for (let i = 0; i < halves.length; i++) bits[i] = halves[i]! << 16;
  return out;
}

/** bfloat16 bit patterns of float32 values; NaN stays NaN. */
export function narrowBF16(values: ArrayLike<number>): Uint16Array<ArrayBuffer> {
  return narrowBF16Into(values, new Uint16Array(values.length));
}

/** The same into `out`, which is returned. */
export function narrowBF16Into<T extends Uint16Array>(values: ArrayLike<number>, out: T): T {
  if (values instanceof Float32Array) {
    const all = new Int32Array(values.buffer, values.byteOffset, values.length);
    for (let i = 0; i < all.length; i++) out[i] = bf16Bits(all[i]!);
    return out;
  }
  for (let i = 0; i < values.length; i++) {
    f32[0] = values[i]!;
    out[i] = bf16Bits(u32[0]!);
  }
  return out;
}

/** The bfloat16 pattern nearest to a float32, from the bits of the float32. */
function bf16Bits(bits: number): number {
  return (bits & 0x7fffffff) > 0x7f800000
    ? (bits >>> 16) | 0x40
    : (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}

/** binary16 bit patterns of float32 values; from ±65520 on they are infinite, NaN stays NaN. */
export function narrowF16(values: ArrayLike<number>): Uint16Array<ArrayBuffer> {
  const floats = values instanceof Float32Array ? values : Float32Array.from(values);
  return new Uint16Array(new Float16Array(floats).buffer);
}

/** The nearest binary16 bit pattern of one value, which is rounded to float32 first. */
export function f16Of(value: number): number {
  f16[0] = Math.fround(value);
  return u16[0]!;
}

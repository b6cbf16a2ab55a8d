/**
 * The 16-bit floats of weight files: IEEE binary16 ("F16") and bfloat16 ("BF16", the upper half of
 * a float32). Widening is exact; narrowing rounds to nearest, ties to even, like torch.
 */

const f32 = new Float32Array(1);
const u32 = new Uint32Array(f32.buffer);

/** The value of every binary16 bit pattern, computed on first use (256 KiB). */
let f16Values: Float32Array | undefined;

function f16Table(): Float32Array {
  if (f16Values !== undefined) return f16Values;
  const table = new Float32Array(65536);
  const bits = new Uint32Array(table.buffer);
  for (let h = 0; h < 65536; h++) {
    const sign = (h & 0x8000) << 16;
    const exponent = (h >> 10) & 31;
    const mantissa = h & 1023;
    if (exponent === 0) {
      table[h] = (sign === 0 ? 1 : -1) * mantissa * 2 ** -24;
    } else if (exponent === 31) {
      bits[h] = sign | 0x7f800000 | (mantissa << 13);
    } else {
      bits[h] = sign | ((exponent + 112) << 23) | (mantissa << 13);
    }
  }
  return f16Values = table;
}

/** The value of one binary16 bit pattern. */
export function f16Value(bits: number): number {
  return f16Table()[bits]!;
}

/** float32 values of binary16 bit patterns. */
export function widenF16(halves: Uint16Array): Float32Array<ArrayBuffer> {
  const table = f16Table();
  const out = new Float32Array(halves.length);
  for (let i = 0; i < out.length; i++) out[i] = table[halves[i]!]!;
  return out;
}

/** float32 values of bfloat16 bit patterns. */
export function widenBF16(halves: Uint16Array): Float32Array<ArrayBuffer> {
  return widenBF16Into(halves, new Float32Array(halves.length));
}

/** The same into `out`, which is returned. */
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

/** Of the bits of a float32. */
function bf16Bits(bits: number): number {
  return (bits & 0x7fffffff) > 0x7f800000
    ? (bits >>> 16) | 0x40
    : (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}

/** binary16 bit patterns of float32 values; from ±65520 on they are infinite, NaN stays NaN. */
export function narrowF16(values: ArrayLike<number>): Uint16Array<ArrayBuffer> {
  const out = new Uint16Array(values.length);
  for (let i = 0; i < out.length; i++) {
    f32[0] = values[i]!;
    out[i] = f16Bits(u32[0]!);
  }
  return out;
}

/** The nearest binary16 bit pattern of one value, which is rounded to float32 first. */
export function f16Of(value: number): number {
  f32[0] = value;
  return f16Bits(u32[0]!);
}

function f16Bits(bits: number): number {
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x47800000) return sign | 0x7c00; // 65536 and above, infinity
  if (magnitude >= 0x38800000) {
    // A carry out of the mantissa correctly increments the exponent, up to infinity.
    return sign | ((magnitude - 0x38000000 + 0xfff + ((magnitude >>> 13) & 1)) >>> 13);
  }
  if (magnitude < 0x33000000) return sign; // below half of the smallest subnormal
  const shift = 126 - (magnitude >>> 23);
  const mantissa = (magnitude & 0x7fffff) | 0x800000;
  const kept = mantissa >>> shift;
  const rest = mantissa & ((1 << shift) - 1);
  const half = 1 << (shift - 1);
  return sign | (rest > half || (rest === half && (kept & 1) === 1) ? kept + 1 : kept);
}

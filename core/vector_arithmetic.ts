/**
 * Arithmetic on long vectors in the memory of the host: what ranks do with gradients when they sum
 * them. The plain functions are the reference; `kernels/native/vector_arithmetic.ts` has the same
 * bits in machine code.
 */
import { narrowBF16, narrowBF16Into, widenBF16, widenBF16Into } from "./half_floats.ts";

export type FloatArray = Float32Array | Float64Array;

/** All arrays of a call have the same length. */
export interface VectorArithmetic {
  /** out = a + b; `out` may be one of them. */
  add(out: FloatArray, a: FloatArray, b: FloatArray): void;
  /** Rounds values to bfloat16, to the nearest and ties to even; they stay floats. */
  round(values: FloatArray): void;
  narrow(values: FloatArray, out: Uint16Array): void;
  widen(halves: Uint16Array, out: FloatArray): void;
}

/** @throws RangeError when lengths differ */
export function requireSameLength(...arrays: readonly { length: number }[]): void {
  const lengths = arrays.map(({ length }) => length);
  if (lengths.some((length) => length !== lengths[0])) {
    throw new RangeError(`arrays of ${lengths.join(", ")} values; expected the same number`);
  }
}

function widen(halves: Uint16Array, out: FloatArray): void {
  requireSameLength(halves, out);
  if (out instanceof Float32Array) widenBF16Into(halves, out);
  else out.set(widenBF16(halves));
}

export const PLAIN_ARITHMETIC: VectorArithmetic = {
  add(out, a, b) {
    requireSameLength(out, a, b);
    for (let i = 0; i < out.length; i++) out[i] = a[i]! + b[i]!;
  },
  round(values) {
    widen(narrowBF16(values), values);
  },
  narrow(values, out) {
    requireSameLength(values, out);
    narrowBF16Into(values, out);
  },
  widen,
};

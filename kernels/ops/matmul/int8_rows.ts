/**
 * Activations rounded to bytes. In every block of ACTIVATION_BLOCK neighbours of a row the largest
 * magnitude becomes 127 steps; every element is rounded to whole steps, ties to even. This is q8_1
 * of llama.cpp, except that q8_1 rounds the scale to f16. All arithmetic is in float32.
 */
export const ACTIVATION_BLOCK = 32;
/**
 * Blocks with a smaller largest magnitude become zeros, because 127 divided by it might overflow.
 */
export const MIN_MAGNITUDE = 2 ** -118;

/** The nearest whole number; ties to even. */
function nearest(x: number): number {
  const down = Math.floor(x), rest = x - down;
  return rest < 0.5 || (rest === 0.5 && down % 2 === 0) ? down : down + 1;
}

/** The values of rows [m, k] after rounding; k is a multiple of ACTIVATION_BLOCK. */
export function roundRows(x: ArrayLike<number>, m: number, k: number): Float64Array {
  const out = new Float64Array(m * k);
  for (let from = 0; from < m * k; from += ACTIVATION_BLOCK) {
    let max = 0;
    for (let i = from; i < from + ACTIVATION_BLOCK; i++) {
      max = Math.max(max, Math.abs(Math.fround(x[i]!)));
    }
    const inverse = max >= MIN_MAGNITUDE ? Math.fround(127 / max) : 0;
    const scale = Math.fround(max / 127);
    for (let i = from; i < from + ACTIVATION_BLOCK; i++) {
      out[i] = scale * nearest(Math.fround(Math.fround(x[i]!) * inverse));
    }
  }
  return out;
}

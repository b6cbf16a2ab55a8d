/**
 * Activations rounded to bytes: of every ACTIVATION_BLOCK neighbours in a row the largest magnitude is 127 steps, and
 * each is rounded to whole steps, halves to even. The same as llama.cpp's q8_1 but for the scale, which it rounds to
 * f16. All operations are of float32.
 */
export const ACTIVATION_BLOCK = 32;
/** Blocks whose largest magnitude is below this are zeros: 127 over a smaller one may exceed float32. */
export const LEAST = 2 ** -118;

/** Nearest whole number, of two the even one. */
function nearest(x: number): number {
  const down = Math.floor(x), rest = x - down;
  return rest < 0.5 || (rest === 0.5 && down % 2 === 0) ? down : down + 1;
}

/** What rows [m, k] become; k is a multiple of ACTIVATION_BLOCK. */
export function roundRows(x: ArrayLike<number>, m: number, k: number): Float64Array {
  const out = new Float64Array(m * k);
  for (let from = 0; from < m * k; from += ACTIVATION_BLOCK) {
    let most = 0;
    for (let i = from; i < from + ACTIVATION_BLOCK; i++) {
      most = Math.max(most, Math.abs(Math.fround(x[i]!)));
    }
    const inverse = most >= LEAST ? Math.fround(127 / most) : 0, scale = Math.fround(most / 127);
    for (let i = from; i < from + ACTIVATION_BLOCK; i++) {
      out[i] = scale * nearest(Math.fround(Math.fround(x[i]!) * inverse));
    }
  }
  return out;
}

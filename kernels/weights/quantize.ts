/**
 * Quantises floats to weights in blocks.
 * - q8_0 and q4_0: the bytes are ggml's (`quantize_row_*_ref`). The scale is used in float32 and
 *   stored as a half; every step is rounded to float32 where ggml does that.
 * - int8: like q8_0, with blocks of 64 and the scale in float32.
 * - nf4: blocks of 64, which are scaled by their largest magnitude to the levels of NormalFloat.
 *   The scales are 8-bit codes between the smallest and the largest scale of 16 rows × 16 blocks
 *   (double quantisation).
 *
 * Types whose scales need a search are in quantize_k.ts.
 */
import { RgxError } from "../../core/errors.ts";
import { f16Of, f16Value } from "../../core/half_floats.ts";
import { nf4Scale } from "./blocks.ts";
import { refuseInfinite } from "./finite.ts";
import { nf4GroupStart, packStored, placeRow, rowBuffer } from "./layout.ts";
import { PANEL } from "./panel.ts";
import { BLOCK_SHAPES, blockOf, NF4_GROUP, NF4_LEVELS, storedWords } from "./types.ts";

export const QUANTIZED_TYPES = ["int8", "nf4", "q8_0", "q4_0"] as const;
export type QuantizedType = typeof QUANTIZED_TYPES[number];

const { fround } = Math;
const float = new Float32Array(1);
const floatBits = new Uint32Array(float.buffer);

function bitsOf(value: number): number {
  float[0] = value;
  return floatBits[0]!;
}

/**
 * The words of a weight [n, k] from its values, row-major.
 * @param first number of the first row, for messages
 * @throws RgxError when k is no multiple of {@link blockOf}, or a value is not finite
 */
export function quantize(
  type: QuantizedType,
  n: number,
  k: number,
  values: Float32Array,
  first = 0,
): Uint32Array<ArrayBuffer> {
  const words = new Uint32Array(storedWords(type, n, k));
  if (values.length !== n * k) {
    throw new RgxError(`a weight [${n}, ${k}] has ${n * k} values, found ${values.length}`);
  }
  refuseInfinite(values, [n, k], first);
  switch (type) {
    case "q8_0":
      return packStored(type, n, k, quantizeQ8(values));
    case "q4_0":
      return packStored(type, n, k, quantizeQ4(values));
    case "int8":
      quantizeInt8(words, n, k, values);
      return words;
    case "nf4":
      quantizeNF4(words, n, k, values);
      return words;
  }
}

function largestOf(values: Float32Array, from: number, count: number): number {
  let largest = 0;
  for (let i = from; i < from + count; i++) {
    const magnitude = Math.abs(values[i]!);
    if (magnitude > largest) largest = magnitude;
  }
  return largest;
}

/** Blocks of q8_0 as in a GGUF file: d = max|x|/127; q = x·(1/d), ties rounded away from zero. */
export function quantizeQ8(values: Float32Array): Uint8Array<ArrayBuffer> {
  const blocks = values.length / 32, out = new Uint8Array(blocks * 34);
  for (let block = 0; block < blocks; block++) {
    const from = block * 32, to = block * 34;
    const d = fround(largestOf(values, from, 32) / 127), inverse = d === 0 ? 0 : fround(1 / d);
    putHalf(out, to, d);
    for (let j = 0; j < 32; j++) {
      const x = fround(values[from + j]! * inverse);
      // Rounds to nearest with ties up, and corrects negative ties. A branch on the sign would be
      // mispredicted half the time.
      let q = (x + 128.5 | 0) - 128;
      if (q - x === 0.5 && x < 0) q--;
      out[to + 2 + j] = q;
    }
  }
  return out;
}

/**
 * Blocks of q4_0 as in a GGUF file: d = (the weight furthest from 0)/−8, so that this weight
 * becomes exact; q = ⌊x·(1/d) + 8.5⌋, at most 15.
 */
export function quantizeQ4(values: Float32Array): Uint8Array<ArrayBuffer> {
  const blocks = values.length / 32, out = new Uint8Array(blocks * 18);
  for (let block = 0; block < blocks; block++) {
    const from = block * 32, to = block * 18;
    let furthest = 0;
    for (let j = 0; j < 32; j++) {
      const x = values[from + j]!;
      if (Math.abs(x) > Math.abs(furthest)) furthest = x;
    }
    const d = fround(furthest / -8), inverse = d === 0 ? 0 : fround(1 / d);
    putHalf(out, to, d);
    for (let j = 0; j < 16; j++) {
      const low = fround(fround(values[from + j]! * inverse) + 8.5) | 0;
      const high = fround(fround(values[from + j + 16]! * inverse) + 8.5) | 0;
      out[to + 2 + j] = (low < 15 ? low : 15) | (high < 15 ? high : 15) << 4;
    }
  }
  return out;
}

/** Writes a number as a half at `at`. @returns the rounded number */
export function putHalf(out: Uint8Array, at: number, value: number): number {
  const bits = f16Of(value);
  out[at] = bits & 255;
  out[at + 1] = bits >> 8;
  return f16Value(bits);
}

function quantizeInt8(words: Uint32Array, n: number, k: number, values: Float32Array): void {
  const { weights } = BLOCK_SHAPES.int8;
  const row = rowBuffer("int8");
  for (let j = 0; j < n; j++) {
    for (let block = 0; block * weights < k; block++) {
      const from = j * k + block * weights;
      const scale = fround(largestOf(values, from, weights) / 127);
      row.fill(0);
      for (let e = 0; e < weights; e++) {
        const q = scale === 0 ? 0 : Math.round(values[from + e]! / scale);
        row[e >> 2]! |= (Math.max(-127, Math.min(127, q)) & 255) << 8 * (e & 3);
      }
      row[16] = bitsOf(scale);
      placeRow(words, "int8", k, j, block, row);
    }
  }
}

function quantizeNF4(words: Uint32Array, n: number, k: number, values: Float32Array): void {
  const blocks = k / blockOf("nf4");
  for (let panel = 0; panel < n; panel += PANEL) {
    for (let block = 0; block < blocks; block += NF4_GROUP) {
      const rows: [number, number] = [panel, Math.min(n, panel + PANEL)];
      quantizeGroup(words, k, rows, [block, Math.min(blocks, block + NF4_GROUP)], values);
    }
  }
}

/** Quantises the rows and blocks (ends exclusive) whose scales share a step and an offset. */
function quantizeGroup(
  words: Uint32Array,
  k: number,
  [firstRow, endRow]: [number, number],
  [firstBlock, endBlock]: [number, number],
  values: Float32Array,
): void {
  const { weights } = BLOCK_SHAPES.nf4;
  const scales: number[] = [];
  for (let j = firstRow; j < endRow; j++) {
    for (let block = firstBlock; block < endBlock; block++) {
      scales.push(fround(largestOf(values, j * k + block * weights, weights) / 127));
    }
  }
  const smallest = Math.min(...scales), largest = Math.max(...scales);
  const step = roundedUp((largest - smallest) / 255), offset = bitsOf(smallest);
  const start = nf4GroupStart(k, firstRow, firstBlock);
  words[start] = step;
  words[start + 1] = offset;
  const row = rowBuffer("nf4"), stepValue = valueOf(step);
  for (let j = firstRow, i = 0; j < endRow; j++) {
    for (let block = firstBlock; block < endBlock; block++, i++) {
      const code = stepValue === 0 ? 0 : Math.round((scales[i]! - smallest) / stepValue);
      const scale = nf4Scale(code, step, offset), from = j * k + block * weights;
      row.fill(0);
      for (let e = 0; e < weights; e++) {
        row[e >> 3]! |= nearestLevel(values[from + e]!, scale) << 4 * (e & 7);
      }
      row[8] = code;
      placeRow(words, "nf4", k, j, block, row);
    }
  }
}

/**
 * Bits of `step` rounded up to 16 significant bits: its product with an 8-bit code is then exact.
 */
function roundedUp(step: number): number {
  return step === 0 ? 0 : (bitsOf(step) + 0xff & ~0xff) >>> 0;
}

function valueOf(bits: number): number {
  floatBits[0] = bits;
  return float[0]!;
}

const ZERO = NF4_LEVELS.indexOf(0);
/**
 * The boundaries between levels are multiples of ½: LEVEL_OF has that of x, |x| ≤ 127, at ⌈2x⌉ +
 * HALVES.
 */
const HALVES = 254;
const LEVEL_OF = Uint8Array.from({ length: 2 * HALVES + 1 }, (_, i) => {
  const x = (i - HALVES) / 2;
  return NF4_LEVELS.slice(1).filter((level, j) => 2 * x > level + NF4_LEVELS[j]!).length;
});

function nearestLevel(value: number, scale: number): number {
  if (scale === 0) return ZERO;
  const at = Math.ceil(2 * value / scale);
  return LEVEL_OF[Math.max(-HALVES, Math.min(HALVES, at)) + HALVES]!;
}

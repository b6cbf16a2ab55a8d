/**
 * Quantises floats to ggml's blocks of 256 weights whose scales need a search. Each part of a block
 * gets the scale, among some near that of its largest weight, with the least weighted error after a
 * least-squares fit; the scales of the parts are then rounded to integers times one half. As in
 * ggml, large weights count more: by their square in Q6_K, by their magnitude in Q4_K; with the
 * importance of each weight it decides in Q6_K, and in Q4_K its product with the root of the
 * weight's square plus twice the mean square of its block.
 */
import { putHalf } from "./quantize.ts";

const BLOCK = 256;
const clamp = (x: number, low: number, high: number) => Math.max(low, Math.min(high, x));

/** The scale s for which x ≈ s·q with whole q in [−32, 31]. @param weights default x² */
function scaleOf(x: Float32Array, weights?: Float32Array): number {
  let furthest = 0, best = 0, most = 0;
  for (const value of x) if (Math.abs(value) > Math.abs(furthest)) furthest = value;
  if (furthest === 0) return 0;
  for (let step = -9; step <= 9; step++) {
    const inverse = -(32 + step / 10) / furthest;
    let xq = 0, qq = 0;
    for (let i = 0; i < x.length; i++) {
      const value = x[i]!, weight = weights?.[i] ?? value * value;
      const q = clamp(Math.round(value * inverse), -32, 31);
      xq += weight * value * q;
      qq += weight * q * q;
    }
    // The error is Σ w·x² − (Σ w·x·q)² / Σ w·q².
    if (qq === 0 || xq * xq <= most * qq) continue;
    most = xq * xq / qq;
    best = xq / qq;
  }
  return best;
}

/** Blocks of Q6_K: 16 parts of 16 weights. */
export function quantizeQ6K(
  values: Float32Array,
  importance?: Float32Array,
): Uint8Array<ArrayBuffer> {
  const size = 210, out = new Uint8Array(values.length / BLOCK * size);
  const scales = new Float64Array(16);
  for (let from = 0, to = 0; from < values.length; from += BLOCK, to += size) {
    let furthest = 0;
    for (let j = 0; j < 16; j++) {
      const part = [from + 16 * j, from + 16 * j + 16] as const;
      scales[j] = scaleOf(values.subarray(...part), importance?.subarray(...part));
      if (Math.abs(scales[j]!) > Math.abs(furthest)) furthest = scales[j]!;
    }
    const d = putHalf(out, to + 208, furthest / -128);
    for (let i = 0; i < BLOCK; i++) {
      const j = i >> 4, scale = d === 0 ? 0 : clamp(Math.round(scales[j]! / d), -128, 127);
      out[to + 192 + j] = scale & 255;
      const step = d * scale;
      const q = 32 + (step === 0 ? 0 : clamp(Math.round(values[from + i]! / step), -32, 31));
      const half = i >> 7, group = i >> 5 & 3, l = i & 31;
      out[to + 64 * half + 32 * (group & 1) + l]! |= (q & 15) << (group < 2 ? 0 : 4);
      out[to + 128 + 32 * half + l]! |= q >> 4 << 2 * group;
    }
  }
  return out;
}

/** s and m ≥ 0 for which x ≈ s·q − m with whole q in [0, 15]. */
function scaleAndMin(x: Float32Array, weights?: Float32Array): [scale: number, min: number] {
  let low = 0, high = -Infinity, squares = 0, sumW = 0, sumX = 0;
  for (const value of x) {
    low = Math.min(low, value);
    high = Math.max(high, value);
    squares += value * value;
  }
  if (high <= low) return [0, -low];
  const usual = Math.sqrt(squares / x.length);
  const weight = (i: number) => weights?.[i] ?? usual + Math.abs(x[i]!);
  for (let i = 0; i < x.length; i++) {
    sumW += weight(i);
    sumX += weight(i) * x[i]!;
  }
  let best: [number, number] = [(high - low) / 15, -low], least = Infinity;
  for (let step = 0; step <= 20; step++) {
    const inverse = (14 + step / 10) / (high - low);
    const code = (value: number) => clamp(Math.round(inverse * (value - low)), 0, 15);
    let sumQ = 0, sumQQ = 0, sumXQ = 0;
    for (let i = 0; i < x.length; i++) {
      const q = code(x[i]!), w = weight(i);
      sumQ += w * q;
      sumQQ += w * q * q;
      sumXQ += w * x[i]! * q;
    }
    const det = sumW * sumQQ - sumQ * sumQ;
    if (!(det > 0)) continue;
    let scale = (sumW * sumXQ - sumX * sumQ) / det, min = (sumQ * sumXQ - sumQQ * sumX) / det;
    if (min < 0) {
      min = 0;
      scale = sumXQ / sumQQ;
    }
    let error = 0;
    for (let i = 0; i < x.length; i++) {
      error += weight(i) * (scale * code(x[i]!) - min - x[i]!) ** 2;
    }
    if (error >= least) continue;
    least = error;
    best = [scale, min];
  }
  return best;
}

/** Blocks of Q4_K: 8 parts of 32 weights. */
export function quantizeQ4K(
  values: Float32Array,
  importance?: Float32Array,
): Uint8Array<ArrayBuffer> {
  const size = 144, out = new Uint8Array(values.length / BLOCK * size);
  for (let from = 0, to = 0; from < values.length; from += BLOCK, to += size) {
    const block = values.subarray(from, from + BLOCK);
    const spread = 2 / BLOCK * block.reduce((sum, x) => sum + x * x, 0);
    const weights = importance?.slice(from, from + BLOCK).map((importance, i) =>
      importance * Math.sqrt(spread + block[i]! ** 2)
    );
    const parts = Array.from({ length: 8 }, (_, j) => {
      const part = [32 * j, 32 * j + 32] as const;
      return scaleAndMin(block.subarray(...part), weights?.subarray(...part));
    });
    const largest = [0, 1].map((k) => Math.max(...parts.map((part) => part[k]!)));
    const d = putHalf(out, to, largest[0]! / 63), dmin = putHalf(out, to + 2, largest[1]! / 63);
    parts.forEach((part, j) => {
      const [scale, min] = part.map((value, k) =>
        largest[k] === 0 ? 0 : Math.min(63, Math.round(63 * Math.max(0, value) / largest[k]!))
      ) as [number, number];
      const s = to + 4;
      if (j < 4) {
        out[s + j]! |= scale;
        out[s + j + 4]! |= min;
      } else {
        out[s + j + 4]! |= scale & 15 | (min & 15) << 4;
        out[s + j - 4]! |= scale >> 4 << 6;
        out[s + j]! |= min >> 4 << 6;
      }
      const step = d * scale, base = dmin * min;
      for (let l = 0; l < 32; l++) {
        const x = values[from + 32 * j + l]! + base;
        const q = step === 0 ? 0 : clamp(Math.round(x / step), 0, 15);
        out[to + 16 + 32 * (j >> 1) + l]! |= q << 4 * (j & 1);
      }
    });
  }
  return out;
}

/** Weights in storage types on the host: what the reference widens with, and what tests make their data from. */
import type { WeightType } from "./spec.ts";

const word = new Uint32Array(1);
const float = new Float32Array(word.buffer);

/** The value of 16 bits; exact. */
export function halfValue(bits: number, type: WeightType): number {
  if (type === "bf16") {
    word[0] = bits << 16;
    return float[0]!;
  }
  const sign = bits & 0x8000 ? -1 : 1, exponent = bits >> 10 & 31, mantissa = bits & 1023;
  if (exponent === 31) return mantissa === 0 ? sign * Infinity : NaN;
  return exponent === 0
    ? sign * mantissa * 2 ** -24
    : sign * (1024 + mantissa) * 2 ** (exponent - 25);
}

/** The values of words of two halves, the lower half first. */
export function widenWords(words: Uint32Array, count: number, type: WeightType): Float32Array {
  return Float32Array.from({ length: count }, (_, i) => {
    const pair = words[i >> 1]!;
    return halfValue(i % 2 === 0 ? pair & 0xffff : pair >>> 16, type);
  });
}

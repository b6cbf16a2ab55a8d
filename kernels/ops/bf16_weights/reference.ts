/** Reference of bfloat16 weights in training. */
import { narrowBF16, widenBF16 } from "../../../core/half_floats.ts";
import { philox4x32 } from "../../../core/philox.ts";
import { floats, words } from "../common/reference_tensor.ts";
import type { RoundBf16Args, WidenBf16Args } from "./spec.ts";

/** The first n halves of words. */
export function halves(data: Uint32Array, n: number): Uint16Array {
  return new Uint16Array(data.buffer, data.byteOffset, n);
}

/** All values of words. */
export function widenBf16Words(data: Uint32Array): Float32Array {
  return widenBF16(halves(data, 2 * data.length));
}

export function widenBf16({ weight, rest, out, n }: WidenBf16Args): void {
  const values = floats(out);
  values.set(widenBF16(halves(words(weight), n)));
  if (rest === undefined) return;
  const more = widenBF16(halves(words(rest), n));
  for (let i = 0; i < n; i++) values[i] = values[i]! + more[i]!;
}

export function roundBf16(args: RoundBf16Args): void {
  const { rest, n, first, c1, c2, c3, seedLow, seedHigh } = args;
  const x = floats(args.x).subarray(0, n), weight = halves(words(args.weight), n);
  if (rest !== undefined) {
    weight.set(narrowBF16(x));
    const rounded = widenBF16(weight);
    halves(words(rest), n).set(narrowBF16(Float32Array.from(x, (value, i) => value - rounded[i]!)));
    return;
  }
  const bits = new Uint32Array(Float32Array.from(x).buffer), random = new Uint32Array(4);
  for (let i = 0; i < n; i++) {
    if (i % 4 === 0) philox4x32(random, (first + i) / 4, c1, c2, c3, seedLow, seedHigh);
    weight[i] = (bits[i]! + (random[i % 4]! & 0xffff)) >>> 16;
  }
}

/** Random integers with a given number of digits, of any size. */
import type { RandomStream } from "../../../core/philox.ts";

/** One digit: 0–9. More digits: no leading zero. With negation: any number in ±(10^digits − 1). */
export function drawTerm(random: RandomStream, digits: number, negation: boolean): bigint {
  if (negation) {
    const limit = 10n ** BigInt(digits) - 1n;
    return drawBelow(random, 2n * limit + 1n) - limit;
  }
  const low = digits === 1 ? 0n : 10n ** BigInt(digits - 1);
  return low + drawBelow(random, 10n ** BigInt(digits) - low);
}

const CHUNK = 10n ** 15n;

/** Uniform in [0, n) for any n ≥ 1. Small n use one draw, others decimal chunks with rejection. */
export function drawBelow(random: RandomStream, n: bigint): bigint {
  if (n <= CHUNK) return BigInt(random.below(Number(n)));
  for (;;) {
    let value = 0n, range = 1n;
    while (range < n) {
      value = value * CHUNK + BigInt(random.below(1e15));
      range *= CHUNK;
    }
    if (value < range - range % n) return value % n;
  }
}

/** value / 10^places with exactly that many digits after the point, such as "-0.50". */
export function withPoint(value: bigint, places: number): string {
  if (places === 0) return value.toString();
  const sign = value < 0n ? "-" : "";
  const digits = (value < 0n ? -value : value).toString().padStart(places + 1, "0");
  return `${sign}${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

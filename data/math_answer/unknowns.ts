/**
 * Numbers that stand for unknowns. Two formulas with unknowns are compared by their exact values,
 * with an arbitrary fraction for each unknown (Schwartz 1980; Zippel 1979). There are two places:
 * unknowns are positive at the first and negative at the second, since √(x²) is x only at the
 * first.
 */
import { fnv1a } from "../../core/philox.ts";
import { fraction, irrational, type Real } from "./rational.ts";

export type Place = 0 | 1;

/** A prime, so that different sums and products of a few unknowns are not equal by chance. */
const DENOMINATOR = 2147483647n;

/** From 1 to 2 at place 0, from −2 to −1 at place 1; e is Euler's number. */
export function unknown(name: string, place: Place): Real {
  if (name === "e") return irrational(Math.E);
  const above = BigInt(mixed(fnv1a(`${name} ${place}`)) >>> 1);
  return fraction((place === 0 ? 1n : -1n) * (DENOMINATOR + above), DENOMINATOR);
}

/** MurmurHash3's finalizer: names that are close in the alphabet get unrelated numbers. */
function mixed(hash: number): number {
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

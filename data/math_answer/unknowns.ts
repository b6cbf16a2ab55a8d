/**
 * Unknowns as numbers. Formulas with unknowns are compared by what they come to where each unknown is an arbitrary
 * fraction, exactly (Schwartz, 1980; Zippel, 1979), at two places: the unknowns are positive at the first and
 * negative at the second, since √(x²) is x at the first only.
 */
import { fnv1a } from "../../core/philox.ts";
import { fraction, irrational, type Real } from "./rational.ts";

export type Place = 0 | 1;

/** A prime, so that no sum or product of a few unknowns comes to another by chance. */
const DENOMINATOR = 2147483647n;

/** Between 1 and 2 at place 0, between −2 and −1 at place 1; e is Euler's number. */
export function unknown(name: string, place: Place): Real {
  if (name === "e") return irrational(Math.E);
  const above = BigInt(mixed(fnv1a(`${name} ${place}`)) >>> 1);
  return fraction((place === 0 ? 1n : -1n) * (DENOMINATOR + above), DENOMINATOR);
}

/** MurmurHash3's finalizer: names beside one another in the alphabet get numbers without a pattern. */
function mixed(hash: number): number {
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

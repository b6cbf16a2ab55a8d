/**
 * Shared by the tasks on divisors: greatest common divisor, least common multiple, list of numbers.
 */

/** The greatest common divisor of two integers ≥ 0 that are not both 0. */
export function gcdOf(a: number, b: number): number {
  while (b !== 0) [a, b] = [b, a % b];
  return a;
}

/** The least common multiple of integers ≥ 1, exact at any size. */
export function lcmOf(numbers: readonly number[]): bigint {
  let multiple = 1n;
  for (const number of numbers) {
    multiple *= BigInt(number / gcdOf(Number(multiple % BigInt(number)), number));
  }
  return multiple;
}

/** Writes a list such as "4, 6 and 9". */
export function joinWithAnd(numbers: readonly number[]): string {
  return `${numbers.slice(0, -1).join(", ")} and ${numbers.at(-1)}`;
}

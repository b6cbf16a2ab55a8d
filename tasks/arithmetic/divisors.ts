/** What the tasks about divisors share: greatest common divisors, least common multiples, lists of numbers. */

/** Greatest common divisor of two whole numbers ≥ 0, not both 0. */
export function gcdOf(a: number, b: number): number {
  while (b !== 0) [a, b] = [b, a % b];
  return a;
}

/** Least common multiple of whole numbers ≥ 1, exact at any size. */
export function lcmOf(numbers: readonly number[]): bigint {
  let multiple = 1n;
  for (const number of numbers) {
    multiple *= BigInt(number / gcdOf(Number(multiple % BigInt(number)), number));
  }
  return multiple;
}

/** "4, 6 and 9". */
export function listed(numbers: readonly number[]): string {
  return `${numbers.slice(0, -1).join(", ")} and ${numbers.at(-1)}`;
}

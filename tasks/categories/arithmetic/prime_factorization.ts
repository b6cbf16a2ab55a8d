/** The prime factors of a number. */
import { defineTask, type ScorableEntry, sizes } from "../../define.ts";
import { parseInteger } from "../../python/integers.ts";
import { isBlank } from "../../python/text.ts";

/** Maximum number of factors of an answer. Numbers up to 10^12 have at most 39 prime factors. */
const MAX_FACTORS = 10_000;

export default defineTask({
  description: "Write a number as a product of primes.",
  scoring:
    "Whole numbers between × signs: 1 for the prime factors in any order, 0.5 for other numbers " +
    "with the same product, 0.01 for other numbers; anything else 0.",
  params: {
    value: sizes([2, 1000], "number", { min: 2, max: 1e12, spans: [10, 1000, 5000, 10_000] }),
  },
  generate(random, config) {
    const number = random.int(config.min_value, config.max_value);
    const factors = primeFactors(number);
    return {
      question:
        `Write ${number} as a product of prime numbers. Give every prime as often as it divides ` +
        "the number, with × between them (for 20: 2 × 2 × 5); a prime number stands alone.",
      answer: factors.join(" × "),
      metadata: { number, factors },
    };
  },
  score(answer, entry) {
    const parts = answer.split("×", MAX_FACTORS + 1);
    if (parts.length > MAX_FACTORS) return 0;
    const given: bigint[] = [];
    for (const part of parts) {
      if (isBlank(part)) continue;
      const value = parseInteger(part);
      if (value === null) return 0;
      given.push(value);
    }
    const oracle = factorsOf(entry);
    if (oracle === null) return 0.01;
    if (given.length === oracle.length) {
      const sorted = given.toSorted((a, b) => a < b ? -1 : a > b ? 1 : 0);
      if (sorted.every((value, i) => value === oracle[i])) return 1;
    }
    const number = oracle.reduce((product, factor) => product * factor, 1n);
    return hasProduct(given, number) ? 0.5 : 0.01;
  },
});

/** The prime factors in ascending order, by trial division. */
function primeFactors(number: number): number[] {
  const factors: number[] = [];
  for (let p = 2; p * p <= number; p += p === 2 ? 1 : 2) {
    while (number % p === 0) {
      factors.push(p);
      number /= p;
    }
  }
  if (number > 1) factors.push(number);
  return factors;
}

function factorsOf({ metadata, answer }: ScorableEntry): bigint[] | null {
  const factors = metadata?.["factors"];
  const parts = Array.isArray(factors) ? factors.map(String) : (answer ?? "").split("×");
  const values = parts.map(parseInteger);
  return values.every((value) => value !== null)
    ? values.sort((a, b) => a < b ? -1 : a > b ? 1 : 0)
    : null;
}

/** Whether the product is `number` ≠ 0. Stops early: only a factor 0 makes a product smaller. */
function hasProduct(factors: readonly bigint[], number: bigint): boolean {
  let product = 1n;
  for (const factor of factors) {
    product *= factor;
    if (product === 0n || product > number || product < -number) return false;
  }
  return product === number;
}

/** The number of primes in an interval. */
import { defineTask, exactScore, sizes } from "../../define.ts";

export default defineTask({
  description: "Count the prime numbers of an interval.",
  ...exactScore("the number"),
  params: { n: sizes([1, 10_000], "number", { min: 1, spans: [10, 1000, 10000, 50000, 100000] }) },
  generate(random, config) {
    const start = random.int(config.min_n, config.max_n);
    const end = random.int(start, config.max_n);
    const primes = primesBetween(start, end);
    return {
      question: `How many prime numbers are there from ${start} to ${end}, both included?\n` +
        "Answer with the number only.",
      answer: String(primes.length),
      metadata: { start, end, primes, solution: primes.length, n: [start, end] },
    };
  },
});

/**
 * The primes of [start, end]. A sieve removes the multiples of each prime up to the root of `end`.
 */
function primesBetween(start: number, end: number): number[] {
  const low = Math.max(start, 2), primes: number[] = [];
  if (low > end) return primes;
  const composite = new Uint8Array(end - low + 1);
  for (const prime of smallPrimes(Math.floor(Math.sqrt(end)))) {
    const first = Math.max(prime * prime, Math.ceil(low / prime) * prime);
    for (let multiple = first; multiple <= end; multiple += prime) composite[multiple - low] = 1;
  }
  for (let i = 0; i < composite.length; i++) if (composite[i] === 0) primes.push(low + i);
  return primes;
}

function smallPrimes(limit: number): number[] {
  const primes: number[] = [];
  for (let n = 2; n <= limit; n++) {
    if (primes.every((prime) => prime * prime > n || n % prime !== 0)) primes.push(n);
  }
  return primes;
}

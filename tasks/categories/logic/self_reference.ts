/**
 * Seven statements about how many of the seven are true. In how many ways can each be true or false
 * without a contradiction?
 */
import { consecutive, defineTask, int, type RandomStream } from "../../define.ts";

const COUNT = 7;
const PRIMES = new Set([2, 3, 5, 7]), COMPOSITES = new Set([4, 6]);

/** The numbers in statements 1 to 4. */
type Limits = [atLeastTrue: number, atMostFalse: number, exactlyTrue: number, exactlyFalse: number];

export default defineTask({
  description: "Count the consistent truth assignments of seven statements about themselves.",
  scoring: "1 for exactly the number, else 0.",
  params: {
    difficulty: int(5, "recorded with the entry; every value gives the same kind of entries", {
      min: 1,
      max: 10,
      levels: consecutive(1, 10),
    }),
  },
  generate(random) {
    const limits = drawLimits(random);
    const [atLeastTrue, atMostFalse, exactlyTrue, exactlyFalse] = limits;
    return {
      question: "Each of these seven statements is either true or false:\n" +
        `1. At least ${atLeastTrue} of the seven statements ${areTrue(atLeastTrue)}.\n` +
        `2. At most ${atMostFalse} of the seven statements ${areFalse(atMostFalse)}.\n` +
        `3. Exactly ${exactlyTrue} of the seven statements ${areTrue(exactlyTrue)}.\n` +
        `4. Exactly ${exactlyFalse} of the seven statements ${areFalse(exactlyFalse)}.\n` +
        "5. Exactly one of the statements 3 and 4 is true.\n" +
        "6. The number of true statements is a prime number.\n" +
        "7. The number of false statements is a composite number.\n" +
        "In how many ways can the seven be declared true or false so that every statement that " +
        "is declared true holds and every other one does not? Answer with that number alone.",
      answer: String(countSolutions(limits)),
      metadata: {},
    };
  },
  score: (answer, entry) => Number(answer === entry.answer),
});

function areTrue(count: number): string {
  return count === 1 ? "is true" : "are true";
}

function areFalse(count: number): string {
  return count === 1 ? "is false" : "are false";
}

/** Draws numbers with at least one solution; most draws have one. */
function drawLimits(random: RandomStream): Limits {
  for (;;) {
    const limits = Array.from({ length: 4 }, () => random.int(0, COUNT)) as Limits;
    if (countSolutions(limits) > 0) return limits;
  }
}

/**
 * The truth of the statements depends only on the number of true ones, so each number has at most
 * one solution.
 */
function countSolutions([atLeastTrue, atMostFalse, exactlyTrue, exactlyFalse]: Limits): number {
  let ways = 0;
  for (let trueOnes = 0; trueOnes <= COUNT; trueOnes++) {
    const falseOnes = COUNT - trueOnes;
    const third = trueOnes === exactlyTrue, fourth = falseOnes === exactlyFalse;
    const held = Number(trueOnes >= atLeastTrue) + Number(falseOnes <= atMostFalse) +
      Number(third) + Number(fourth) + Number(third !== fourth) +
      Number(PRIMES.has(trueOnes)) + Number(COMPOSITES.has(falseOnes));
    if (held === trueOnes) ways++;
  }
  return ways;
}

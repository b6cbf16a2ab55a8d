/** The reference functions on numbers, with their descriptions and inputs. */
import * as code from "./numbers_functions.js";
import { distinctNumbers, numbers, type Snippet } from "./snippet.ts";

export const NUMBER_SNIPPETS: readonly Snippet[] = [
  {
    run: code.sumAndDifference,
    level: 1,
    purpose: "Adds and subtracts two numbers.",
    input: "a and b, two whole numbers",
    output: "sum and difference, two whole numbers",
    reversible: true,
    draw: (random) => ({ a: random.int(-999, 999), b: random.int(-999, 999) }),
  },
  {
    run: code.splitMinutes,
    level: 1,
    purpose: "Splits a number of minutes into days, hours and minutes.",
    input: "minutes, a whole number from 0",
    output: "days, hours (below 24) and minutes (below 60), whole numbers",
    reversible: true,
    draw: (random) => ({ minutes: random.int(0, 20_000) }),
  },
  {
    run: code.fewestCoins,
    level: 2,
    purpose: "Pays an amount with as few coins as possible.",
    input: "amount, a whole number from 0",
    output: "how many coins of each value, under the keys of 50, of 20, of 10, of 5, of 2, of 1",
    reversible: true,
    draw: (random) => ({ amount: random.int(1, 999) }),
  },
  {
    run: code.followCollatz,
    level: 3,
    purpose:
      "Halves even numbers and triples odd ones plus 1, until 1 is reached or the steps are used " +
      "up.",
    input: "start, a whole number from 1, and limit, the most steps",
    output: "steps taken, the largest number met and the last one",
    draw: (random) => ({ start: random.int(3, 300), limit: random.int(5, 20) }),
  },
  {
    run: code.digitsInBase,
    level: 4,
    purpose: "Writes a number in another base.",
    input: "number, a whole number from 1, and base from 2",
    output: "base, and digits, the list of digits with the highest first",
    reversible: true,
    draw: (random) => ({ number: random.int(10, 5000), base: random.int(2, 13) }),
  },
  {
    run: code.pseudoRandom,
    level: 5,
    purpose: "Makes a sequence of digits from a seed.",
    input: "seed, factor and count, whole numbers",
    output: "values, the digits, and state, the number that the next digit would be made from",
    draw: (random) => ({
      seed: random.int(1, 500),
      factor: random.int(3, 60),
      count: random.int(4, 8),
    }),
  },
  {
    run: code.leadingDifferences,
    level: 5,
    purpose:
      "Writes a list of numbers, below it the differences of neighbours, below them theirs, and " +
      "so on, and keeps the first number of every row.",
    input: "numbers, a list of whole numbers",
    output: "leading, the list of first numbers from the top row down",
    reversible: true,
    draw: (random) => ({ numbers: numbers(random, [4, 6], [-20, 20]) }),
  },
  {
    run: code.primeFactors,
    level: 5,
    purpose: "Counts how often each prime divides a number.",
    input: "number, a whole number from 2",
    output: "for each prime that divides it a key such as p7 with the number of times",
    reversible: true,
    draw: (random) => ({ number: numbers(random, [2, 4], [2, 15]).reduce((a, b) => a * b, 1) }),
  },
  {
    run: code.continuedFraction,
    level: 6,
    purpose: "Finds the continued fraction of top/bottom and the greatest common divisor of both.",
    input: "top and bottom, whole numbers from 1",
    output: "terms, the list of whole parts, and divisor",
    reversible: true,
    draw: (random) => ({ top: random.int(20, 999), bottom: random.int(10, 400) }),
  },
  {
    run: code.subsetSums,
    level: 7,
    purpose:
      "Counts the different sums that parts of a list can have, and the ways to choose a part " +
      "with a given sum.",
    input: "numbers, a list of whole numbers, and target",
    output: "sums, how many different sums there are (0 for no number included), and ways",
    draw: (random) => {
      const list = numbers(random, [4, 6], [1, 9]);
      return { numbers: list, target: random.int(5, 20) };
    },
  },
  {
    run: code.rankOfOrder,
    level: 10,
    purpose:
      "Finds the place of an order among all orders of the numbers 1 to n, sorted like words in " +
      "a dictionary; the first has place 0.",
    input: "order, a list with each number from 1 to n once",
    output: "size, which is n, and rank, the place",
    reversible: true,
    draw: (random) => {
      const n = random.int(5, 7);
      return { order: distinctNumbers(random, n, [1, n]) };
    },
  },
];

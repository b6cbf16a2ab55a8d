/** The reference functions on lists, with their descriptions and inputs. */
import * as code from "./lists_functions.js";
import { distinctNumbers, letters, numbers, type Snippet } from "./snippet.ts";
import { wordList } from "../../../text/lists.ts";

export const LIST_SNIPPETS: readonly Snippet[] = [
  {
    run: code.largestAndPlace,
    level: 2,
    purpose: "Finds the largest number of a list and where it stands first.",
    input: "numbers, a list of whole numbers",
    output: "largest, and place, counted from 0",
    draw: (random) => ({ numbers: numbers(random, [5, 9], [-99, 99]) }),
  },
  {
    run: code.splitByParity,
    level: 2,
    purpose: "Separates even numbers from odd ones.",
    input: "numbers, a list of whole numbers",
    output: "even and odd, two lists in the old order",
    draw: (random) => ({ numbers: numbers(random, [6, 10], [0, 99]) }),
  },
  {
    run: code.runningSums,
    level: 2,
    purpose: "Adds up a list and keeps every sum on the way.",
    input: "numbers, a list of whole numbers",
    output: "sums, as many numbers",
    reversible: true,
    draw: (random) => ({ numbers: numbers(random, [4, 7], [-30, 60]) }),
  },
  {
    run: code.mixLists,
    level: 3,
    purpose: "Takes one number of each list in turn, the other list first in every second turn.",
    input: "left and right, two lists with the same number of whole numbers",
    output: "mixed, one list",
    reversible: true,
    draw(random) {
      const left = numbers(random, [3, 5], [0, 99]);
      return { left, right: left.map(() => random.int(0, 99)) };
    },
  },
  {
    run: code.turnGrid,
    level: 4,
    purpose: "Turns a table of numbers clockwise by a quarter.",
    input: "grid, a list of rows with the same number of whole numbers",
    output: "turned, the list of the new rows",
    reversible: true,
    draw(random) {
      const columns = random.int(2, 4);
      return {
        grid: Array.from(
          { length: random.int(2, 4) },
          () => numbers(random, [columns, columns], [0, 9]),
        ),
      };
    },
  },
  {
    run: code.longestRise,
    level: 4,
    purpose:
      "Finds the longest part of a list in which every number is larger than the one before.",
    input: "numbers, a list of whole numbers",
    output: "start, where the first such part begins, counted from 0, and its length",
    draw: (random) => ({ numbers: numbers(random, [8, 14], [1, 40]) }),
  },
  {
    run: code.mergeIntervals,
    level: 6,
    purpose: "Joins intervals that overlap or touch and adds up the lengths.",
    input: "intervals, a list of [from, to]",
    output: "merged, the list of joined intervals, and covered, their whole length",
    draw: (random) => ({
      intervals: numbers(random, [4, 7], [0, 40]).map((from) => [from, from + random.int(1, 9)]),
    }),
  },
  {
    run: code.bestLoad,
    level: 8,
    purpose: "Chooses things with the greatest value whose weight does not exceed the capacity.",
    input: "weights and values, two lists of whole numbers, and capacity",
    output: "value, the greatest one, and half, the same for half of the capacity, rounded down",
    draw(random) {
      const weights = numbers(random, [4, 6], [2, 9]);
      return {
        weights,
        values: weights.map(() => random.int(5, 40)),
        capacity: random.int(10, 20),
      };
    },
  },
  {
    run: code.countOut,
    level: 8,
    purpose:
      "Lets people stand in a circle, counts to step again and again and sends away whom it hits.",
    input: "names, a list of different names, and step, a whole number from 1",
    output: "step, and order, the names in the order in which they leave",
    reversible: true,
    draw: (random) => ({
      names: random.sample(wordList("codeio_names"), random.int(5, 7)),
      step: random.int(2, 9),
    }),
  },
  {
    run: code.fewestHops,
    level: 8,
    purpose: "Finds the fewest roads from one town to another.",
    input: "roads, a list of pairs of towns, from and to",
    output:
      "reached, the towns that can be reached in the order in which they are found, and hops (-1 " +
      "without a way)",
    draw(random) {
      const towns = random.sample(wordList("codeio_names"), random.int(6, 8));
      const roads = Array.from({ length: random.int(6, 10) }, () => random.sample(towns, 2));
      const [from, to] = random.sample(towns, 2) as [string, string];
      return { roads, from, to };
    },
  },
  {
    run: code.orderTasks,
    level: 9,
    purpose:
      "Orders tasks so that what must come before comes before; of several that may be next it " +
      "takes the first in the alphabet.",
    input: "tasks, a list of names, and before, a list of [first, second]",
    output: "order, and stuck, how many tasks cannot be done",
    draw(random) {
      const tasks = random.sample(wordList("codeio_words"), random.int(5, 7));
      const before = Array.from({ length: random.int(4, 7) }, () => {
        const [a, b] = distinctNumbers(random, 2, [0, tasks.length - 1]) as [number, number];
        const [first, second] = a < b || random.chance(0.05) ? [a, b] : [b, a];
        return [tasks[first]!, tasks[second]!];
      });
      return { tasks: random.shuffle([...tasks]), before };
    },
  },
  {
    run: code.commonSubsequence,
    level: 9,
    purpose: "Finds a longest sequence that can be got from both lists by leaving out elements.",
    input: "left and right, two lists of letters",
    output: "common, the sequence",
    draw: (random) => ({
      left: [...letters(random, [6, 9], "ABCDE")],
      right: [...letters(random, [6, 9], "ABCDE")],
    }),
  },
  {
    run: code.chooseJobs,
    level: 9,
    purpose:
      "Gives each day at most one job so that none is late, the best paid jobs first, as late as " +
      "possible.",
    input: "jobs, a list of {name, deadline (the last day), pay}",
    output: "pay, the sum of the jobs done, and slots, the job of each day that has one",
    draw(random) {
      const names = random.sample(wordList("codeio_names"), random.int(5, 7));
      const pays = distinctNumbers(random, names.length, [5, 60]);
      return {
        jobs: names.map((name, i) => ({ name, deadline: random.int(1, 4), pay: pays[i]! })),
      };
    },
  },
];

/** Find a rule for lists from four examples and apply it to a fifth list. */
import { defineTask, exactScore, type RandomStream } from "../../define.ts";

const EXAMPLES = 4;
/** Maximum number of attempts to draw five distinct lists that show the rule. */
const DRAWS = 20;

export default defineTask({
  description: "Find the rule that turns lists into others and use it.",
  ...exactScore("the list"),
  params: {},
  generate(random) {
    const lists = drawLists(random, random.choice(LIST_RULES));
    const lines = lists.slice(0, EXAMPLES).map(({ input, output }) => `${input} -> ${output}`);
    const { input, output } = lists[EXAMPLES]!;
    return {
      question: "One rule turns each list on the left into the list on the right:\n" +
        `${lines.join("\n")}\nWhich list does the same rule make of ${input}? Answer with a list ` +
        "in square brackets, its elements separated by a comma and a space, such as [3, 14].",
      answer: output,
      metadata: {},
    };
  },
});

/**
 * The examples and the list in question, all distinct. For a rule with yes and no, both results
 * occur.
 */
function drawLists(random: RandomStream, rule: ListRule): { input: string; output: string }[] {
  for (let draw = 1;; draw++) {
    const lists = Array.from({ length: EXAMPLES + 1 }, () => rule.draw(random));
    const inputs = lists.map(text), outputs = lists.map((list) => text(rule.apply(list)));
    const shown = new Set(outputs.slice(0, EXAMPLES)).size;
    if (draw === DRAWS || (new Set(inputs).size === inputs.length && shown > 1)) {
      return inputs.map((input, i) => ({ input, output: outputs[i]! }));
    }
  }
}

function text(list: readonly number[]): string {
  return `[${list.join(", ")}]`;
}

/**
 * Seventeen rules that turn a list of numbers into another one, each with inputs that show its
 * effect.
 */

interface ListRule {
  apply(list: readonly number[]): number[];
  /** Draws a list that shows the rule. Unless noted, it has 3 to 10 numbers from 1 to 100. */
  draw(random: RandomStream): number[];
}

const MIN_LIST_LENGTH = 3;
const MAX_LIST_LENGTH = 10;
const MAX_NUMBER = 100;

function numbers(random: RandomStream, largest = MAX_NUMBER): number[] {
  return Array.from(
    { length: random.int(MIN_LIST_LENGTH, MAX_LIST_LENGTH) },
    () => random.int(1, largest),
  );
}

function ascending(list: readonly number[]): number[] {
  return [...list].sort((a, b) => a - b);
}

function sum(list: readonly number[]): number {
  return list.reduce((total, value) => total + value, 0);
}

/** A list of numbers with some of the given values at random places. */
function withSome(random: RandomStream, draw: (random: RandomStream) => number): number[] {
  const list = numbers(random);
  for (let i = random.int(1, list.length); i > 0; i--) {
    list[random.below(list.length)] = draw(random);
  }
  return list;
}

const LIST_RULES: readonly ListRule[] = [
  { draw: numbers, apply: (list) => [...list] },
  { draw: numbers, apply: (list) => [list[2]!] },
  { draw: numbers, apply: (list) => list.toReversed() },
  {
    draw: (random) => withSome(random, (random) => random.int(1, 29)),
    apply: (list) => [sum([...new Set(list)].filter((value) => value < 30))],
  },
  {
    draw: (random) => withSome(random, () => 5),
    apply: (list) => [list.filter((value) => value === 5).length],
  },
  {
    draw: numbers,
    apply: (list) => list.filter((_, i) => i + 1 < list.length && list[i + 1]! % 2 === 0),
  },
  { draw: numbers, apply: (list) => list.map((value, i) => value + i) },
  {
    draw(random) {
      const list = numbers(random);
      list[list.length - 1] = random.below(list.length);
      return list;
    },
    apply: (list) => [list[list.at(-1)!]!],
  },
  { draw: numbers, apply: (list) => [list.length] },
  { draw: numbers, apply: (list) => [sum(list)] },
  { draw: numbers, apply: ascending },
  { draw: numbers, apply: (list) => ascending(list).reverse() },
  {
    draw: numbers,
    apply: (list) => list.map((value, i) => i === 0 || i === list.length - 1 ? value + 1 : value),
  },
  {
    draw(random) {
      // Distinct values, so that the order is either ascending or descending.
      const list = ascending([...new Set(numbers(random))]);
      while (list.length < MIN_LIST_LENGTH) list.push(list.at(-1)! + 1);
      return random.chance(0.5) ? list : list.reverse();
    },
    apply: (list) => [list[0]! < list.at(-1)! ? 1 : 0],
  },
  {
    draw: (random) => [random.int(1, 10) * 10 - (random.chance(0.5) ? 0 : 5)],
    apply: (list) => [list[0]! % 10 === 0 ? 1 : 0],
  },
  {
    draw(random) {
      const first = random.int(1, MAX_NUMBER);
      return Array.from(
        { length: random.int(MIN_LIST_LENGTH, MAX_LIST_LENGTH) },
        (_, i) => first * 2 ** i,
      );
    },
    apply: (list) => [2 * list.at(-1)!],
  },
  { draw: (random) => [random.int(1, MAX_NUMBER)], apply: (list) => [2 * list[0]! - 4] },
];

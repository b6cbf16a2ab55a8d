/**
 * Systems of rules on counts: machines that are taken apart, and blocks that are combined. What is
 * left at the end? Each step applies the first rule whose ingredients are available,
 * until no rule applies or the maximum number of steps is reached. Every rule either reduces the
 * number of things or produces kinds that never turn back. So no state occurs twice.
 */
import { counts, defineTask, exactScore, int, type RandomStream } from "../../../define.ts";

/** The change of each count when the rule is applied; negative for ingredients. */
type Rule = readonly number[];

/** Changes of the counts of A, B, C, X, Y, Z. */
const SPLITTING: readonly Rule[] = [
  [-1, 0, 0, 2, 1, 0],
  [0, -2, 0, 1, 0, 0],
  [0, 0, -2, 0, 1, 0],
  [1, -1, -1, 0, 0, 0],
  [0, 0, 0, -1, -1, 1],
];

export const string_splitting = defineTask({
  description: "Take machines apart by rules and count what is left.",
  ...exactScore("the list of counts"),
  params: {
    initial_machines: counts([0, 5], "machines of each kind", {
      min: 0,
      spans: [10, 50, 100, 500],
    }),
    max_iterations: int(1000, "most rule applications", { min: 1 }),
  },
  generate(random, config) {
    const { min_initial_machines: min, max_initial_machines: max, max_iterations } = config;
    const machines = drawThree(random, min, max);
    const states = applyRules([...machines, 0, 0, 0], SPLITTING, max_iterations);
    const solution = states.at(-1)!;
    const [a, b, c] = machines;
    return {
      question:
        `A workshop has ${a} of machine A, ${b} of machine B and ${c} of machine C, and no parts ` +
        "X, Y or Z. It works by these rules:\n" +
        "1. One A is taken apart into two X and one Y.\n" +
        "2. Two B are taken apart into one X.\n" +
        "3. Two C are taken apart into one Y.\n" +
        "4. One B and one C are joined into one A.\n" +
        "5. One X and one Y are joined into one Z.\n" +
        "Each step applies, once, the first rule in this list for which everything it needs is " +
        "there; then the list is looked through from rule 1 again. The work ends when no rule " +
        `can be applied, or after ${max_iterations} steps. How many of each are there in ` +
        "the end? Answer with the six counts of A B C X Y Z in this order, separated by single " +
        "spaces (such as: 1 0 1 5 4 3).",
      answer: solution.join(" "),
      metadata: { states, solution, initial_machines: machines },
    };
  },
});

/** Changes of the counts of [A] [B] [C] {A} {B} {C} (A) (B) (C). */
const SYNTHESIS: readonly Rule[] = [
  [-1, -1, -1, 1, 0, 0, 0, 0, 0],
  [-1, -1, 0, 0, 0, 1, 0, 0, 0],
  [0, -1, -1, 0, 1, 0, 0, 0, 0],
  [0, 0, -2, 0, 0, 1, 0, 0, 0],
  [0, 0, 0, -1, 0, -1, 1, 1, 0],
  [0, 0, 0, 0, -2, 0, 0, 0, 1],
];

export const string_synthesis = defineTask({
  description: "Combine blocks by rules and count what is left.",
  ...exactScore("the list of counts"),
  params: {
    initial_blocks: counts([0, 5], "blocks of each kind", { min: 0, spans: [10, 50, 100, 500] }),
    max_iterations: int(1000, "most rule applications", { min: 1 }),
  },
  generate(random, config) {
    const { min_initial_blocks: min, max_initial_blocks: max, max_iterations } = config;
    const blocks = drawThree(random, min, max);
    const states = applyRules([...blocks, 0, 0, 0, 0, 0, 0], SYNTHESIS, max_iterations);
    const solution = states.at(-1)!;
    const [a, b, c] = blocks;
    return {
      question:
        "There are nine kinds of blocks: [A] [B] [C] {A} {B} {C} (A) (B) (C). At first there are " +
        `${a} of [A], ${b} of [B], ${c} of [C] and none of the others. Blocks are combined by ` +
        "these rules:\n1. One [A], one [B] and one [C] become one {A}.\n" +
        "2. One [A] and one [B] become one {C}.\n" +
        "3. One [B] and one [C] become one {B}.\n" +
        "4. Two [C] become one {C}.\n5. One {A} and one {C} become one (A) and one (B).\n" +
        "6. Two {B} become one (C).\nEach step applies, once, the first rule in this list whose " +
        "blocks are all there; then the list is looked through from rule 1 again. This ends when " +
        `no rule can be applied, or after ${max_iterations} steps. How many blocks of ` +
        "each kind are there in the end? Answer with the nine counts in the order [A] [B] [C] " +
        "{A} {B} {C} (A) (B) (C), separated by single spaces (such as: 1 0 3 0 2 0 0 0 1).",
      answer: solution.join(" "),
      metadata: { states, solution, initial_blocks: blocks },
    };
  },
});

function drawThree(random: RandomStream, min: number, max: number): number[] {
  return Array.from({ length: 3 }, () => random.int(min, max));
}

/** All states from the first to the last, each a copy. */
function applyRules(
  start: readonly number[],
  rules: readonly Rule[],
  maxSteps: number,
): number[][] {
  const states = [start.slice()];
  let state = states[0]!;
  for (let step = 0; step < maxSteps; step++) {
    const counts = state;
    const rule = rules.find((change) => change.every((delta, i) => counts[i]! + delta >= 0));
    if (rule === undefined) break;
    state = counts.map((count, i) => count + rule[i]!);
    states.push(state);
  }
  return states;
}

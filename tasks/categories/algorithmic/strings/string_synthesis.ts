/** Blocks are combined by fixed rules. Which blocks are left at the end? */
import { counts, defineTask, exactScore, int } from "../../../define.ts";
import { applyRules, type Rule } from "./rewriting.ts";

/** Changes of the counts of [A] [B] [C] {A} {B} {C} (A) (B) (C). */
const RULES: readonly Rule[] = [
  [-1, -1, -1, 1, 0, 0, 0, 0, 0],
  [-1, -1, 0, 0, 0, 1, 0, 0, 0],
  [0, -1, -1, 0, 1, 0, 0, 0, 0],
  [0, 0, -2, 0, 0, 1, 0, 0, 0],
  [0, 0, 0, -1, 0, -1, 1, 1, 0],
  [0, 0, 0, 0, -2, 0, 0, 0, 1],
];

export default defineTask({
  description: "Combine blocks by rules and count what is left.",
  ...exactScore("the list of counts"),
  params: {
    initial_blocks: counts([0, 5], "blocks of each kind", { min: 0, spans: [10, 50, 100, 500] }),
    max_iterations: int(1000, "most rule applications", { min: 1 }),
  },
  generate(random, config) {
    const count = () => random.int(config.min_initial_blocks, config.max_initial_blocks);
    const blocks = [count(), count(), count()];
    const states = applyRules([...blocks, 0, 0, 0, 0, 0, 0], RULES, config.max_iterations);
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
        `no rule can be applied, or after ${config.max_iterations} steps. How many blocks of ` +
        "each kind are there in the end? Answer with the nine counts in the order [A] [B] [C] " +
        "{A} {B} {C} (A) (B) (C), separated by single spaces (such as: 1 0 3 0 2 0 0 0 1).",
      answer: solution.join(" "),
      metadata: { states, solution, initial_blocks: blocks },
    };
  },
});

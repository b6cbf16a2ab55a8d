/** Machines are taken apart by fixed rules. What is left at the end? */
import { counts, defineTask, exactScore, int } from "../../../define.ts";
import { applyRules, type Rule } from "./rewriting.ts";

/** Changes of the counts of A, B, C, X, Y, Z. */
const RULES: readonly Rule[] = [
  [-1, 0, 0, 2, 1, 0],
  [0, -2, 0, 1, 0, 0],
  [0, 0, -2, 0, 1, 0],
  [1, -1, -1, 0, 0, 0],
  [0, 0, 0, -1, -1, 1],
];

export default defineTask({
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
    const count = () => random.int(config.min_initial_machines, config.max_initial_machines);
    const machines = [count(), count(), count()];
    const states = applyRules([...machines, 0, 0, 0], RULES, config.max_iterations);
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
        `can be applied, or after ${config.max_iterations} steps. How many of each are there in ` +
        "the end? Answer with the six counts of A B C X Y Z in this order, separated by single " +
        "spaces (such as: 1 0 1 5 4 3).",
      answer: solution.join(" "),
      metadata: { states, solution, initial_machines: machines },
    };
  },
});

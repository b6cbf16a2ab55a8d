/** Find a rule for lists from four examples and apply it to a fifth list. */
import type { RandomStream } from "../../../core/philox.ts";
import { defineTask } from "../../define.ts";
import { exactScore } from "../../scoring_rules.ts";
import { LIST_RULES, type ListRule } from "./list_rules.ts";

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
      difficulty: {},
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

/**
 * One statement among many answers the question. No other statement has the same verb and thing.
 */
import { defineTask, int, intervals } from "../../define.ts";
import { strip } from "../../python/text.ts";
import { isOverlong } from "../../scoring_rules.ts";
import { NAMES, THINGS, VERBS } from "./haystack_words.ts";
import type { ScorableEntry } from "../../types.ts";

/** Number of statements without the verb and thing of the needle. */
const MAX_STATEMENTS = NAMES.length * (VERBS.length * THINGS.length - 1);

export default defineTask({
  description: "Find the statement that answers a question among many others.",
  scoring: "1 for the name (spaces and case do not count), else 0.",
  params: {
    min_num_statements: int(10, "fewest statements", { min: 1 }),
    max_num_statements: int(100, "most statements", {
      min: 1,
      max: Math.floor(MAX_STATEMENTS / 2),
    }),
  },
  curriculum: {
    num_statements: intervals([10, 100, 500, 1000], "statements"),
  },
  generate(random, config) {
    const count = random.int(config.min_num_statements, config.max_num_statements);
    const needle = random.below(VERBS.length * THINGS.length);
    const name = random.choice(NAMES);
    const others = new Set<number>();
    while (others.size < count - 1) {
      const statement = random.below(NAMES.length * VERBS.length * THINGS.length);
      if (statement % (VERBS.length * THINGS.length) !== needle) others.add(statement);
    }
    const statements = Array.from(others, (statement) => {
      const about = statement % (VERBS.length * THINGS.length);
      return `${NAMES[(statement - about) / (VERBS.length * THINGS.length)]} ${predicate(about)}.`;
    });
    statements.splice(random.below(count), 0, `${name} ${predicate(needle)}.`);
    const question = `Who ${predicate(needle)}? Answer with the name only.`;
    return {
      question: `${statements.join(" ")}\n${question}`,
      answer: name,
      metadata: { question, num_statements: count },
    };
  },
  score,
});

function predicate(number: number): string {
  return `${VERBS[number % VERBS.length]} ${THINGS[Math.floor(number / VERBS.length)]}`;
}

function score(answer: string, entry: ScorableEntry): number {
  const oracle = plain(entry.answer ?? "");
  return oracle !== "" && !isOverlong(answer, entry) && plain(answer) === oracle ? 1 : 0;
}

function plain(text: string): string {
  return strip(text).replaceAll(" ", "").toLowerCase();
}

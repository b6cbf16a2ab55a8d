/**
 * One statement among many answers the question. No other statement has the same verb and thing.
 */
import { counts, defineTask, isOverlong } from "../../define.ts";
import { strip } from "../../python/text.ts";
import { wordList } from "../../text/lists.ts";
import { once } from "../../once.ts";

/** Half of the statements without the verb and thing of the needle. */
const MAX_STATEMENTS = 11_737_843;

/** First names, each composed of a beginning and an ending. */
const firstNames = once(() => {
  const endings = wordList("name_endings");
  return [
    ...new Set(wordList("name_beginnings").flatMap((start) => endings.map((end) => start + end))),
  ];
});

export default defineTask({
  description: "Find the statement that answers a question among many others.",
  scoring: "1 for the name (spaces and case do not count), else 0.",
  params: {
    num_statements: counts([10, 100], "statements", {
      min: 1,
      max: MAX_STATEMENTS,
      spans: [10, 100, 500, 1000],
    }),
  },
  generate(random, config) {
    const count = random.int(config.min_num_statements, config.max_num_statements);
    const names = firstNames(), predicates = wordList("likes").length * wordList("liked").length;
    const needle = random.below(predicates);
    const name = random.choice(names);
    const others = new Set<number>();
    while (others.size < count - 1) {
      const statement = random.below(names.length * predicates);
      if (statement % predicates !== needle) others.add(statement);
    }
    const statements = Array.from(others, (statement) => {
      const about = statement % predicates;
      return `${names[(statement - about) / predicates]} ${predicate(about)}.`;
    });
    statements.splice(random.below(count), 0, `${name} ${predicate(needle)}.`);
    const question = `Who ${predicate(needle)}? Answer with the name only.`;
    return {
      question: `${statements.join(" ")}\n${question}`,
      answer: name,
      metadata: { question, num_statements: count },
    };
  },
  score(answer, entry) {
    const oracle = plain(entry.answer ?? "");
    return oracle !== "" && !isOverlong(answer, entry) && plain(answer) === oracle ? 1 : 0;
  },
});

function predicate(number: number): string {
  const verbs = wordList("likes");
  return `${verbs[number % verbs.length]} ${wordList("liked")[Math.floor(number / verbs.length)]}`;
}

function plain(text: string): string {
  return strip(text).replaceAll(" ", "").toLowerCase();
}

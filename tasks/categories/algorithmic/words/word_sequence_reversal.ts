/** Reverse the order of a few words of the story. */
import { defineTask, int, intervals } from "../../../define.ts";
import { defaultScore } from "../../../scoring_rules.ts";
import { storyWords } from "../../../text/story.ts";
import { distinctIndices } from "./distinct.ts";

export default defineTask({
  description: "Reverse the order of words.",
  scoring:
    "1 when equal; else the share of the answer's length that the right list has in it when it " +
    "occurs there; else 0.",
  params: {
    min_words: int(3, "fewest words", { min: 1 }),
    max_words: int(8, "most words"),
  },
  curriculum: {
    words: intervals([10, 25, 50, 100], "how many words"),
  },
  validate({ max_words }) {
    const available = storyWords().length;
    return max_words <= available ? [] : [
      `max_words: the built-in text has ${available} words, found max_words = ${max_words}`,
    ];
  },
  generate(random, config) {
    const all = storyWords();
    const count = random.int(config.min_words, config.max_words);
    const words = distinctIndices(random, all.length, count).map((index) => all[index]!);
    return {
      question: `Write these words in reverse order, the last one first: ${words.join(", ")}\n` +
        "Answer with the words exactly as they are written here, separated by a comma and a space.",
      answer: words.toReversed().join(", "),
      metadata: { num_words: count, words },
    };
  },
  score: defaultScore,
});

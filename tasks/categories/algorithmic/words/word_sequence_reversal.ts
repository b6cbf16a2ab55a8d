/** Reverse the order of a few words of the story. */
import { counts, defineTask, exactScore } from "../../../define.ts";
import { storyWordErrors, storyWords } from "../../../text/story.ts";
import { distinctIndices } from "./distinct.ts";

export default defineTask({
  description: "Reverse the order of words.",
  ...exactScore("the list"),
  params: { words: counts([3, 8], "words", { min: 1, spans: [10, 25, 50, 100] }) },
  validate: ({ max_words }) => storyWordErrors(max_words),
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
});

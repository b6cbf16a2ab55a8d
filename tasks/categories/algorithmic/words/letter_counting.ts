/** How often a letter occurs in a few consecutive words of the story. */
import { counts, defineTask, exactScore } from "../../../define.ts";
import { storyWordErrors, storyWords } from "../../../text/story.ts";

export default defineTask({
  description: "Count how often a letter occurs in a text.",
  ...exactScore("the number"),
  params: {
    words: counts([5, 15], "words of the text", { min: 1, spans: [5, 7, 9, 11, 13, 15, 17, 19] }),
  },
  validate: ({ max_words }) => storyWordErrors(max_words),
  generate(random, config) {
    const all = storyWords();
    const length = random.int(config.min_words, config.max_words);
    const start = random.int(0, all.length - length);
    const span = all.slice(start, start + length);
    const text = span.join(" "), lower = text.toLowerCase();
    const letter = random.choice([...new Set(lower.replaceAll(" ", ""))].sort());
    return {
      question:
        `How many times does the letter "${letter}" occur in this text? Capital and small ` +
        `letters count alike.\n${text}\nAnswer with the number only.`,
      answer: String(lower.split(letter).length - 1),
      metadata: { span_length: length, target_letter: letter, span },
    };
  },
});

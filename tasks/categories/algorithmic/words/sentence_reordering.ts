/** Put the shuffled words of a sentence back in order. */
import { counts, defineTask, type RandomStream } from "../../../define.ts";
import { words } from "../../../python/text.ts";
import { makeSentence, storySentences } from "../../../text/sentences.ts";

export default defineTask({
  description: "Put the words of a sentence into order.",
  scoring:
    "1 when equal; the share of words at their place, case ignored, when the answer has as many " +
    "words as the sentence; else 0.05.",
  params: {
    words_in_sentence: counts([3, 20], "words of a sentence", { min: 1, spans: [5, 20, 50, 100] }),
  },
  generate(random, config) {
    const { min_words_in_sentence: min, max_words_in_sentence: max } = config;
    const count = random.int(min, max);
    const sentence = drawSentence(random, count);
    const shuffled = shuffle(random, sentence);
    return {
      question: `The words of a sentence have been mixed up: ${shuffled.join(" ")}\n` +
        "Put them back into the order in which they form a sentence. Keep every word exactly as " +
        "it is written, with its capital letters and the punctuation behind it. Answer with the " +
        "sentence.",
      answer: sentence,
      metadata: { word_count: count },
    };
  },
  score(answer, entry) {
    const oracle = entry.answer ?? "";
    if (answer === oracle) return 1;
    const expected = words(oracle), given = words(answer, expected.length + 1);
    if (expected.length === 0 || given.length !== expected.length) return 0.05;
    const equal = given.filter((word, i) => word.toLowerCase() === expected[i]!.toLowerCase());
    return equal.length / expected.length;
  },
});

/**
 * Half of the sentences are from the story and half are generated; all are generated if the story
 * has none of that length.
 */
function drawSentence(random: RandomStream, count: number): string {
  const fromStory = storySentences().get(count);
  return fromStory !== undefined && random.chance(0.5)
    ? random.choice(fromStory)
    : makeSentence(random, count);
}

/** The words in another order, if they have one. */
function shuffle(random: RandomStream, sentence: string): string[] {
  const ordered = sentence.split(" "), shuffled = random.shuffle(ordered.slice());
  if (shuffled.every((word, i) => word === ordered[i])) shuffled.reverse();
  return shuffled;
}

/** Sort words by the code points of their letters, so that capitals come before small letters. */
import { counts, defineTask, type RandomStream, text } from "../../../define.ts";
import { strip } from "../../../python/text.ts";
import { storyWords } from "../../../text/story.ts";
import { wordAt, wordCount } from "../../../text/words.ts";
import { distinctIndices } from "./distinct.ts";
import { once } from "../../../once.ts";

type Change = (word: string, random: RandomStream) => string;

const CHANGES: Readonly<Record<string, Change>> = {
  lowercase: (word) => word.toLowerCase(),
  uppercase: (word) => word.toUpperCase(),
  original: (word) => word,
  randomcase: (word, random) =>
    Array.from(word, (c) => random.chance(0.5) ? c.toUpperCase() : c.toLowerCase()).join(""),
};

export default defineTask({
  description: "Sort words in ascending or descending order.",
  scoring:
    "The words between commas, space around them ignored: the share of words at their place, of " +
    "the longer list; at least 0.2 when exactly the right words are there.",
  params: {
    words: counts([3, 10], "words", { min: 1, spans: [5, 10, 25, 50, 100], as: "num_words" }),
    word_length: counts([3, 12], "letters of a word", { min: 1, spans: [3, 5, 10, 15] }),
    transformation: text("original", "how the words are written", Object.keys(CHANGES)),
  },
  validate({ max_words, min_word_length, max_word_length }) {
    const { size } = vocabulary(min_word_length, max_word_length, max_words);
    return max_words <= size ? [] : [
      `max_words: there are ${size} words of ${min_word_length} to ${max_word_length} letters, ` +
      `found max_words = ${max_words}`,
    ];
  },
  generate(random, config) {
    const { min_words, max_words, min_word_length, max_word_length, transformation } = config;
    const count = random.int(min_words, max_words);
    const { size, at } = vocabulary(min_word_length, max_word_length, max_words);
    const original = distinctIndices(random, size, count).map(at);
    const transformed = original.map((word) => CHANGES[transformation]!(word, random));
    const ascending = random.chance(0.5), sign = ascending ? 1 : -1;
    const direction = ascending ? "ascending" : "descending";
    const sorted = transformed.toSorted((a, b) => a === b ? 0 : a < b ? -sign : sign);
    return {
      question: `Sort these words in ${direction} order: ${transformed.join(", ")}\n` +
        "Compare them letter by letter by the letters' Unicode (ASCII) codes: every capital " +
        "letter is below every small one, and a word is below a longer one that begins with it. " +
        "Answer with the words exactly as they are written here, separated by a comma and a " +
        "space.",
      answer: sorted.join(", "),
      metadata: {
        original_words: original,
        sorted_words: sorted,
        transformed_words: transformed,
        direction,
        num_words: count,
        word_length: Math.max(...original.map((word) => word.length)),
      },
    };
  },
  score(answer, entry) {
    const expected = entry.metadata?.["sorted_words"] ?? entry.answer?.split(",").map(strip);
    if (!Array.isArray(expected) || expected.length === 0) return 0;
    const parts = answer.split(",");
    const given = parts.slice(0, expected.length).map(strip);
    const equal = given.filter((word, i) => word === expected[i]).length;
    const share = equal / Math.max(parts.length, expected.length);
    return parts.length === expected.length && sameWords(given, expected)
      ? Math.max(share, 0.2)
      : share;
  },
});

interface Vocabulary {
  size: number;
  at(index: number): string;
}

const storyWordsOf = once((min: number, max: number) =>
  [...new Set(storyWords())].filter(({ length }) => length >= min && length <= max)
);

/**
 * The distinct words of the story with these lengths; if they are fewer than `wanted`, the words of
 * the word list.
 */
function vocabulary(min: number, max: number, wanted: number): Vocabulary {
  const list = storyWordsOf(min, max), listed = list.length < wanted ? wordCount(min, max) : 0;
  if (listed <= list.length) return { size: list.length, at: (index) => list[index]! };
  return { size: listed, at: (index) => wordAt(index, min) };
}

function sameWords(a: readonly string[], b: readonly unknown[]): boolean {
  const sorted = b.toSorted();
  return a.toSorted().every((word, i) => word === sorted[i]);
}

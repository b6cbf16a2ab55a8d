/**
 * Words of the story with swapped letters. If the story has too few words of the wanted lengths,
 * words of the nearest other lengths are used too.
 */
import { bool, counts, defineTask, type RandomStream, sizes } from "../../../define.ts";
import { strip, words } from "../../../python/text.ts";
import { storyWordErrors, storyWords } from "../../../text/story.ts";
import { once } from "../../../once.ts";

export default defineTask({
  description: "Unscramble the letters of words.",
  scoring:
    "1 when equal, case and space around it aside; else the share of words that are right at " +
    "their position, of the words expected or given, whichever are more.",
  params: {
    word_len: counts([1, 64], "letters of a word", { min: 1, spans: [5, 10, 15, 30, 50] }),
    words: counts([3, 20], "words", { min: 1, spans: [5, 10, 25, 50, 100] }),
    corruption_level: sizes([0.1, 0.9], "share of letters swapped", {
      real: true,
      min: 0,
      max: 1,
      spans: [0.1, 0.3, 0.6, 0.9],
    }),
    consecutive_words: bool(true, "words that follow each other in the story"),
  },
  validate: ({ max_words }) => storyWordErrors(max_words),
  generate(random, config) {
    const pool = wordsOfLengths(config.min_word_len, config.max_word_len, config.max_words);
    const count = random.int(config.min_words, config.max_words);
    const corruption = random.uniform(config.min_corruption_level, config.max_corruption_level);
    let original: string[];
    if (config.consecutive_words) {
      const start = random.int(0, pool.length - count);
      original = pool.slice(start, start + count);
    } else original = random.sample(pool, count);
    const scrambled = original.map((word) => scramble(random, word, corruption));
    return {
      question:
        "In each of these words, letters may have changed places; the words stand in their right " +
        "order.\n" +
        `${scrambled.join(" ")}\n` +
        "Unscramble them. Answer with the original words in the same order, separated by single " +
        "spaces.",
      answer: original.join(" "),
      metadata: {
        num_words: count,
        corruption_level: corruption,
        scrambled_words: scrambled,
        original_words: original,
      },
    };
  },
  score(answer, entry) {
    const given = strip(answer).toLowerCase(), expected = strip(entry.answer ?? "").toLowerCase();
    if (given === expected) return 1;
    const givenWords = words(given), expectedWords = words(expected);
    const equal = expectedWords.filter((word, i) => word === givenWords[i]).length;
    return equal / Math.max(expectedWords.length, givenWords.length);
  },
});

/**
 * The story's words of `min` to `max` letters. Until there are `count`, shorter and then longer
 * words are added.
 */
const wordsOfLengths = once((min: number, max: number, count: number): readonly string[] => {
  const all = storyWords();
  const longest = all.reduce((longest, word) => Math.max(longest, word.length), 0);
  let low = Math.min(min, longest), high = Math.max(max, low);
  for (;;) {
    const pool = all.filter(({ length }) => length >= low && length <= high);
    if (pool.length >= count) return pool;
    if (low > 1) low--;
    else high++;
  }
});

/** Swaps two letters max(1, ⌊length · corruption⌋) times. */
function scramble(random: RandomStream, word: string, corruption: number): string {
  if (word.length < 2) return word;
  const letters = [...word];
  for (let swaps = Math.max(1, Math.floor(word.length * corruption)); swaps > 0; swaps--) {
    const i = random.below(letters.length);
    const j = (i + 1 + random.below(letters.length - 1)) % letters.length;
    [letters[i], letters[j]] = [letters[j]!, letters[i]!];
  }
  return letters.join("");
}

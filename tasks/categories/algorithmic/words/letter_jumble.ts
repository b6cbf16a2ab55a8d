/**
 * Words of the story with swapped letters. If the story has too few words of the wanted lengths,
 * words of the nearest other lengths are used too.
 */
import type { RandomStream } from "../../../../core/philox.ts";
import { bool, defineTask, float, int, intervals } from "../../../define.ts";
import { strip, words } from "../../../python/text.ts";
import { storyWords } from "../../../text/story.ts";
import type { ScorableEntry } from "../../../types.ts";

export default defineTask({
  description: "Unscramble the letters of words.",
  scoring:
    "1 when equal, case and space around it aside; else the share of words that are right at " +
    "their position, of the words expected or given, whichever are more.",
  params: {
    min_word_len: int(1, "fewest letters of a word", { min: 1 }),
    max_word_len: int(64, "most letters of a word"),
    min_words: int(3, "fewest words", { min: 1 }),
    max_words: int(20, "most words"),
    min_corruption_level: float(0.1, "smallest share of letters swapped", { min: 0, max: 1 }),
    max_corruption_level: float(0.9, "largest share of letters swapped", { min: 0, max: 1 }),
    consecutive_words: bool(true, "words that follow each other in the story"),
  },
  curriculum: {
    word_len: intervals([5, 10, 15, 30, 50], "letters of a word"),
    words: intervals([5, 10, 25, 50, 100], "words"),
    corruption_level: intervals([0.1, 0.3, 0.6, 0.9], "share of letters swapped"),
  },
  validate({ max_words }) {
    const available = storyWords().length;
    return max_words <= available ? [] : [
      `max_words: the built-in text has ${available} words, found max_words = ${max_words}`,
    ];
  },
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
  score,
});

const pools = new Map<string, readonly string[]>();

/**
 * The story's words of `min` to `max` letters. Until there are `count`, shorter and then longer
 * words are added.
 */
function wordsOfLengths(min: number, max: number, count: number): readonly string[] {
  const key = `${min} ${max} ${count}`;
  let pool = pools.get(key);
  if (pool === undefined) {
    const all = storyWords();
    const longest = all.reduce((longest, word) => Math.max(longest, word.length), 0);
    let low = Math.min(min, longest), high = Math.max(max, low);
    const select = () => all.filter(({ length }) => length >= low && length <= high);
    for (pool = select(); pool.length < count; pool = select()) {
      if (low > 1) low--;
      else high++;
    }
    pools.set(key, pool);
  }
  return pool;
}

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

function score(answer: string, entry: ScorableEntry): number {
  const given = strip(answer).toLowerCase(), expected = strip(entry.answer ?? "").toLowerCase();
  if (given === expected) return 1;
  const givenWords = words(given), expectedWords = words(expected);
  const equal = expectedWords.filter((word, i) => word === givenWords[i]).length;
  return equal / Math.max(expectedWords.length, givenWords.length);
}

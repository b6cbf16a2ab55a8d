/** Spell a word backward. The words come from the word list. */
import { counts, defineTask, text } from "../../../define.ts";
import { MAX_WORD_LENGTH, MIN_WORD_LENGTH, wordAt, wordCount } from "../../../text/words.ts";

/** The file name that reasoning-gym uses. Here it means the built-in list. */
const DATA_FILE = "words3to10.txt";

export default defineTask({
  description: "Spell a word backward.",
  scoring:
    "1 when equal, case ignored; 0.8 when all letters are right but more characters follow; else " +
    "the share of letters that are right at their position.",
  params: {
    word_len: counts([3, 10], "letters of a word", { min: 1, levels: [3, 5, 7, 9, 11] }),
    data_file: text(DATA_FILE, "the word list; only the built-in one has this name"),
  },
  rules: {
    "data_file: only the built-in words3to10.txt is available": (c) => c.data_file === DATA_FILE,
    "min_word_len: the list has words of 3 to 11 letters": (c) =>
      c.min_word_len <= MAX_WORD_LENGTH && c.max_word_len >= MIN_WORD_LENGTH,
  },
  generate(random, config) {
    const word = wordAt(
      random.below(wordCount(config.min_word_len, config.max_word_len)),
      config.min_word_len,
    );
    return {
      question: `Reverse the letters: ${word}`,
      answer: [...word].reverse().join(""),
      metadata: { word, word_len: word.length },
    };
  },
  score(answer, entry) {
    const given = [...answer.toLowerCase()], expected = [...(entry.answer ?? "").toLowerCase()];
    if (expected.length === 0) return 0;
    let equal = 0;
    for (let i = 0; i < expected.length; i++) if (given[i] === expected[i]) equal++;
    if (equal < expected.length) return equal / expected.length;
    return given.length > expected.length ? 0.8 : 1;
  },
});

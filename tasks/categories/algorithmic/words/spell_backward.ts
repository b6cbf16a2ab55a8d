/** Spell a word backward. The words come from the word list. */
import { defineTask, int, levels, text } from "../../../define.ts";
import type { ScorableEntry } from "../../../types.ts";
import { MAX_WORD_LENGTH, MIN_WORD_LENGTH, wordAt, wordCount } from "../../../text/words.ts";

/** The file name that reasoning-gym uses. Here it means the built-in list. */
const DATA_FILE = "words3to10.txt";

export default defineTask({
  description: "Spell a word backward.",
  scoring:
    "1 when equal, case ignored; 0.8 when all letters are right but more characters follow; else " +
    "the share of letters that are right at their position.",
  params: {
    min_word_len: int(3, "fewest letters of a word", { min: 1 }),
    max_word_len: int(10, "most letters of a word"),
    data_file: text(DATA_FILE, "the word list; only the built-in one has this name"),
  },
  curriculum: {
    word_len: levels([3, 5, 7, 9, 11], "letters of the word"),
  },
  validate({ min_word_len, max_word_len, data_file }) {
    const errors: string[] = [];
    if (data_file !== DATA_FILE) {
      errors.push(`data_file: only the built-in ${DATA_FILE} is available, found ${data_file}`);
    }
    if (max_word_len < MIN_WORD_LENGTH || min_word_len > MAX_WORD_LENGTH) {
      errors.push(
        `min_word_len: the list has words of ${MIN_WORD_LENGTH} to ${MAX_WORD_LENGTH} letters, found ` +
          `min_word_len = ${min_word_len} and max_word_len = ${max_word_len}`,
      );
    }
    return errors;
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
  score,
});

function score(answer: string, entry: ScorableEntry): number {
  const given = [...answer.toLowerCase()], expected = [...(entry.answer ?? "").toLowerCase()];
  if (expected.length === 0) return 0;
  let equal = 0;
  for (let i = 0; i < expected.length; i++) if (given[i] === expected[i]) equal++;
  if (equal < expected.length) return equal / expected.length;
  return given.length > expected.length ? 0.8 : 1;
}

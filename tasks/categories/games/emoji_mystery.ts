/**
 * A sentence hidden in an emoji. Each byte of its UTF-8 text follows the emoji as one of Unicode's
 * 256 variation selectors, which most programs do not display.
 */
import { counts, defineTask, type RandomStream } from "../../define.ts";
import { codePoints } from "../../python/text.ts";
import { makeSentence } from "../../text/sentences.ts";

export default defineTask({
  description: "Decode a sentence that is hidden in an emoji.",
  scoring:
    "1 when equal to the sentence; the share of equal characters when of the same length; else " +
    "0.01.",
  defaultSize: 1000,
  params: {
    words_in_sentence: counts([3, 35], "words", {
      min: 1,
      max: 10_000,
      spans: [5, 10, 20, 30, 40, 50],
      as: "num_words_in_sentence",
    }),
  },
  generate(random, { min_words_in_sentence: min, max_words_in_sentence: max }) {
    const count = drawCount(random, min, max);
    const sentence = makeSentence(random, count);
    const emoji = random.choice(EMOJI);
    return {
      question:
        "A sentence is hidden in this emoji: the emoji is followed by characters that most " +
        "programs do not show, one for each byte of the sentence in UTF-8.\n" +
        `${hide(emoji, sentence)}\nA byte b below 16 is written as the code point U+FE00 + b, ` +
        "any other byte as U+E0100 + (b - 16). So in Python the sentence is\n" +
        "bytes(ord(c) - 0xFE00 if ord(c) < 0xE0100 else ord(c) - 0xE0100 + 16 for c in " +
        'text[1:]).decode("utf-8")\nAnswer with the hidden sentence alone, exactly as it is, ' +
        "with its capital letters and punctuation.",
      answer: sentence,
      metadata: { emoji, num_words_in_sentence: count },
    };
  },
  score(answer, entry) {
    const oracle = entry.answer ?? "";
    if (answer === oracle) return 1;
    if (codePoints(answer) !== codePoints(oracle)) return 0.01;
    const given = [...answer], expected = [...oracle];
    return given.filter((character, i) => character === expected[i]).length / expected.length;
  },
});

/**
 * Shorter sentences are more frequent, as in prose: half of them are in the lower quarter of the
 * range.
 */
function drawCount(random: RandomStream, min: number, max: number): number {
  return min + Math.floor((max - min + 1) * random.random() ** 2);
}

const FIRST_SELECTORS = 0xfe00, OTHER_SELECTORS = 0xe0100;
const encoder = new TextEncoder();

function hide(emoji: string, sentence: string): string {
  let text = emoji;
  for (const byte of encoder.encode(sentence)) {
    text += String.fromCodePoint(byte < 16 ? FIRST_SELECTORS + byte : OTHER_SELECTORS + byte - 16);
  }
  return text;
}

/** Faces and some signs. Each is one code point, so the bytes begin at the second one. */
const EMOJI = [
  ...Array.from({ length: 0x50 }, (_, i) => String.fromCodePoint(0x1f600 + i)),
  ...Array.from({ length: 24 }, (_, i) => String.fromCodePoint(0x1f910 + i)),
  ...Array.from({ length: 20 }, (_, i) => String.fromCodePoint(0x1f400 + i)),
];

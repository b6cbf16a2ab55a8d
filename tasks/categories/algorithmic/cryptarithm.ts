/** A column addition whose digits are replaced by letters. */
import { bool, counts, defineTask, isOverlong, type RandomStream } from "../../define.ts";
import { parseInteger } from "../../python/integers.ts";
import { strip } from "../../python/text.ts";

const ALPHABET = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
const MIN_DIGITS = 3, MAX_DIGITS = 5;

export default defineTask({
  description: "Find the digits that letters stand for in an addition.",
  scoring:
    "1 for a mapping of exactly the letters to different digits with a true sum and no forbidden " +
    "leading zero, also when it is not the one that was thought of; 0.01 for another mapping; 0 " +
    "when a part is no pair of a letter and a number.",
  params: {
    words: counts([2, 3], "numbers of the sum", { min: 2, spans: [2, 5, 10, 50] }),
    allow_leading_zero: bool(false, "numbers may begin with 0"),
  },
  generate(random, config) {
    const { texts, sum, letters } = drawSum(random, config);
    const digitToLetter: Record<string, string> = {}, letterToDigit: Record<string, number> = {};
    const used = [...new Set([...texts.join(""), ...sum])];
    used.forEach((digit, i) => {
      digitToLetter[digit] = letters[i]!;
      letterToDigit[letters[i]!] = Number(digit);
    });
    const encode = (digits: string) => [...digits].map((digit) => digitToLetter[digit]).join("");
    const words = texts.map(encode), result = encode(sum);
    const ordered = Object.entries(letterToDigit).sort(([a], [b]) => a < b ? -1 : 1);
    return {
      question:
        "In this addition every letter stands for a digit, different letters for different " +
        `digits:\n\n${column(words, result)}\n\n` +
        (config.allow_leading_zero ? "A number may begin with 0. " : "No number begins with 0. ") +
        "Which digit does each letter stand for? Answer with every letter and its digit, with = " +
        "between the two and commas between the pairs (such as: A=1,B=2,C=3).",
      answer: ordered.map(([letter, digit]) => `${letter}=${digit}`).join(","),
      metadata: {
        allow_leading_zero: config.allow_leading_zero,
        letters: Object.keys(letterToDigit),
        word_values: texts.map(Number),
        sum_number: Number(sum),
        words_letters: words,
        result_letters: result,
        digit_to_letter: digitToLetter,
        letter_to_digit: letterToDigit,
      },
    };
  },
  score(answer, entry) {
    if (isOverlong(answer, entry)) return 0;
    const mapping = new Map<string, number>();
    for (const pair of answer.split(",")) {
      const parts = pair.split("=");
      const digit = parts.length === 2 ? parseInteger(parts[1]!) : null;
      if (digit === null) return 0;
      mapping.set(strip(parts[0]!), Number(digit));
    }
    return isSolution(mapping, entry.metadata ?? {}) ? 1 : 0.01;
  },
});

/** Draws numbers with leading zeros, their sum, and a letter for each digit that can occur. */
function drawSum(
  random: RandomStream,
  config: { min_words: number; max_words: number; allow_leading_zero: boolean },
): { texts: string[]; sum: string; letters: string[] } {
  const texts: string[] = [];
  let sum = 0;
  for (let left = random.int(config.min_words, config.max_words); left > 0; left--) {
    const digits = random.int(MIN_DIGITS, MAX_DIGITS);
    const smallest = config.allow_leading_zero ? 0 : 10 ** (digits - 1);
    const value = random.int(smallest, 10 ** digits - 1);
    sum += value;
    texts.push(String(value).padStart(digits, "0"));
  }
  return { texts, sum: String(sum), letters: random.sample(ALPHABET, 10) };
}

function column(words: readonly string[], result: string): string {
  const width = Math.max(result.length, ...words.map((word) => word.length)) + 2;
  const lines = words.map((word, i) =>
    (i === words.length - 1 ? "+ " : "").padEnd(width - word.length) + word
  );
  return [...lines, "-".repeat(width), result.padStart(width)].join("\n");
}

function isSolution(mapping: Map<string, number>, metadata: Record<string, unknown>): boolean {
  const words = metadata["words_letters"], result = metadata["result_letters"];
  if (!Array.isArray(words) || typeof result !== "string") return false;
  const texts = [...words.map(String), result];
  const letters = new Set(texts.join(""));
  if (mapping.size !== letters.size || new Set(mapping.values()).size !== mapping.size) {
    return false;
  }
  for (const letter of letters) {
    const digit = mapping.get(letter);
    if (digit === undefined || digit < 0 || digit > 9) return false;
  }
  const leadingZero = metadata["allow_leading_zero"] === true;
  if (!leadingZero && texts.some((text) => mapping.get(text[0]!) === 0)) return false;
  const values = texts.map((text) => [...text].reduce((n, c) => 10 * n + mapping.get(c)!, 0));
  const sum = values.pop();
  return values.reduce((a, b) => a + b, 0) === sum;
}

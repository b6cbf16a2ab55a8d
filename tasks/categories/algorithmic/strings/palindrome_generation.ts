/** Arrange shuffled letters as a palindrome. */
import { counts, defineTask, type RandomStream } from "../../../define.ts";
import { strip } from "../../../python/text.ts";

export default defineTask({
  description: "Make a palindrome from given letters.",
  scoring:
    "Case and space around the answer ignored: 1 for a palindrome of exactly these letters, 0.05 " +
    "for another palindrome, else 0.02.",
  defaultSize: 50,
  params: { length: counts([3, 10], "letters", { min: 1, spans: [10, 50, 100, 500] }) },
  generate(random, config) {
    const length = random.int(config.min_length, config.max_length);
    const palindrome = randomPalindrome(random, length);
    const letters = random.shuffle([...palindrome]);
    return {
      question:
        "A palindrome reads the same forward and backward. Arrange these letters, each used " +
        `exactly once, to form a palindrome: ${letters.join(", ")}\n` +
        "Any arrangement that is a palindrome is right; it need not be a word. Answer with the " +
        "letters written together, without spaces or commas.",
      answer: palindrome,
      metadata: { letters, generated_palindrome: palindrome, length },
    };
  },
  score(answer, entry) {
    const given = [...strip(answer).toLowerCase()];
    if (!isPalindrome(given)) return 0.02;
    const listed = entry.metadata?.["letters"];
    const letters = Array.isArray(listed) ? listed : [...entry.answer ?? ""];
    if (letters.length !== given.length) return 0.05;
    const expected = letters.toSorted();
    return given.sort().every((letter, i) => letter === expected[i]) ? 1 : 0.05;
  },
});

/** Lowercase letters whose second half mirrors the first. */
export function randomPalindrome(random: RandomStream, length: number): string {
  const letters: string[] = new Array(length);
  for (let i = 0; 2 * i < length; i++) {
    letters[i] = letters[length - 1 - i] = String.fromCharCode(97 + random.below(26));
  }
  return letters.join("");
}

function isPalindrome(letters: readonly string[]): boolean {
  for (let i = 0, j = letters.length - 1; i < j; i++, j--) {
    if (letters[i] !== letters[j]) return false;
  }
  return true;
}

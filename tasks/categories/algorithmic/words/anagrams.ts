/**
 * Groups of words with the same letters, from the word list (`tasks/text/words.ts`). They are
 * computed when first needed: each letter has a fixed large number, and anagrams have equal sums.
 */
import { RandomStream } from "../../../../core/philox.ts";
import { MAX_WORD_LENGTH, MIN_WORD_LENGTH, wordsOfLength } from "../../../text/words.ts";

let groups: (readonly string[])[] | undefined;

/**
 * All groups of at least two words, shorter words first; words and groups in alphabetical order.
 */
export function anagramGroups(): readonly (readonly string[])[] {
  return groups ??= findGroups();
}

/**
 * Random numbers below 2^49, so that the sum over a word is exact. Different letters practically
 * never have equal sums.
 */
function letterNumbers(): Float64Array {
  const random = RandomStream.forPurpose(1, "task", "letters of anagrams");
  return Float64Array.from({ length: 26 }, () => random.below(2 ** 49));
}

function findGroups(): string[][] {
  const numbers = letterNumbers();
  const found: string[][] = [];
  for (let length = MIN_WORD_LENGTH; length <= MAX_WORD_LENGTH; length++) {
    const bySum = new Map<number, string | string[]>();
    for (const word of wordsOfLength(length)) {
      let sum = 0;
      for (let i = 0; i < word.length; i++) sum += numbers[word.charCodeAt(i) - 97]!;
      const known = bySum.get(sum);
      if (known === undefined) bySum.set(sum, word);
      else if (typeof known === "string") bySum.set(sum, [known, word]);
      else known.push(word);
    }
    for (const group of bySum.values()) if (typeof group !== "string") found.push(group);
  }
  return found;
}

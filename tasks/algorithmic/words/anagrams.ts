/**
 * Groups of words with the same letters, out of the word list (../words.ts). They are found when they
 * are first needed: every letter has a fixed large number, and the sums of anagrams are equal.
 */
import { RandomStream } from "../../../core/philox.ts";
import { LONGEST_WORD, SHORTEST_WORD, wordsOfLength } from "../../text/words.ts";

let groups: (readonly string[])[] | undefined;

/** All groups of two and more words, shorter words first; words and groups in alphabetical order. */
export function anagramGroups(): readonly (readonly string[])[] {
  return groups ??= findGroups();
}

/** Numbers below 2^49, so that sums of all letters stay exact; equal sums of other letters are as good as impossible. */
function letterNumbers(): Float64Array {
  const random = RandomStream.forPurpose(1, "task", "letters of anagrams");
  return Float64Array.from({ length: 26 }, () => random.below(2 ** 49));
}

function findGroups(): string[][] {
  const numbers = letterNumbers();
  const found: string[][] = [];
  for (let length = SHORTEST_WORD; length <= LONGEST_WORD; length++) {
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

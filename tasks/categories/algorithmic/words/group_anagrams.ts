/** Sort words into groups of anagrams. */
import { counts, defineTask, isOverlong, RandomStream } from "../../../define.ts";
import { parseJson } from "../../../python/literals.ts";
import { MAX_WORD_LENGTH, MIN_WORD_LENGTH, wordsOfLength } from "../../../text/words.ts";
import { once } from "../../../once.ts";

export default defineTask({
  description: "Group words that are anagrams of each other.",
  scoring:
    "1 for a JSON list of exactly the right groups, in any order; 0.01 for another JSON list of " +
    "lists; else 0.",
  params: {
    anagram_groups: counts([2, 10], "groups", { min: 2, spans: [5, 10, 50, 100] }),
    words_per_group: counts([2, 5], "words of a group", { min: 2, levels: [2, 5, 10] }),
  },
  validate({ max_anagram_groups: maximum }) {
    // Finding the groups takes a moment, so it is skipped if there are certainly enough.
    if (maximum <= 1000) return [];
    const available = anagramGroups().length;
    return maximum <= available ? [] : [
      `max_anagram_groups: the built-in list has ${available} groups, found ` +
      `max_anagram_groups = ${maximum}`,
    ];
  },
  generate(random, config) {
    const all = anagramGroups();
    const count = random.int(config.min_anagram_groups, config.max_anagram_groups);
    const chosen = new Set<number>();
    while (chosen.size < count) chosen.add(random.below(all.length));
    const groups = [...chosen].map((at) => {
      const group = all[at]!;
      const size = random.int(config.min_words_per_group, config.max_words_per_group);
      return random.sample(group, Math.min(group.length, size));
    });
    const words = groups.flat();
    const solution = groups.map((group) => group.toSorted())
      .sort(([a], [b]) => a! < b! ? -1 : 1);
    return {
      question:
        "Two words are anagrams of each other when they consist of the same letters, each as " +
        "often, in another order. Put these words into groups of anagrams:\n" +
        `${list(words)}\nAnswer with a JSON list that has one list of words for each group; the ` +
        'order of groups and words is free (such as: [["eat", "tea"], ["nat", "tan"]]).',
      answer: `[${solution.map(list).join(", ")}]`,
      metadata: { words, solution, anagram_groups: count },
    };
  },
  score(answer, entry) {
    const given = isOverlong(answer, entry) ? null : groupsOf(parseJson(answer));
    if (given === null) return 0;
    const solution = groupsOf(entry.metadata?.["solution"] ?? parseJson(entry.answer ?? ""));
    return solution !== null && sameGroups(given, solution) ? 1 : 0.01;
  },
});

function list(words: readonly string[]): string {
  return `["${words.join('", "')}"]`;
}

/**
 * Reads lists of texts, numbers or lists; a text is the list of its characters. Null for anything
 * else.
 */
function groupsOf(value: unknown): unknown[][] | null {
  if (!Array.isArray(value)) return null;
  const groups: unknown[][] = [];
  for (const group of value) {
    const words: unknown = typeof group === "string" ? [...group] : group;
    if (!Array.isArray(words)) return null;
    const kind = (word: unknown) => Array.isArray(word) ? "list" : typeof word;
    const sameKind = words.every((word) => kind(word) === kind(words[0]));
    if (!sameKind || !["string", "number", "list", "undefined"].includes(kind(words[0]))) {
      return null;
    }
    groups.push(words);
  }
  return groups;
}

/** Whether the groups are equal in any order. Lists of different sizes are not compared further. */
function sameGroups(a: readonly unknown[][], b: readonly unknown[][]): boolean {
  const size = (groups: readonly unknown[][]) => groups.reduce((n, group) => n + group.length, 0);
  return a.length === b.length && size(a) === size(b) && canonical(a) === canonical(b);
}

function canonical(groups: readonly unknown[][]): string {
  return groups.map((group) => JSON.stringify(group.toSorted())).sort().join();
}

/**
 * Groups of words with the same letters, from the word list (`tasks/text/words.ts`). They are
 * computed when first needed: each letter has a fixed large number, and anagrams have equal sums.
 */

/**
 * All groups of at least two words, shorter words first; words and groups in alphabetical order.
 */
export const anagramGroups = once(findGroups);

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

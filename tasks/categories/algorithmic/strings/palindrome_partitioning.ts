/**
 * All partitions of a string into palindromes. Their number grows exponentially with the
 * palindromes in the string. Strings with more than {@link MAX_PARTITIONS} partitions are drawn
 * again.
 */
import { RgxError } from "../../../../core/errors.ts";
import { counts, defineTask, type RandomStream } from "../../../define.ts";
import { parseJson } from "../../../python/literals.ts";
import { randomPalindrome } from "./palindrome_generation.ts";

const MAX_PARTITIONS = 20_000;
const MAX_DRAWS = 100;

export default defineTask({
  description: "List all ways to cut a string into palindromes.",
  scoring:
    "1 for a JSON list that has exactly the right partitions, in any order and however often; " +
    "else 0.",
  params: {
    string_len: counts([5, 15], "letters of the string", { min: 1, spans: [1, 5, 10, 15] }),
    substring_palindrome_len: counts([1, 5], "letters of a palindrome put into it", {
      min: 1,
      spans: [1, 3, 5, 7],
    }),
  },
  rules: {
    "max_substring_palindrome_len: must be ≤ max_string_len": (c) =>
      c.max_substring_palindrome_len <= c.max_string_len,
  },
  generate(random, config) {
    const {
      min_string_len,
      max_string_len,
      min_substring_palindrome_len: shortest,
      max_substring_palindrome_len: longest,
    } = config;
    const { string, ends } = drawString(random, min_string_len, max_string_len, shortest, longest);
    const solution = partitions(string, ends);
    return {
      question:
        "Cut this string into consecutive pieces such that every piece is a palindrome (it reads " +
        `the same forward and backward; a single letter is one): ${string}\n` +
        "Find all ways to do this. Answer with a JSON list that has one list for each way, with " +
        'its pieces in order; the order of the ways is free. For xyyx it would be [["x", "y", ' +
        '"y", "x"], ["x", "yy", "x"], ["xyyx"]].',
      answer: jsonText(solution),
      metadata: { string, solution, string_len: string.length },
    };
  },
  score(answer, entry) {
    const solution = entry.metadata?.["solution"] ?? parseJson(entry.answer ?? "");
    const given = parseJson(answer);
    if (!Array.isArray(solution) || !Array.isArray(given)) return 0;
    const expected = new Set(solution.map(keyOf)), found = new Set<string>();
    for (const pieces of given) {
      const key = keyOf(pieces);
      if (key === null || !expected.has(key)) return 0;
      found.add(key);
    }
    return found.size === expected.size ? 1 : 0;
  },
});

/**
 * Draws a string made of palindromes. For each position it also returns the ends of the palindromes
 * that begin there.
 */
function drawString(
  random: RandomStream,
  minLength: number,
  maxLength: number,
  shortest: number,
  longest: number,
): { string: string; ends: number[][] } {
  for (let draw = 0; draw < MAX_DRAWS; draw++) {
    const length = random.int(minLength, maxLength);
    let string = "";
    while (string.length < length) {
      const wanted = random.int(shortest, longest);
      string += randomPalindrome(random, Math.min(wanted, length - string.length));
    }
    const ends = palindromeEnds(string);
    if (countPartitions(ends) <= MAX_PARTITIONS) return { string, ends };
  }
  throw new RgxError(
    `palindrome_partitioning: none of ${MAX_DRAWS} strings of up to ${maxLength} letters has at ` +
      `most ${MAX_PARTITIONS} partitions`,
    { advice: "lower max_string_len or max_substring_palindrome_len" },
  );
}

/**
 * For each start, the ends (exclusive, ascending) of its palindromes, found by expanding every
 * centre.
 */
function palindromeEnds(string: string): number[][] {
  const ends: number[][] = Array.from({ length: string.length }, () => []);
  for (let centre = 0; centre < 2 * string.length - 1; centre++) {
    let start = centre >> 1, end = (centre + 1) >> 1;
    for (; start >= 0 && end < string.length && string[start] === string[end]; start--, end++) {
      ends[start]!.push(end + 1);
    }
  }
  return ends;
}

function countPartitions(ends: readonly (readonly number[])[]): number {
  const counts = new Float64Array(ends.length + 1);
  counts[ends.length] = 1;
  for (let start = ends.length - 1; start >= 0; start--) {
    for (const end of ends[start]!) counts[start]! += counts[end]!;
  }
  return counts[0]!;
}

/** Lists the partitions; shorter first pieces come first. */
function partitions(string: string, ends: readonly (readonly number[])[]): string[][] {
  const all: string[][] = [], pieces: string[] = [];
  const extend = (start: number) => {
    if (start === string.length) all.push(pieces.slice());
    else {
      for (const end of ends[start]!) {
        pieces.push(string.slice(start, end));
        extend(end);
        pieces.pop();
      }
    }
  };
  extend(0);
  return all;
}

/** Formats lists like Python's `json.dumps`. */
function jsonText(lists: readonly (readonly string[])[]): string {
  return `[${lists.map((pieces) => `["${pieces.join('", "')}"]`).join(", ")}]`;
}

/**
 * A list of strings as one text; a string counts as the list of its letters. Null for anything
 * else.
 */
function keyOf(pieces: unknown): string | null {
  if (typeof pieces === "string") return JSON.stringify([...pieces]);
  const strings = Array.isArray(pieces) && pieces.every((piece) => typeof piece === "string");
  return strings ? JSON.stringify(pieces) : null;
}

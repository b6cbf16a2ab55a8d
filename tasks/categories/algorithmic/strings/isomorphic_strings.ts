/** Whether a one-to-one replacement of letters turns one string into another. */
import { counts, defineTask, exactScore, float } from "../../../define.ts";

const LETTERS = "abcdefghijklmnopqrstuvwxyz";

export default defineTask({
  description: "Tell whether two strings are isomorphic.",
  ...exactScore("the right word"),
  params: {
    string_length: counts([2, 10], "letters of a string", { min: 2, levels: [10, 50, 100, 1000] }),
    p_solvable: float(0.5, "share of isomorphic pairs", { min: 0, max: 1 }),
  },
  generate(random, config) {
    const length = random.int(config.min_string_length, config.max_string_length);
    const solvable = random.chance(config.p_solvable);
    const map = random.shuffle(Array.from({ length: 26 }, (_, letter) => letter));
    const first = Array.from({ length }, () => random.below(26));
    const second = first.map((letter) => map[letter]!);
    if (!solvable) {
      const at = random.below(length), letter = first[at]!;
      if (first.indexOf(letter) !== at || first.lastIndexOf(letter) !== at) {
        // A letter that occurs again gets two different partners.
        second[at] = (second[at]! + 1 + random.below(25)) % 26;
      } else {
        // A letter that occurs only once gets the partner of another one.
        second[at] = second[(at + 1 + random.below(length - 1)) % length]!;
      }
    }
    const words = [text(first), text(second)];
    return {
      question: "Two strings of equal length are isomorphic when the letters of the first can be " +
        "replaced so that the second results: every occurrence of a letter by the same letter, " +
        "and different letters by different ones (a letter may stay as it is). Are these strings " +
        `isomorphic?\n${words[0]}\n${words[1]}\n` + "Answer with True or False.",
      answer: solvable ? "True" : "False",
      metadata: { words, solution: solvable, solvable, string_length: length },
    };
  },
});

function text(letters: readonly number[]): string {
  return letters.map((letter) => LETTERS[letter]).join("");
}

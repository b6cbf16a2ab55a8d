/** Insert letters behind five patterns while reading a string of A–E from the left. */
import { counts, defineTask } from "../../../define.ts";
import { listItems } from "../list_answer.ts";

/** Maps each pattern to the letter that is inserted behind it. */
const INSERTED: Readonly<Record<string, string>> = {
  ABCD: "A",
  BCDE: "B",
  CDEA: "C",
  DEAB: "D",
  EABC: "E",
};

export default defineTask({
  description: "Insert letters into a string behind given patterns.",
  scoring: "1 when equal; 0.1 for a Python list of the right letters; else 0.",
  params: {
    string_length: counts([5, 20], "letters of the string", { min: 5, spans: [10, 50, 100, 500] }),
  },
  generate(random, config) {
    const length = random.int(config.min_string_length, config.max_string_length);
    let string = "";
    for (let i = 0; i < length; i++) string += "ABCDE"[random.below(5)]!;
    const solution = insert(string);
    const rules = Object.entries(INSERTED).map(([pattern, letter]) =>
      `- behind ${pattern} insert ${letter}`
    );
    return {
      question: `Read this string from left to right and insert letters: ${string}\n` +
        "Whenever four consecutive letters match a pattern, insert a letter directly behind " +
        `them:\n${rules.join("\n")}\nAfter an insertion go on with the first letter of the given ` +
        "string behind the pattern: neither the four letters nor the inserted one can be part of " +
        "a later match. Answer with the resulting string.",
      answer: solution,
      metadata: { string, solution, string_length: length },
    };
  },
  score(answer, entry) {
    const oracle = entry.answer ?? "";
    if (answer === oracle) return 1;
    const items = listItems(answer, oracle);
    const strings = items !== null && items.every((item) => typeof item === "string");
    return strings && items.join("") === oracle ? 0.1 : 0;
  },
});

function insert(string: string): string {
  let result = "";
  for (let at = 0; at < string.length;) {
    const pattern = string.slice(at, at + 4), letter = INSERTED[pattern];
    if (letter === undefined) result += string[at++]!;
    else {
      result += pattern + letter;
      at += 4;
    }
  }
  return result;
}

import assert from "node:assert/strict";
import { createDataset } from "../../dataset.ts";
import { entriesOf } from "../../testing.ts";
import { fontNames } from "./figlet_font.ts";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** The lines of the drawing in a question. */
function drawing(question: string): string[] {
  return question.slice(question.indexOf("\n\n") + 2, question.lastIndexOf("\n\n")).split("\n");
}

/** The columns of a part of a drawing as texts. Lines are padded to the longest one. */
function columns(part: readonly string[]): string[] {
  const width = Math.max(...part.map((line) => line.length));
  return Array.from({ length: width }, (_, x) => part.map((line) => line[x] ?? " ").join(""));
}

/**
 * The words that a row of letters can show. The columns of each letter follow those of the one
 * before.
 */
function readLetters(part: readonly string[], alphabet: ReadonlyMap<string, string[]>): string[] {
  const all = columns(part), blank = " ".repeat(part.length);
  const at = (x: number) => all[x] ?? blank;
  const readings: { text: string; x: number }[] = [{ text: "", x: 0 }], found: string[] = [];
  while (readings.length > 0) {
    const { text, x } = readings.pop()!;
    if (x >= all.length) {
      found.push(text);
      continue;
    }
    for (const [letter, shape] of alphabet) {
      if (!shape.every((column, i) => column === at(x + i))) continue;
      // The question trims blank columns at the right end of a letter, so its width is unknown.
      for (let gap = 0; gap <= 12; gap++) {
        const next = x + shape.length + gap;
        if (gap > 0 && at(next - 1) !== blank) break;
        readings.push({ text: text + letter, x: next });
        if (next >= all.length) break;
      }
    }
  }
  return found;
}

Deno.test("drawn words can be read with the letters of their font", () => {
  let words = 0, unique = 0;
  const names = fontNames().filter((_, i) => i % 9 === 4);
  for (const font of names) {
    const draw = (options: Record<string, unknown>) =>
      createDataset("figlet_font", { seed: 8, size: 9, static_font: font, ...options });
    const alphabet = new Map([...LETTERS].map((letter) => {
      const [entry] = [...draw({ static_word: letter, size: 1 })];
      return [letter, columns(drawing(entry!.question))];
    }));
    const height = alphabet.get("A")![0]!.length;
    for (const entry of draw({ max_word_len: 5 })) {
      const lines = drawing(entry.question);
      assert.equal(entry.metadata["font"], font);
      assert.equal(lines.length % height, 0, font);
      let texts = [""];
      for (let top = 0; top < lines.length; top += height) {
        const read = readLetters(lines.slice(top, top + height), alphabet);
        texts = texts.flatMap((start) => [...new Set(read)].map((rest) => start + rest));
      }
      assert.ok(texts.includes(entry.answer!), `${font}: ${texts} for ${entry.answer}`);
      words++;
      unique += texts.length === 1 ? 1 : 0;
    }
  }
  assert.ok(words >= 200 && unique > 0.9 * words, `${unique} of ${words}`);
});

Deno.test("words have the given lengths, even beyond the longest in the list", () => {
  const lengths = (min_word_len: number, max_word_len: number) => {
    const options = { seed: 1, size: 300, min_word_len, max_word_len };
    return [...createDataset("figlet_font", options)].map(({ answer }) => {
      assert.match(answer!, /^[A-Z]+$/);
      return answer!.length;
    });
  };
  for (const [min, max] of [[3, 3], [1, 4], [7, 11], [10, 15], [20, 30], [12, 12]] as const) {
    const found = lengths(min, max);
    assert.equal(Math.min(...found), Math.max(3, min));
    assert.equal(Math.max(...found), max);
  }
});

Deno.test("exactly one statement of a haystack answers the question", () => {
  const options = [
    { seed: 1, size: 150 },
    { seed: 2, size: 60, min_num_statements: 1, max_num_statements: 3 },
    { seed: 3, size: 20, min_num_statements: 1000, max_num_statements: 1000 },
  ];
  for (const entry of entriesOf("needle_haystack", options)) {
    const at = entry.question.lastIndexOf("\n");
    const asked = entry.question.slice(at + 1);
    assert.equal(asked, entry.metadata["question"]);
    const predicate = /^Who (.+)\? Answer with the name only\.$/.exec(asked)![1]!;
    const statements = entry.question.slice(0, at).split(/(?<=\.) /);
    assert.equal(statements.length, entry.metadata["num_statements"]);
    assert.equal(new Set(statements).size, statements.length);
    const names = statements.filter((statement) => statement.endsWith(` ${predicate}.`))
      .map((statement) => statement.slice(0, statement.indexOf(" ")));
    assert.deepEqual(names, [entry.answer]);
  }
});

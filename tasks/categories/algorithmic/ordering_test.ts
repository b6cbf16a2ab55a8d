/** Tests of the tasks that sort numbers, words and sentences. */
import assert from "node:assert/strict";
import { validateTaskConfig } from "../../registry.ts";
import { entriesOf } from "../../testing.ts";
import { makeSentence, storySentences } from "../../text/sentences.ts";
import { RandomStream } from "../../../core/philox.ts";

/** The list after the first colon of a question, and whether ascending order is asked for. */
function listIn(question: string): { items: string[]; ascending: boolean } {
  const [, direction, list] = /^Sort these \w+ in (\w+) order: (.*)$/m.exec(question)!;
  return { items: list!.split(", "), ascending: direction === "ascending" };
}

/** Checks that `sorted` has exactly the given items and no neighbours in the wrong order. */
function checkOrder<T>(
  sorted: T[],
  given: T[],
  ascending: boolean,
  below: (a: T, b: T) => boolean,
): void {
  assert.deepEqual(sorted.map(String).sort(), given.map(String).sort());
  for (let i = 1; i < sorted.length; i++) {
    const [low, high] = ascending ? [sorted[i - 1]!, sorted[i]!] : [sorted[i]!, sorted[i - 1]!];
    assert.ok(!below(high, low), `${low} and ${high}`);
  }
}

Deno.test("number_sorting: the question's numbers, without a wrong neighbouring pair", () => {
  const entries = entriesOf("number_sorting", [
    { size: 150 },
    { size: 60, min_value: -0.0005, max_value: 0.0005, min_decimals: 1, max_decimals: 7 },
    { size: 30, min_numbers: 200, max_numbers: 300, max_value: 1e6, max_decimals: 0 },
  ]);
  for (const { question, answer } of entries) {
    const { items, ascending } = listIn(question);
    const sorted = JSON.parse(answer!.replaceAll("'", '"')) as string[];
    checkOrder(sorted, items, ascending, (a, b) => Number(a) < Number(b));
    assert.ok(items.every((text) => /^-?\d+(\.\d+|(\.\d+)?e-\d\d)$/.test(text)), question);
    assert.ok(!items.includes("-0.0"), question);
  }
});

Deno.test("word_sorting: words compared code point by code point", () => {
  const below = (a: string, b: string) => {
    for (let i = 0; i < Math.min(a.length, b.length); i++) {
      if (a.codePointAt(i) !== b.codePointAt(i)) return a.codePointAt(i)! < b.codePointAt(i)!;
    }
    return a.length < b.length;
  };
  const settings = ["original", "lowercase", "uppercase", "randomcase"].map((transformation) => ({
    size: 60,
    transformation,
  }));
  const entries = entriesOf("word_sorting", [
    ...settings,
    { size: 20, min_words: 90, max_words: 100, min_word_length: 10, max_word_length: 15 },
  ]);
  for (const { question, answer, metadata } of entries) {
    const { items, ascending } = listIn(question);
    checkOrder(answer!.split(", "), items, ascending, below);
    assert.deepEqual(metadata["transformed_words"], items);
    const original = metadata["original_words"] as string[];
    assert.equal(new Set(original).size, items.length);
    assert.deepEqual(
      original.map((word) => word.toLowerCase()),
      items.map((word) => word.toLowerCase()),
    );
    assert.equal(metadata["word_length"], Math.max(...items.map((word) => word.length)));
  }
  const cased = entriesOf("word_sorting", settings).map((entry) => listIn(entry.question).items);
  const has = (from: number, pattern: RegExp) =>
    cased.slice(from, from + 60).flat().some((word) => pattern.test(word));
  assert.ok(has(0, /^[A-Z][a-z]+$/) && has(0, /^[a-z]+$/) && !has(0, /[a-z][A-Z]/));
  assert.ok(!has(60, /[A-Z]/) && !has(120, /[a-z]/) && has(180, /[a-z][A-Z]/));
});

Deno.test("word_sequence_reversal: the question's list, read from its end", () => {
  const entries = entriesOf("word_sequence_reversal", [
    { size: 150 },
    { size: 50, min_words: 1, max_words: 2 },
    { size: 20, min_words: 90, max_words: 100 },
  ]);
  for (const { question, answer } of entries) {
    let words = /first: (.*)$/m.exec(question)![1]!, back = "";
    for (let comma = words.lastIndexOf(", "); comma >= 0; comma = words.lastIndexOf(", ")) {
      back += words.slice(comma + 2) + ", ";
      words = words.slice(0, comma);
    }
    assert.equal(back + words, answer);
  }
  assert.match(
    validateTaskConfig("word_sequence_reversal", { max_words: 10_000 }).join(),
    /^max_words: the built-in text has \d+ words, found max_words = 10000$/,
  );
});

Deno.test("sentence_reordering: the question has the sentence's words, in another order", () => {
  const entries = entriesOf("sentence_reordering", [
    { size: 200 },
    { size: 40, min_words_in_sentence: 1, max_words_in_sentence: 4 },
    { size: 30, min_words_in_sentence: 50, max_words_in_sentence: 100 },
  ]);
  let fromStory = 0;
  for (const { question, answer, metadata } of entries) {
    const mixed = /mixed up: (.*)$/m.exec(question)![1]!.split(" ");
    const ordered = answer!.split(" ");
    assert.deepEqual(mixed.toSorted(), ordered.toSorted());
    assert.equal(ordered.length, metadata["word_count"]);
    assert.equal(answer!.match(/\b\w+\b/g)!.length, ordered.length);
    assert.match(answer!, /^[A-Z][a-zA-Z, ]*\.$/);
    if (new Set(ordered).size > 1) assert.notDeepEqual(mixed, ordered);
    if (storySentences().get(ordered.length)?.includes(answer!)) fromStory++;
  }
  assert.ok(fromStory > 50);
});

Deno.test("sentences have exactly the given number of words and rarely repeat", () => {
  const random = new RandomStream(3, 1, 2, 3);
  for (let count = 1; count <= 120; count++) {
    for (let i = 0; i < 8; i++) {
      const sentence = makeSentence(random, count);
      assert.equal(sentence.split(" ").length, count, sentence);
      assert.match(sentence, /^[A-Z][a-z]*( [A-Za-z]+,?)*\.$/);
    }
  }
  const many = Array.from({ length: 1000 }, () => makeSentence(random, 8));
  assert.ok(new Set(many).size > 990);
  const total = [...storySentences().values()].reduce((sum, list) => sum + list.length, 0);
  assert.ok(total > 100);
});

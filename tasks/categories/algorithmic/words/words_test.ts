import assert from "node:assert/strict";
import { createDataset } from "../../../dataset.ts";
import { story, storyWords } from "../../../text/story.ts";
import {
  decodeWords,
  MAX_WORD_LENGTH,
  MIN_WORD_LENGTH,
  wordAt,
  wordCount,
  wordsOfLength,
} from "../../../text/words.ts";

Deno.test("the word list is sorted, complete in length and lowercase", () => {
  let total = 0;
  for (let n = MIN_WORD_LENGTH; n <= MAX_WORD_LENGTH; n++) {
    const list = wordsOfLength(n);
    assert.ok(list.length > 1000, `${list.length} words of ${n} letters`);
    list.forEach((word, i) => {
      assert.ok(word.length === n && /^[a-z]+$/.test(word), word);
      assert.ok(i === 0 || list[i - 1]! < word, word);
    });
    total += list.length;
  }
  assert.equal(wordCount(1, 99), total);
  assert.ok(["garden", "water", "cat"].every((word) => wordsOfLength(word.length).includes(word)));
  assert.equal(wordAt(wordCount(3, 4), 3), wordsOfLength(5)[0]);
  assert.throws(() => wordAt(total, 3), RangeError);
});

Deno.test("front coding is undone", () => {
  const words = ["abcdefghijk", "abcdefghijl", "abcdefghxyz", "bbbbbbbbbbb"];
  assert.deepEqual(decodeWords("0abcdefghijkAl8xyz0bbbbbbbbbbb", 11), words);
});

Deno.test("words of every wanted length are drawn and spelled backward", () => {
  const options = { seed: 3, size: 300, min_word_len: 4, max_word_len: 6 };
  const lengths = new Set<number>();
  for (const { question, answer, metadata } of createDataset("spell_backward", options)) {
    const word = metadata["word"] as string;
    assert.ok(question.endsWith(word) && wordsOfLength(word.length).includes(word));
    assert.equal([...answer!].reverse().join(""), word);
    assert.equal(metadata["word_len"], word.length);
    lengths.add(word.length);
  }
  assert.deepEqual([...lengths].sort(), [4, 5, 6]);
});

Deno.test("the story consists of plain words in sentences", () => {
  assert.ok(!/[^a-zA-Z .,\n]/.test(story()));
  assert.ok(storyWords().length > 1500);
  assert.ok(new Set(storyWords().map((word) => word.toLowerCase())).size > 500);
});

Deno.test("letters are counted in consecutive words of the story, without regard to case", () => {
  const all = storyWords().join(" ");
  let capitals = 0;
  for (
    const { question, answer, metadata } of createDataset("letter_counting", { seed: 2, size: 300 })
  ) {
    const span = metadata["span"] as string[], letter = metadata["target_letter"] as string;
    const text = span.join(" ");
    assert.ok(all.includes(text) && question.includes(text));
    assert.equal(span.length, metadata["span_length"]);
    const count = [...text].filter((c) => c.toLowerCase() === letter).length;
    assert.equal(String(count), answer);
    assert.ok(count >= 1);
    if (text.includes(letter.toUpperCase())) capitals++;
  }
  assert.ok(capitals > 0);
});

/** Checks caesar_cipher, group_anagrams and letter_jumble from the text of their questions. */
import assert from "node:assert/strict";
import { createDataset, type DatasetOptions } from "../../../dataset.ts";
import { entriesOf } from "../../../testing.ts";
import { storyWords } from "../../../text/story.ts";
import { MAX_WORD_LENGTH, MIN_WORD_LENGTH, wordsOfLength } from "../../../text/words.ts";
import { anagramGroups } from "./group_anagrams.ts";

const letters = (word: string) => [...word].sort().join("");

Deno.test("caesar_cipher: the rotation with the most English words is the right one", () => {
  const english = new Set(["A", "I", "IN", "OF", "TO", "IT", "ON", "AT", "SO", "NO", "HE"]);
  for (let n = MIN_WORD_LENGTH; n <= MAX_WORD_LENGTH; n++) {
    for (const word of wordsOfLength(n)) english.add(word.toUpperCase());
  }
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const variants: DatasetOptions[] = [
    {},
    { min_words: 8, max_words: 8 },
    { min_words: 60, max_words: 70, delimiter: ",", size: 20 },
  ];
  for (const { question, answer, metadata } of entriesOf("caesar_cipher", variants)) {
    const cipher = question.split("\n")[1]!;
    const texts = Array.from(
      { length: 26 },
      (_, shift) =>
        cipher.replace(/[A-Z]/g, (letter) => alphabet.at(alphabet.indexOf(letter) - shift)!),
    );
    const known = texts.map((text) => text.split(" ").filter((word) => english.has(word)).length);
    const shift = known.indexOf(Math.max(...known));
    assert.equal(answer, texts[shift]);
    assert.equal(metadata["rotation"], shift);
    assert.equal(metadata["num_words"], answer!.split(" ").length);
    const { words: [min, max] } = metadata["difficulty"] as { words: [number, number] };
    const count = answer!.split(" ").length;
    assert.ok(count >= min && count <= max && /^[A-Z]+( [A-Z]+)*$/.test(answer!));
  }
});

Deno.test("the anagram groups are all words with the same letters", () => {
  const groups = anagramGroups();
  assert.ok(groups.length > 15_000, `${groups.length} groups`);
  const keys = new Set<string>();
  for (const group of groups) {
    const key = letters(group[0]!);
    assert.ok(group.length >= 2 && group.every((word) => letters(word) === key), key);
    keys.add(key);
  }
  assert.equal(keys.size, groups.length);
});

Deno.test("group_anagrams: the words of the question, grouped by their sorted letters", () => {
  const variants = [{}, { min_anagram_groups: 50, max_anagram_groups: 60 }, {
    min_words_per_group: 4,
    max_words_per_group: 8,
  }];
  for (const { question, answer, metadata } of entriesOf("group_anagrams", variants)) {
    const words = JSON.parse(question.split("\n")[1]!) as string[];
    assert.equal(new Set(words).size, words.length);
    const groups = new Map<string, string[]>();
    for (const word of words.toSorted()) {
      groups.set(letters(word), [...groups.get(letters(word)) ?? [], word]);
    }
    const expected = [...groups.values()];
    assert.deepEqual(JSON.parse(answer!), expected);
    assert.deepEqual(metadata["solution"], expected);
    assert.equal(metadata["anagram_groups"], expected.length);
    assert.ok(expected.every((group) => group.length >= 2));
  }
  assert.throws(
    () => createDataset("group_anagrams", { max_anagram_groups: 1e6 }),
    /max_anagram_groups: the built-in list has \d+ groups/,
  );
});

Deno.test("letter_jumble: words of the story in its order, with their letters swapped", () => {
  const story = ` ${storyWords().join(" ")} `;
  const variants: DatasetOptions[] = [
    { size: 120 },
    { min_word_len: 5, max_word_len: 8, consecutive_words: false },
    { min_corruption_level: 0, max_corruption_level: 0 },
  ];
  let changed = 0, total = 0;
  for (const { question, answer, metadata } of entriesOf("letter_jumble", variants)) {
    const scrambled = question.split("\n")[1]!.split(" "), words = answer!.split(" ");
    assert.deepEqual(scrambled.map(letters), words.map(letters));
    assert.deepEqual([scrambled, words], [metadata["scrambled_words"], metadata["original_words"]]);
    assert.equal(metadata["num_words"], words.length);
    const { word_len: [min, max] } = metadata["difficulty"] as { word_len: [number, number] };
    assert.ok(words.every((word) => word.length >= min && word.length <= max));
    if (max === 64) assert.ok(story.includes(` ${words.join(" ")} `));
    else assert.ok(words.every((word) => story.includes(` ${word} `)));
    scrambled.forEach((word, i) => {
      total++;
      const different = [...word].filter((letter, at) => letter !== words[i]![at]).length;
      if (different > 0) changed++;
      if (metadata["corruption_level"] === 0) assert.ok(different === 0 || different === 2);
    });
  }
  assert.ok(changed > 0.7 * total && changed < total, `${changed} of ${total} words changed`);
});

Deno.test("letter_jumble: lengths missing in the story are replaced by the nearest ones", () => {
  const options = {
    seed: 1,
    size: 5,
    min_word_len: 30,
    max_word_len: 50,
    min_words: 50,
    max_words: 60,
  };
  for (const { answer } of createDataset("letter_jumble", options)) {
    const words = answer!.split(" ");
    assert.ok(words.length >= 50 && words.every((word) => word.length >= 7));
  }
});

/** Tests the word list, the story, and the tasks on words and letters from their questions. */
import assert from "node:assert/strict";
import { createDataset, type DatasetOptions } from "../../../dataset.ts";
import { story, storyWords } from "../../../text/story.ts";
import {
  decodeWords,
  MAX_WORD_LENGTH,
  MIN_WORD_LENGTH,
  wordAt,
  wordCount,
  wordsOfLength,
} from "../../../text/words.ts";
import { validateTaskConfig } from "../../../registry.ts";
import { entriesOf } from "../../../testing.ts";
import { anagramGroups } from "./group_anagrams.ts";
import { readGoldenText } from "../../../../tests/golden.ts";
import { isLadderWord, ladderGraph } from "./word_ladder.ts";

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

function reversed(text: string): string {
  return [...text].reverse().join("");
}

Deno.test("palindrome_generation: the letters of the question, the same in both directions", () => {
  const entries = entriesOf("palindrome_generation", [
    { size: 200 },
    { size: 50, min_length: 1, max_length: 2 },
    { size: 20, min_length: 200, max_length: 300 },
  ]);
  for (const { question, answer } of entries) {
    const letters = /palindrome: ([a-z, ]+)\n/.exec(question)![1]!.split(", ");
    assert.equal(letters.sort().join(""), [...answer!].sort().join(""));
    assert.equal(reversed(answer!), answer);
  }
});

/** Tries every set of cuts between letters. */
function partitionsByMask(string: string): string[] {
  const found: string[] = [];
  for (let mask = 0; mask < 2 ** (string.length - 1); mask++) {
    const pieces = [string[0]!];
    for (let i = 1; i < string.length; i++) {
      if (mask & (1 << (i - 1))) pieces.push(string[i]!);
      else pieces.push(pieces.pop()! + string[i]!);
    }
    if (pieces.every((piece) => piece === reversed(piece))) found.push(JSON.stringify(pieces));
  }
  return found.sort();
}

Deno.test("palindrome_partitioning: all cuts of the string, tried one by one", () => {
  const entries = entriesOf("palindrome_partitioning", [
    { size: 120, max_string_len: 11 },
    {
      size: 60,
      min_string_len: 1,
      max_string_len: 6,
      min_substring_palindrome_len: 2,
      max_substring_palindrome_len: 6,
    },
    { size: 30, min_string_len: 12, max_string_len: 12, max_substring_palindrome_len: 1 },
  ]);
  let many = 0;
  for (const { question, answer, metadata } of entries) {
    const string = /is one\): ([a-z]+)\n/.exec(question)![1]!;
    const lists = JSON.parse(answer!) as string[][];
    assert.deepEqual(lists.map((list) => JSON.stringify(list)).sort(), partitionsByMask(string));
    assert.deepEqual(lists, metadata["solution"]);
    // With the spaces of Python's `json.dumps`.
    assert.equal(answer, JSON.stringify(lists).replaceAll(",", ", "));
    if (lists.length > 10) many++;
  }
  assert.ok(many > 20);
});

Deno.test("palindrome_partitioning: too many partitions are refused", () => {
  const dataset = createDataset("palindrome_partitioning", {
    seed: 1,
    min_string_len: 400,
    max_string_len: 400,
  });
  assert.throws(() => dataset.entry(0), {
    name: "RgxError",
    message: /at most 20000 partitions/,
  });
  assert.match(
    validateTaskConfig("palindrome_partitioning", { max_substring_palindrome_len: 16 }).join(),
    /^max_substring_palindrome_len: must be ≤ max_string_len, found .* = 16 and .* = 15$/,
  );
});

Deno.test("ransom_note: letters are taken out of the magazine one by one", () => {
  const entries = entriesOf("ransom_note", [
    { size: 200 },
    { size: 60, min_note_length: 20, max_note_length: 40, max_magazine_length: 41 },
    { size: 30, p_solvable: 0 },
    { size: 30, p_solvable: 1 },
  ]);
  const count = { True: 0, False: 0 };
  for (const { question, answer, metadata } of entries) {
    let magazine = /^Magazine: ([a-z]+)$/m.exec(question)![1]!;
    assert.equal(magazine.length, metadata["magazine_length"]);
    let possible = true;
    for (const letter of /^Note: ([a-z]+)$/m.exec(question)![1]!) {
      possible &&= magazine.includes(letter);
      magazine = magazine.replace(letter, "");
    }
    assert.equal(answer, possible ? "True" : "False", question);
    assert.equal(metadata["solvable"], possible);
    count[answer as "True" | "False"]++;
  }
  assert.ok(count.True > 100 && count.False > 100);
});

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

function differences(a: string, b: string): number {
  return [...a].filter((letter, i) => letter !== b[i]).length;
}

/**
 * The minimum number of words of a ladder. It grows the set of reached words and compares all
 * pairs.
 */
function fewestWords(words: readonly string[], start: string, end: string): number {
  let outside = words.filter((word) => word !== start), border = [start], count = 1;
  for (; !border.includes(end); count++) {
    const next = outside.filter((word) => border.some((known) => differences(word, known) === 1));
    assert.ok(next.length > 0, `${start} does not lead to ${end}`);
    outside = outside.filter((word) => !next.includes(word));
    border = next;
  }
  return count;
}

Deno.test("word_ladder: ladders between the question's words are shortest", () => {
  const settings = [
    { size: 50, min_word_length: 3, max_word_length: 3 },
    { size: 30, min_word_length: 3, max_word_length: 5 },
    { size: 30 },
  ];
  let compared = 0;
  for (const { question, answer, metadata } of entriesOf("word_ladder", settings)) {
    const [, start, end] = /from ([A-Z]+) to ([A-Z]+):/.exec(question)!;
    const chain = answer!.split(",");
    assert.deepEqual([chain[0], chain.at(-1)], [start, end]);
    assert.ok(chain.length >= 3 && chain.every(isLadderWord), answer!);
    for (let step = 1; step < chain.length; step++) {
      assert.equal(differences(chain[step - 1]!, chain[step]!), 1, answer!);
      assert.equal(chain[step]!.length, start!.length);
    }
    assert.equal(metadata["chain_length"], chain.length);
    if (start!.length === 3) {
      assert.equal(chain.length, fewestWords(ladderGraph(3).words, start!, end!), question);
      compared++;
    }
  }
  assert.ok(compared > 50);
});

Deno.test("word_ladder: limits of the length hold for neighbours too", () => {
  const limits: [number, number, number, number][] = [
    [-1, -1, 3, Infinity],
    [-1, 3, 3, 3],
    [5, 6, 5, 6],
    [9, 9, 9, 9],
  ];
  for (const [min, max, fewest, maximum] of limits) {
    const dataset = createDataset("word_ladder", {
      seed: 5,
      size: 40,
      min_word_length: 3,
      max_word_length: 5,
      min_chain_length: min,
      max_chain_length: max,
    });
    const starts = new Set<unknown>();
    for (const { metadata } of dataset) {
      const length = metadata["chain_length"] as number;
      assert.ok(length >= fewest && length <= maximum, `${length} for ${min} to ${max}`);
      starts.add(metadata["start_word"]);
    }
    assert.ok(starts.size > 25);
  }
  const far = createDataset("word_ladder", { min_chain_length: 90, max_chain_length: 99 });
  assert.throws(() => far.entry(0), { name: "RgxError", message: /ladder of 90 to 99 words/ });
});

Deno.test("word_ladder: the list is the recorded one", () => {
  const listed = readGoldenText("data/words/ladder.csv").split(/\r?\n/).slice(1).join(",").split(
    ",",
  );
  const words = listed.filter((word) => word !== "");
  for (const length of [3, 4, 5]) {
    const wanted = words.filter((word) => word.length === length).sort();
    assert.deepEqual(ladderGraph(length).words, wanted);
  }
  assert.ok(words.length > 8000 && words.every(isLadderWord));
  assert.ok(!isLadderWord("XQZ") && !isLadderWord("CA") && !isLadderWord("cat"));
});

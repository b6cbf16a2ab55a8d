/** Derives the answers of the tasks on letters again from their questions, by other methods. */
import assert from "node:assert/strict";
import { createDataset } from "../../../dataset.ts";
import { validateTaskConfig } from "../../../registry.ts";
import { entriesOf } from "../../../testing.ts";

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

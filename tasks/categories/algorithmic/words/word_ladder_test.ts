import assert from "node:assert/strict";
import { createDataset } from "../../../dataset.ts";
import { entriesOf } from "../../../testing.ts";
import { readGoldenText } from "../../../../tests/golden.ts";
import { isLadderWord, ladderGraph } from "./word_ladder.ts";

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

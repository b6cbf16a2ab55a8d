/** Tests the tasks that sort, and cryptarithm, graph_color and jugs, from their questions. */
import assert from "node:assert/strict";
import { scoreAnswer, validateTaskConfig } from "../../registry.ts";
import { entriesOf } from "../../testing.ts";
import { makeSentence, storySentences } from "../../text/sentences.ts";
import { RandomStream } from "../../../core/philox.ts";
import { createDataset, type DatasetOptions } from "../../dataset.ts";
import { solveJugs } from "./jugs.ts";

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

Deno.test("cryptarithm: the addition of the question holds for the digits of the answer", () => {
  const variants: DatasetOptions[] = [
    {},
    { allow_leading_zero: true },
    { min_words: 20, max_words: 50, size: 40 },
  ];
  let zeros = 0;
  for (const { question, answer, metadata } of entriesOf("cryptarithm", variants)) {
    const lines = question.split("\n\n")[1]!.split("\n");
    assert.ok(/^-+$/.test(lines.at(-2)!) && lines.at(-3)!.startsWith("+ "));
    assert.ok(lines.every((line) => line.length === lines[0]!.length));
    const words = lines.map((line) => line.replace(/[^A-Z]/g, "")).filter((word) => word !== "");
    const digits = new Map(answer!.split(",").map((pair) => pair.split("=") as [string, string]));
    assert.deepEqual([...digits.keys()], [...new Set(words.join(""))].sort());
    assert.equal(new Set(digits.values()).size, digits.size);
    const texts = words.map((word) => [...word].map((letter) => digits.get(letter)).join(""));
    const [sum, ...others] = texts.toReversed().map(BigInt) as [bigint, ...bigint[]];
    assert.equal(others.reduce((a, b) => a + b), sum);
    const leading = texts.some((digits) => digits.startsWith("0"));
    assert.ok(!leading || metadata["allow_leading_zero"] === true);
    assert.equal(
      /No number begins with 0/.test(question),
      metadata["allow_leading_zero"] === false,
    );
    if (leading) zeros++;
  }
  assert.ok(zeros > 5);
});

Deno.test("graph_color: any colouring of the question's graph is right, no other one", () => {
  const variants: DatasetOptions[] = [
    {},
    { min_num_vertices: 1, max_num_vertices: 6, edge_probability: 0.5 },
    { num_colors: 4, max_num_vertices: 14, edge_probability: 0.3 },
  ];
  for (const entry of entriesOf("graph_color", variants)) {
    const [vertices, edges, colors] = ["Vertices", "Edges", "Colours"].map((name) =>
      new RegExp(`^${name}: (.*)$`, "m").exec(entry.question)![1]!.match(/\d+/g)?.map(Number) ?? []
    ) as [number[], number[], number[]];
    const example = entry.metadata["possible_answer"] as Record<string, number>;
    for (let i = 0; i < edges.length; i += 2) {
      assert.notEqual(example[edges[i]!], example[edges[i + 1]!]);
    }
    const score = (coloring: object) => scoreAnswer(JSON.stringify(coloring), entry);
    const colored = (colorOf: (vertex: number) => number | undefined) =>
      Object.fromEntries(vertices.map((vertex) => [vertex, colorOf(vertex)]));
    assert.equal(score(example), 1);
    assert.equal(score(colored((vertex) => colors[colors.length - example[vertex]!])), 1);
    assert.equal(score(colored(() => 1)), edges.length === 0 ? 1 : 0.01);
    assert.equal(score(colored((vertex) => vertex === 0 ? undefined : example[vertex])), 0.01);
  }
  assert.throws(() => createDataset("graph_color", { edge_probability: 1 }), /edge_probability/);
  const impossible = createDataset("graph_color", {
    num_colors: 1,
    edge_probability: 0.9,
    seed: 1,
  });
  assert.throws(() => impossible.entry(0), /none of 10000 random graphs .* num_colors = 1/);
});

/** Returns the amounts after the moves. Throws for an invalid move. */
function pour(capacities: number[], moves: string[]): number[] {
  const amounts = capacities.map(() => 0);
  for (const move of moves) {
    const [verb, names] = move.split(" ") as [string, string];
    const [a, b] = names.split("->").map((name) => "ABCDEFGHIJ".indexOf(name)) as [number, number];
    if (verb === "fill") amounts[a] = capacities[a]!;
    else if (verb === "empty") amounts[a] = 0;
    else {
      assert.equal(verb, "pour");
      while (amounts[a]! > 0 && amounts[b]! < capacities[b]!) {
        amounts[a]!--;
        amounts[b]!++;
      }
    }
  }
  return amounts;
}

/**
 * The minimum number of moves to the target. A breadth-first search over all states with the jugs
 * in their given order.
 */
function distance(capacities: number[], target: number): number {
  const names = capacities.map((_, jug) => String.fromCharCode(65 + jug));
  const moves = names.flatMap((a) => [
    `fill ${a}`,
    `empty ${a}`,
    ...names.filter((b) => b !== a).map((b) => `pour ${a}->${b}`),
  ]);
  const after = (amounts: number[], move: string) => {
    const result = amounts.slice();
    const [verb, a, b] = [
      move[0],
      move.charCodeAt(move.indexOf(" ") + 1) - 65,
      move.charCodeAt(8) - 65,
    ];
    if (verb === "f") result[a] = capacities[a]!;
    else if (verb === "e") result[a] = 0;
    else {
      const both = amounts[a]! + amounts[b]!;
      result[b] = Math.min(both, capacities[b]!);
      result[a] = both - result[b];
    }
    return result;
  };
  const seen = new Set<string>();
  let level = [capacities.map(() => 0)];
  for (let depth = 1;; depth++) {
    const next: number[][] = [];
    for (const amounts of level) {
      for (const move of moves) {
        const result = after(amounts, move), key = result.join();
        if (seen.has(key)) continue;
        seen.add(key);
        next.push(result);
        if (result.includes(target)) return depth;
      }
    }
    assert.ok(next.length > 0, "the target cannot be reached");
    level = next;
  }
}

Deno.test("jugs: the answer solves the puzzle of the question and nothing shorter does", () => {
  const variants: DatasetOptions[] = [
    { difficulty: 4, size: 40 },
    { size: 40 },
    { num_jugs: 4, difficulty: 6, size: 20 },
  ];
  for (const entry of entriesOf("jugs", variants)) {
    const [, sizes, target] = /litres: (.*?)\. There is .* Measure out (\d+) litre/.exec(
      entry.question,
    )!;
    const capacities = sizes!.split(", ").map((text, jug) => {
      assert.equal(text[0], "ABCDEFGHIJ"[jug]);
      return Number(text.slice(2));
    });
    const moves = JSON.parse(entry.answer!) as string[];
    assert.ok(pour(capacities, moves).includes(Number(target)));
    assert.equal(moves.length, distance(capacities, Number(target)));
    const difficulty = entry.metadata["difficulty"] as { difficulty: number };
    assert.ok(moves.length >= difficulty.difficulty);
    assert.deepEqual(entry.metadata["puzzle"], {
      jug_capacities: capacities,
      target: Number(target),
      min_moves: moves.length,
    });
  }
});

Deno.test("jugs: the search ends without a solution and with too many states", () => {
  assert.equal(solveJugs([4, 6, 8], 3, 1000), null);
  assert.equal(solveJugs([22, 23, 23], 11, 10), null);
  assert.equal(solveJugs([22, 23, 23], 11, 1000)!.length, distance([22, 23, 23], 11));
});

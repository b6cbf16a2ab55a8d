/** Tests cryptarithm, graph_color and jugs from the text of their questions. */
import assert from "node:assert/strict";
import { createDataset, type DatasetOptions } from "../../dataset.ts";
import { scoreAnswer } from "../../registry.ts";
import { entriesOf } from "../../testing.ts";
import { solveJugs } from "./jugs.ts";

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

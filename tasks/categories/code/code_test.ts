import assert from "node:assert/strict";
import { RandomStream } from "../../../core/philox.ts";
import { createDataset } from "../../dataset.ts";
import { entriesOf } from "../../testing.ts";
import { readGoldenLines } from "../../../tests/golden.ts";
import { jsonDistance, pythonJson } from "./codeio.ts";
import { SNIPPETS, sourceOf } from "./codeio.ts";

/** Executes command by command, as the question explains it. */
function interpret(program: string): string {
  const partner: number[] = [], open: number[] = [];
  for (let i = 0; i < program.length; i++) {
    if (program[i] === "[") open.push(i);
    if (program[i] === "]") {
      partner[i] = open.pop()!;
      partner[partner[i]!] = i;
    }
  }
  const cells: number[] = [];
  let at = 0, output = "";
  for (let i = 0; i < program.length; i++) {
    const cell = cells[at] ?? 0;
    switch (program[i]) {
      case ">":
        at++;
        break;
      case "<":
        assert.ok(--at >= 0);
        break;
      case "+":
        cells[at] = (cell + 1) % 256;
        break;
      case "-":
        cells[at] = (cell + 255) % 256;
        break;
      case ".":
        output += String.fromCharCode(cell);
        break;
      case "[":
        if (cell === 0) i = partner[i]!;
        break;
      case "]":
        if (cell !== 0) i = partner[i]!;
    }
  }
  return output;
}

/** The output of the program in the language like C. */
function followSource(source: string): string {
  const text = /print\("(.*)"\)/.exec(source)?.[1];
  if (text !== undefined) return text;
  const [target] = /(?<=sum < )\d+/.exec(source)!;
  const added = [...source.matchAll(/sum \+ (\d+)/g)].map(([, amount]) => Number(amount));
  const threshold = Number(/(?<=sum > )\d+/.exec(source)?.[0] ?? -1);
  let sum = 0;
  while (sum < Number(target)) {
    sum += added[0]!;
    if (sum > threshold) sum += added[1]!;
  }
  return String(sum);
}

Deno.test("bf: the question's program prints the answer and does what its source says", () => {
  for (const [difficulty, size] of [[1, 100], [2, 5], [3, 5]]) {
    const answers = new Set<string>();
    for (const entry of createDataset("bf", { difficulty, seed: 5, size: size! })) {
      const program = entry.question.split("\n\n")[1]!;
      assert.match(program, /^[-+<>.[\]]+$/);
      assert.equal(interpret(program), entry.answer);
      assert.equal(followSource(entry.metadata["bfit_code"] as string), entry.answer);
      assert.equal(entry.metadata["bf_program"], program);
      answers.add(entry.answer!);
    }
    assert.ok(answers.size > 0.6 * size!);
  }
});

Deno.test("bf: recorded programs print the recorded answers", () => {
  const rows = readGoldenLines<{ answer: string; metadata: { bf_program: string } }>(
    "reasoning-gym/items/bf.jsonl",
  );
  for (const { answer, metadata } of rows) assert.equal(interpret(metadata.bf_program), answer);
});

/** Runs the function that the question shows. It is our own text, never that of a model. */
function runShown(question: string, input: unknown): unknown {
  const source = question.slice(question.indexOf("\nfunction "), question.indexOf("\n}\n") + 2);
  return new Function("input", `"use strict"; return (${source})(input);`)(input);
}

Deno.test("codeio: the shown function turns the input into the output", () => {
  const configs = [{}, ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((difficulty) => ({ difficulty }))];
  let asked = 0, all = 0;
  for (const entry of entriesOf("codeio", configs, { seed: 5, size: 20 })) {
    const { question, answer } = entry;
    const given = JSON.parse(/for this input\?\n(.*)\n/.exec(question)?.[1] ?? "null");
    const [input, output] = given === null
      ? [JSON.parse(answer!), JSON.parse(/return this output\?\n(.*)\n/.exec(question)![1]!)]
      : [given, JSON.parse(answer!)];
    assert.deepEqual(runShown(question, input), output, question);
    assert.deepEqual(entry.metadata["input_data"], input);
    assert.deepEqual(entry.metadata["output_data"], output);
    asked += given === null ? 0 : 1;
    all++;
  }
  assert.ok(asked > 0.4 * all && asked < 0.6 * all);
  for (const [share, text] of [[0, "For which input"], [1, "Which output"]] as const) {
    const options = { input_prediction_probability: share, seed: 1, size: 20 };
    for (const { question } of createDataset("codeio", options)) assert.ok(question.includes(text));
  }
});

function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  Object.freeze(value);
  Object.values(value).forEach(freeze);
}

Deno.test("codeio: functions do not change their input; an input asked for is unique", () => {
  assert.ok(SNIPPETS.length >= 50);
  for (let level = 1; level <= 10; level++) {
    assert.ok(SNIPPETS.some((snippet) => snippet.level === level && snippet.reversible));
    assert.ok(SNIPPETS.filter((snippet) => snippet.level === level).length >= 4);
  }
  for (const snippet of SNIPPETS) {
    assert.match(sourceOf(snippet), new RegExp(`^function ${snippet.run.name}\\(\\{ [^]*\\}$`));
    const inputs = new Map<string, string>(), outputs = new Set<string>();
    for (let i = 0; i < 200; i++) {
      const input = snippet.draw(RandomStream.forTask(1, "train", snippet.run.name, i));
      freeze(input);
      const output = pythonJson(snippet.run(input as never));
      outputs.add(output);
      assert.doesNotMatch(output, /null|undefined|NaN|\.\d/, snippet.run.name);
      const known = inputs.get(output);
      if (snippet.reversible && known !== undefined) assert.equal(known, pythonJson(input));
      inputs.set(output, pythonJson(input));
    }
    assert.ok(outputs.size >= 30, `${snippet.run.name}: ${outputs.size} outputs`);
  }
});

Deno.test("codeio: the distance of JSON trees", () => {
  const rows: [a: unknown, b: unknown, distance: number][] = [
    [{ a: 1 }, { a: 1 }, 0],
    [{ a: 89 }, { a: 90 }, 2 / 89],
    [{ a: 1 }, { a: 1, bc: 2 }, "bc:2".length],
    [{ a: "x" }, { b: "xyz" }, 3],
    [{ a: true }, { a: false }, 4],
    [[1, 2, 3], [1, 3], 0.5 + "item_2:3".length],
    [{ a: { b: 1 } }, { b: 1 }, "a".length],
    [{ a: [] }, { a: "u" }, "a:u".length - 1],
    [{ k: -5 }, { k: 5 }, 1 + "k:-5".length],
    [{ k: "8" }, { k: 4 }, 1],
    [{ k: "x" }, { k: 12 }, 2 + "k:12".length],
    [{ k: "1.2.3" }, { k: "1.2" }, 2],
    [{ "a:b": 1 }, { "a:b": 2 }, 1],
    // Keys are unordered; the one that differs is compared at its sorted position.
    [{ a: 1, d: 2, c: 3 }, { c: 3, b: 2, a: 1 }, 1.5 + 1.5],
    [{ k: 0 }, { k: 1e-4 }, "0.0001".length],
    [{}, 7, "root:7".length - "root".length],
  ];
  for (const [a, b, distance] of rows) {
    const label = `${pythonJson(a)} ${pythonJson(b)}`;
    assert.ok(Math.abs(jsonDistance(a, b) - distance) < 1e-9, `${label}: ${jsonDistance(a, b)}`);
    assert.ok(Math.abs(jsonDistance(b, a) - distance) < 1e-9, label);
  }
  assert.equal(jsonDistance(new Array(1000).fill(0), new Array(1000).fill(1)), Infinity);
});

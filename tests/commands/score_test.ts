/** `rgx score`: how answers are scored, bad lines, and inputs that are very long or come slowly. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { createDataset } from "../../tasks/dataset.ts";
import { jsonLines, lines, refuses, rgx, spawnRgx, succeeds } from "../support.ts";

Deno.test("score extracts the last answer of a completion with --completions", async () => {
  const entry = {
    question: "1 + 1?",
    answer: "2",
    metadata: { source_dataset: "chain_sum", source_index: 0, difficulty: {} },
  };
  const completion = "<answer>3</answer> no: <answer> 2 </answer>";
  const { out, code } = await rgx(["score", "--completions", "-"], {
    input: JSON.stringify({ entry, completion }) + "\n" +
      JSON.stringify({ entry, completion: "2" }) + "\n",
  });
  assert.equal(code, 0);
  assert.deepEqual(lines(out).map((line) => JSON.parse(line).score), [1, 0]);
});

Deno.test("score knows the problems of data sets like benchmarks do", async () => {
  const line = (source: string, gold: string, answer: unknown) =>
    JSON.stringify({
      entry: { question: "?", answer: gold, metadata: { source_dataset: source } },
      answer,
    });
  const input = [
    line("math500", "10,\\!080", "10080"),
    line("gsm8k", "72", "72 clips"),
    line("gsm8k", "72", 72),
    line("mmlu_pro", "C", "(C)"),
    line("file", "3", "3.0"),
    line("file", "3", null),
  ];
  const { out } = await succeeds(["score", "-"], { input: input.join("\n") + "\n" });
  assert.deepEqual(jsonLines(out), [
    { score: 1 },
    { score: 1 },
    { score: 0, error: "answer: expected a string or null, found 72" },
    { score: 1 },
    { score: 1 },
    { score: 0 },
  ]);
});

Deno.test("score reports a bad line and continues; the exit code is 1 if all lines are bad", async () => {
  const entry = { answer: "2", metadata: { source_dataset: "chain_sum" } };
  const good = JSON.stringify({ entry, answer: "2" });
  const mixed = await succeeds(["score", "-"], { input: `{oops\n${good}\n{"entry":{}}\n` });
  const results = jsonLines(mixed.out);
  assert.equal(results.length, 3);
  assert.match(results[0].error, /JSON/);
  assert.equal(results[1].score, 1);
  assert.match(results[2].error, /source_dataset/);
  const none = await rgx(["score", "-"], { input: "{oops\n" });
  assert.equal(none.code, 1);
  await refuses([[["score", "no/such/file.jsonl"], "no/such/file.jsonl"]]);
});

/**
 * Lines with known scores: right, nearly right, wrong and missing answers, and lines without JSON.
 */
function input(count: number): { text: string; scores: number[] } {
  const data = createDataset("chain_sum", { seed: 8, size: count });
  const texts: string[] = [], scores: number[] = [];
  for (const [i, entry] of [...data].entries()) {
    const answers = [entry.answer, `${entry.answer} `, "no", null];
    if (i % 97 === 0) texts.push(i % 2 === 0 ? "" : "  \r");
    if (i % 5 === 4) texts.push("{not a line");
    else texts.push(JSON.stringify({ entry, answer: answers[i % 5] }) + (i % 3 === 0 ? "\r" : ""));
    scores.push([1, 1, 0, 0, 0][i % 5]!);
  }
  return { text: texts.join("\n"), scores };
}

test.inFolder("several threads score megabytes in order and with the results of one thread", async (folder) => {
  const { text, scores } = input(12_000), path = `${folder}/answers.jsonl`;
  const padded = text.replace("{not a line", "{".repeat(600_000));
  assert.ok(padded.length > 3 << 20);
  await Deno.writeTextFile(path, padded);
  const several = await succeeds(["score", path, "--threads", "3"]);
  assert.deepEqual(jsonLines(several.out).map(({ score }) => score), scores);
  const one = await rgx(["score", "-", "--threads", "1"], { input: padded });
  assert.equal(one.out, several.out);
});

test.inFolder("an input without lines is no failure, and is not passed over in silence", async (folder) => {
  const path = `${folder}/empty`;
  await Deno.writeTextFile(path, "");
  const cases: [args: string[], end: string][] = [
    [[], 'stdin has no lines, expected {"entry": …, "answer": …} in each'],
    [
      ["--completions", path],
      `${path} has no lines, expected {"entry": …, "completion": …} in each`,
    ],
    [
      ["--reward", "correctness"],
      'stdin has no lines, expected {"prompt": …, "answer": …, "completion": …} in each',
    ],
  ];
  for (const [args, end] of cases) {
    const { out, err } = await succeeds(["score", ...args], { input: "\n" });
    assert.deepEqual([out, err.trim()], ["", `nothing was scored: ${end}`]);
  }
});

Deno.test("a line is answered before the next one arrives", async () => {
  const entry = createDataset("chain_sum", { seed: 8 }).entry(0);
  const child = spawnRgx(["score"], { stdin: "piped" });
  const writer = child.stdin.getWriter(), reader = child.stdout.getReader();
  for (const [answer, expected] of [[entry.answer, 1], ["no", 0]] as const) {
    await writer.write(new TextEncoder().encode(JSON.stringify({ entry, answer }) + "\n"));
    const { value } = await reader.read();
    assert.deepEqual(JSON.parse(new TextDecoder().decode(value)), { score: expected });
  }
  await writer.close();
  assert.ok((await reader.read()).done);
  assert.ok((await child.status).success);
  await child.stderr.cancel();
});

test.inFolder("the command and its threads end quietly if their output is closed early", async (folder) => {
  const path = `${folder}/answers.jsonl`;
  await Deno.writeTextFile(path, (input(12_000).text + "\n").repeat(3));
  const child = spawnRgx(["score", path, "--threads", "2"]);
  const reader = child.stdout.getReader();
  await reader.read();
  await reader.cancel();
  const { code } = await child.status;
  assert.equal(await new Response(child.stderr).text(), "");
  assert.ok(code === 0 || code === 141, String(code));
});

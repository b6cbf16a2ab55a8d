import assert from "node:assert/strict";
import { readDataset } from "./dataset_entries.ts";
import { entriesOf } from "./row_entries.ts";
import { UsageError } from "../core/errors.ts";
import type { Split } from "../core/philox.ts";
import { splitProblems } from "./held_out.ts";
import type { ProblemSource } from "./problem_source.ts";
import { openSource, type SourceOptions } from "./open_source.ts";
import { FROM_FILE, withFile } from "./testing.ts";
import { workedAnswer } from "./worked_answer.ts";

const TASK: SourceOptions = {
  task_name: "spell_backward",
  dataset_name: null,
  task_config: { min_word_len: 3, max_word_len: 4 },
  seed: 5,
  num_examples: 64,
};

function fromFile(path: string, num_examples: number | null = 10_000): ProblemSource {
  const entries = readDataset("file", path);
  return openSource({ ...FROM_FILE, dataset_name: path, num_examples, entries });
}

Deno.test("a task is an endless source with its own entries in every split", () => {
  const source = openSource(TASK);
  assert.equal(source.name, "spell_backward");
  assert.equal(source.length("train"), 64);
  assert.equal(source.length("test"), Infinity);
  assert.deepEqual(source.entry("test", 1e6), openSource(TASK).entry("test", 1e6));
  assert.notDeepEqual(source.entry("train", 0, 1), source.entry("train", 0));
  assert.deepEqual(source.entry("train", 0, 1), source.entry("train", 0, 1));
});

Deno.test("held-out questions are distinct and training never asks one of them", () => {
  const source = openSource(TASK);
  const problems = splitProblems({ source, heldOutCount: 3000 });
  const heldOut = new Set(problems.heldOut.map((entry) => entry.question));
  assert.equal(heldOut.size, 3000);
  const train = Array.from({ length: 2000 }, (_, i) => problems.trainEntry(i));
  assert.ok(train.every((entry) => !heldOut.has(entry.question)));
  const collisions = Array.from({ length: 2000 }, (_, i) => i).filter((i) =>
    heldOut.has(source.entry("train", i).question)
  );
  assert.ok(collisions.length > 300, `${collisions.length} collisions`);
  assert.equal(problems.redrawn, collisions.length);
  assert.equal(problems.overlap, 0);
  const again = splitProblems({ source: openSource(TASK), heldOutCount: 3000 });
  assert.deepEqual(again.heldOut, problems.heldOut);
  for (const i of [1999, 7, collisions[0]!]) assert.deepEqual(again.trainEntry(i), train[i]);
});

Deno.test("a task with too few problems to hold out keeps most of them for training", () => {
  const small = openSource({
    ...TASK,
    task_name: "tower_of_hanoi",
    task_config: { max_disks: 3, max_pegs: 3 },
  });
  for (const heldOutCount of [6, 7]) {
    const few = splitProblems({ source: small, heldOutCount });
    assert.equal(few.heldOut.length, 1);
    const note = `${heldOutCount} held-out .* only 6 different ones: 1 of them held out`;
    assert.match(few.notes.join(), new RegExp(note));
    assert.notEqual(few.trainEntry(0).question, few.heldOut[0]!.question);
  }
  const all = splitProblems({ source: small, heldOutCount: 5 });
  assert.deepEqual([all.heldOut.length, all.notes], [5, []]);
  assert.equal(splitProblems({ source: small, heldOutCount: 0 }).heldOut.length, 0);
  small.entry = () => all.heldOut[0]!;
  assert.throws(() => splitProblems({ source: small, heldOutCount: 2 }), UsageError);
});

Deno.test("a file's questions are dealt out to disjoint splits, equal ones to the same", async () => {
  const rows = Array.from(
    { length: 500 },
    (_, i) => ({ question: `Q ${i % 400}?`, answer: i % 400 }),
  );
  await withFile(rows, (path) => {
    const source = fromFile(path);
    const questions = (split: Split) =>
      new Set(
        Array.from({ length: source.length(split) }, (_, i) => source.entry(split, i).question),
      );
    const train = questions("train"), test = questions("test");
    assert.equal(train.size + test.size, 400);
    assert.equal(new Set([...train, ...test]).size, 400);
    assert.ok(test.size > 50 && test.size < 110);
    const entries = readDataset("file", path), file = { ...FROM_FILE, dataset_name: path, entries };
    const whole = openSource({ ...file, hold_out: false });
    assert.deepEqual([whole.length("train"), whole.length("test")], [500, 0]);
    const problems = splitProblems({ source, heldOutCount: 15 });
    assert.equal(problems.heldOut.length, 15);
    assert.equal(problems.trainEntry(3).question, source.entry("train", 3).question);
    assert.throws(() => source.entry("test", 400), /entry 400/);
    const short = splitProblems({ source, heldOutCount: 300 });
    assert.equal(short.heldOut.length, test.size);
    assert.match(short.notes.join(), /300 held-out .* only \d+ different ones to hold out: all/);
    assert.equal(fromFile(path, null).length("train"), source.length("train"));
    const ten = fromFile(path, 10);
    assert.equal(ten.length("train"), 10);
    assert.match(ten.notes!.join(), /more training entries are not used: data\.num_examples is 10/);
    const sizes = { num_examples: 10, max_examples: 30 };
    const first = openSource({ ...file, ...sizes });
    assert.equal(first.length("train"), 30);
    assert.deepEqual([first.notes, source.notes], [[], []]);
  });
});

Deno.test("a completion is imitated word for word, and its answer is the one in its tags", async () => {
  const completion = "<think>1 + 1</think>\n<answer> 2 </answer>";
  const messages = [{ role: "user", content: "P1" }, { role: "assistant", content: completion }];
  await withFile(
    [{ prompt: "P0", completion }, { messages, answer: "3" }],
    (path) => {
      const found = readDataset("file", path);
      assert.deepEqual(found.map(({ answer }) => answer), ["2", "3"]);
      assert.deepEqual(found.map((entry) => workedAnswer(entry)), [completion, completion]);
    },
  );
});

Deno.test("a bad line is refused with file and line", async () => {
  const good = { question: "Q?", answer: "A" };
  const cases: [unknown, RegExp][] = [
    ["{not json", /\.jsonl:2: not valid JSON/],
    ["[1]", /:2: must be an object, found \[1\]/],
    [{ text: "x" }, /:2: has no column prompt, .* or messages \(its columns: text\)/],
    [{ question: " " }, /:2: question is empty/],
    [{ question: { a: 1 } }, /:2: question: must be a text/],
    [{ question: [{ role: "system", content: "S" }] }, /the last message has the role "system"/],
    [{ question: "Q", metadata: 3 }, /:2: metadata must be an object, found 3/],
  ];
  for (const [line, message] of cases) {
    await withFile([good, line], (path) => assert.throws(() => fromFile(path), message));
  }
  await withFile("", (path) => assert.throws(() => fromFile(path), /has no entries/));
  assert.throws(() => entriesOf([], "a.csv"), { advice: /^It should have a line of names/ });
  assert.throws(() => fromFile("/no/such/file.jsonl"), /cannot read the data file \/no\/such/);
});

Deno.test("the data section must name exactly one source and a positive number of examples", () => {
  assert.throws(() => openSource({ ...TASK, task_name: null }), /exactly one of task_name and/);
  assert.throws(() => openSource({ ...TASK, dataset_name: "x.jsonl" }), /exactly one of/);
  assert.throws(() => openSource({ ...TASK, num_examples: 0 }), /num_examples: .*found 0/);
  assert.throws(() => openSource({ ...TASK, task_config: { min_word_len: 0 } }), /min_word_len/);
});

Deno.test("rows that are in both splits of a file are counted once, and a note names them", () => {
  const entry = (n: number) => ({ question: `${n}?`, answer: `${n}`, metadata: {} });
  const source = openSource({
    ...FROM_FILE,
    dataset_name: "f",
    entries: [0, 1, 2, 3, 4, 0].map(entry),
    testEntries: [0, 1, 7, 8].map(entry),
  });
  const problems = splitProblems({ source, heldOutCount: 4 });
  assert.match(problems.notes.join(), /3 of the 6 training problems are held out too/);
  assert.equal(problems.overlap, 0);
  for (const index of [0, 0, 1, 2, 0]) problems.trainEntry(index);
  assert.equal(problems.overlap, 2);
  assert.deepEqual(splitProblems({ source, heldOutCount: 0 }).notes, []);
});

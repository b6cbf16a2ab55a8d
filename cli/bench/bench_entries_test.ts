/** Benchmarks of entries that reasoning-gym made. */
import assert from "node:assert/strict";
import { planTasks } from "../../bench/plan/task_plan.ts";
import { DEFAULT_PROMPT_SETTINGS, settingsFor } from "../../bench/evaluation/prompt_settings.ts";
import { promptMessages } from "../../bench/evaluation/prompt_text.ts";
import { scoreCompletion } from "../../data/score_completion.ts";
import type { Entry } from "../../tasks/types.ts";
import { goldenPath } from "../../tests/golden.ts";
import { readEntryRequests } from "./bench_request.ts";

const FILE = goldenPath("reasoning-gym/entries.jsonl");
const made: Entry[] = Deno.readTextFileSync(FILE).trim().split("\n").map((line) =>
  JSON.parse(line)
);

async function withFile(lines: readonly unknown[], work: (path: string) => Promise<void>) {
  const path = await Deno.makeTempFile({ suffix: ".jsonl" });
  try {
    await Deno.writeTextFile(path, lines.map((line) => JSON.stringify(line)).join("\n"));
    await work(path);
  } finally {
    await Deno.remove(path);
  }
}

/** An entry as it was made: that of a file also has the columns of its row. */
const withoutColumns = ({ columns: _, ...entry }: Entry) => entry;

Deno.test("entries are asked word for word, each task's apart, and scored by their task", async () => {
  const sets = await planTasks({ tasks: await readEntryRequests([FILE]) }, 42);
  assert.deepEqual(sets.map(({ label, category, entries }) => [label, category, entries.length]), [
    ["chain_sum", "arithmetic", 4],
    ["spell_backward", "algorithmic", 4],
    ["leg_counting", "arithmetic", 4],
  ]);
  assert.deepEqual(sets.flatMap(({ entries }) => entries.map(withoutColumns)), made);
  for (const set of sets) {
    const settings = settingsFor(DEFAULT_PROMPT_SETTINGS, set.isOwn);
    for (const entry of set.entries) {
      const messages = promptMessages(entry, set.shots, settings);
      assert.deepEqual(messages, [{ role: "user", content: entry.question }]);
      assert.equal(scoreCompletion(`<answer>${entry.answer}</answer>`, entry).score, 1);
    }
  }
  const two = await planTasks({ tasks: await readEntryRequests([FILE], 2) }, 42);
  assert.deepEqual(two.map(({ entries }) => entries.length), [2, 2, 2]);
});

Deno.test("lines of rgx score have their entry in a field", async () => {
  await withFile(made.map((entry) => ({ entry, answer: "1" })), async (path) => {
    const sets = await planTasks({ tasks: await readEntryRequests([path]) }, 42);
    assert.deepEqual(sets.flatMap(({ entries }) => entries.map(withoutColumns)), made);
  });
});

Deno.test("a line that is no entry of a task is refused with its place", async () => {
  const cases: [unknown, RegExp][] = [
    [{ prompt: "Q" }, /:2: no question/],
    [{ question: "Q", answer: "A" }, /:2: metadata\.source_dataset: expected the name of a task/],
    [
      { question: "Q", metadata: { source_dataset: "chain_sums" } },
      /:2: metadata\.source_dataset: no task "chain_sums".*chain_sum/,
    ],
  ];
  for (const [line, message] of cases) {
    await withFile([made[0], line], (path) => assert.rejects(readEntryRequests([path]), message));
  }
  await withFile([], (path) => assert.rejects(readEntryRequests([path]), /there are no entries/));
});

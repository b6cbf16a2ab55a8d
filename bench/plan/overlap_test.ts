import assert from "node:assert/strict";
import { tinyRunConfig } from "../../training/testing.ts";
import { createDataset } from "../../tasks/dataset.ts";
import { OverlapCounter } from "../benchmark_run.ts";
import { createTestSet } from "./test_set.ts";

const NAMES = { model: "run", task: "words" };

Deno.test("test problems that a run saw in training are counted by their questions", async () => {
  const parameters = { min_word_len: 3, max_word_len: 3 };
  const run = tinyRunConfig("", {
    data: { task_name: "spell_backward", task_config: parameters, num_examples: 400, seed: 1 },
    eval: { num_examples: 5 },
  });
  const request = { name: "spell_backward", parameters };
  const own = createTestSet(request, { seed: 1, size: 5, fewShot: 0 });
  const other = createTestSet(request, { seed: 2, size: 60, fewShot: 0 });
  const counter = new OverlapCounter();
  assert.equal(
    await counter.count(run, own.entries, NAMES),
    0,
    "a run avoids its own held-out problems",
  );
  const train = createDataset("spell_backward", { ...parameters, seed: 1, split: "train" });
  const held = new Set(own.entries.map(({ question }) => question));
  const asked = new Set(Array.from({ length: 400 }, (_, i) => train.entry(i).question));
  const expected = other.entries.filter(({ question }) =>
    asked.has(question) && !held.has(question)
  );
  assert.ok(expected.length > 0, "short words repeat");
  assert.ok((await counter.count(run, other.entries, NAMES))! >= expected.length);
  assert.equal(await counter.count(null, other.entries, NAMES), null);
  assert.match(counter.warnings.join(), /^run was trained on \d+ of the 60 questions of words: /);
  const levels = { ...run, curriculum: { enabled: true } } as unknown as typeof run;
  assert.equal(
    await counter.count(levels, other.entries, NAMES),
    null,
    "levels that moved leave no list",
  );
  assert.match(counter.warnings.at(-1)!, /is not known: the levels of its curriculum moved/);
  const slow = new OverlapCounter(0);
  assert.equal(await slow.count(run, other.entries, NAMES), null);
  assert.match(slow.warnings.join(), /not known: its 400 training problems take more than 0 s/);
});

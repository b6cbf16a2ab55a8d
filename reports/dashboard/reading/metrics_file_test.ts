import assert from "node:assert/strict";
import { test } from "../../../core/testing.ts";
import { metricsLine } from "../testing.ts";
import { MetricsFile, newestRows } from "./metrics_file.ts";

const stepsOf = (file: MetricsFile, metric = "reward") =>
  file.series.get(metric)?.curve(1e6, 0).steps ?? [];
const lines = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => metricsLine(from + i)).join("");

test.inFolder("a growing file is read from where the last reading ended", async (folder) => {
  const path = `${folder}/metrics.jsonl`, file = new MetricsFile(path);
  await file.update();
  assert.deepEqual(stepsOf(file), []);
  const next = metricsLine(3);
  await Deno.writeTextFile(path, lines(1, 2) + next.slice(0, 40));
  await file.update();
  assert.deepEqual(stepsOf(file), [1, 2]);
  await Deno.writeTextFile(path, next.slice(40) + metricsLine(4), { append: true });
  await Promise.all([file.update(), file.update()]);
  assert.deepEqual(stepsOf(file), [1, 2, 3, 4]);
  assert.deepEqual([file.complete, file.problem], [true, null]);
});

test.inFolder("a file that a resumed run cut back is read again", async (folder) => {
  const path = `${folder}/metrics.jsonl`, file = new MetricsFile(path);
  await Deno.writeTextFile(path, lines(1, 6));
  await file.update();
  // The cut-back file has grown beyond its old length before anybody looked again.
  const again = [4, 5, 6, 7, 8].map((step) => metricsLine(step, 0.75)).join("");
  await Deno.writeTextFile(path, lines(1, 3) + again);
  await file.update();
  assert.deepEqual(stepsOf(file), [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.equal(file.series.get("reward")!.curve(100, 0).values[3], 0.75);
  await Deno.remove(path);
  await file.update();
  assert.deepEqual(stepsOf(file), []);
});

test.inFolder("damaged lines are named and left out", async (folder) => {
  const path = `${folder}/metrics.jsonl`, file = new MetricsFile(path);
  await Deno.writeTextFile(path, metricsLine(1) + '{"step": 2, "rew\n[1]\n' + metricsLine(3));
  await file.update();
  assert.deepEqual(stepsOf(file), [1, 3]);
  assert.match(file.problem!, /metrics\.jsonl: line 2 is damaged .*left out \(2 lines in all\)$/);
});

test.inFolder("a long file is looked at in some places first, and then read as a whole", async (folder) => {
  const path = `${folder}/metrics.jsonl`, file = new MetricsFile(path);
  await Deno.writeTextFile(path, lines(1, 8000));
  await file.update();
  const some = stepsOf(file);
  assert.equal(file.complete, false);
  assert.ok(some.length > 100 && some.length <= 200, `${some.length}`);
  assert.ok(some[0]! < 50 && some.at(-1)! > 7900);
  const reading = file.readRest();
  await file.update();
  assert.deepEqual([stepsOf(file), file.complete], [some, false]);
  await reading;
  assert.deepEqual([stepsOf(file).length, file.complete], [8000, true]);
  await Deno.writeTextFile(path, metricsLine(8001), { append: true });
  await file.update();
  assert.equal(stepsOf(file).at(-1), 8001);
});

test.inFolder("the newest lines are whole lines", async (folder) => {
  const path = `${folder}/metrics.jsonl`;
  assert.deepEqual(await newestRows(path), []);
  await Deno.writeTextFile(path, lines(1, 500) + '{"step": 501');
  const rows = await newestRows(path);
  assert.ok(rows.length < 500);
  assert.equal(rows.at(-1)!["step"], 500);
});

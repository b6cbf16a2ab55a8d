import assert from "node:assert/strict";
import { allTasksFile, taskFile } from "../../bench/results/testing.ts";
import { refusal } from "../../core/testing.ts";
import { gatherResults, renameModels } from "./chart_data.ts";

Deno.test("the combined file and its parts are not counted twice", () => {
  const parts = { a: { base: 10, tuned: 20 }, b: { base: 5, tuned: 7 } };
  const { tasks, models, results, notes } = gatherResults([
    { path: "results_a.json", result: taskFile("a", parts.a) },
    { path: "results_all_tasks.json", result: allTasksFile(parts) },
    { path: "results_b.json", result: taskFile("b", parts.b) },
  ]);
  assert.deepEqual(tasks, ["a", "b"]);
  assert.deepEqual(models, ["base", "tuned"]);
  assert.equal(results.get("b")!.get("tuned")!.correct, 7);
  assert.deepEqual(notes, []);
});

Deno.test("the newer of two measurements is drawn, and a note says so", () => {
  const { results, stamp, notes } = gatherResults([
    { path: "new.json", result: taskFile("a", { base: 11 }, "20260105_000000") },
    { path: "old.json", result: taskFile("a", { base: 10, other: 1 }, "20260103_000000") },
  ]);
  assert.equal(results.get("a")!.get("base")!.correct, 11);
  assert.equal(results.get("a")!.get("other")!.correct, 1);
  assert.equal(stamp, "20260105_000000");
  assert.deepEqual(notes, ["1 result measured more than once: the newest is drawn"]);
});

Deno.test("a note names failures, unless another file has the result", () => {
  const failures = [{ model: "lost", task: "a", error: "e" }, {
    model: "other",
    task: "a",
    error: "e",
  }];
  const all = { ...allTasksFile({ a: { base: 10 } }), failures };
  const again = { path: "a.json", result: taskFile("a", { other: 1 }, "20260105_000000") };
  assert.deepEqual(gatherResults([again, { path: "all.json", result: all }]).notes, [
    "lost failed on a",
  ]);
});

Deno.test("a note names models that were measured on different problems", () => {
  const { notes } = gatherResults([
    { path: "1.json", result: taskFile("a", { base: 10 }) },
    { path: "2.json", result: { ...taskFile("a", { tuned: 12 }), seed: 2 } },
  ]);
  assert.equal(notes.length, 1);
  assert.match(notes[0]!, /^a: not the same measurement for all models: seed 1 \| 2$/);
});

Deno.test("a note names different sampling once; greedy results ignore draw settings", () => {
  const file = (task: string, model: string, sampling: Record<string, number>) => {
    const result = taskFile(task, { [model]: 10 });
    return {
      path: `${task}.json`,
      result: { ...result, sampling: { ...result.sampling, ...sampling } },
    };
  };
  const tasks = ["a", "b", "c"];
  const notesOf = (sampling: Record<string, number>) =>
    gatherResults(tasks.flatMap((task) => [file(task, "base", {}), file(task, "tuned", sampling)]))
      .notes;
  assert.deepEqual(notesOf({ max_new_tokens: 64, top_p: 0.9 }), [
    "a, b, c: not the same measurement for all models: max_new_tokens 8 | 64",
  ]);
  assert.deepEqual(notesOf({ top_p: 0.9 }), []);
  assert.deepEqual(notesOf({ temperature: 1 }), [
    "a, b, c: not the same measurement for all models: temperature 0 | 1",
  ]);
});

Deno.test("a benchmark without any result has nothing to draw", () => {
  assert.throws(
    () => gatherResults([{ path: "x.json", result: allTasksFile({}) }]),
    refusal(/no results in x\.json/),
  );
});

Deno.test("renaming keeps the order and the results", () => {
  const result = allTasksFile({ a: { x: 1, y: 2 }, b: { y: 3 } });
  const renamed = renameModels(gatherResults([{ path: "", result }]), new Map([["y", "Y!"]]));
  assert.deepEqual(renamed.models, ["x", "Y!"]);
  assert.equal(renamed.results.get("b")!.get("Y!")!.correct, 3);
});

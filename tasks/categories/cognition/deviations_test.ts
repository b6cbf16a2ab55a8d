/** Cases in which the original is wrong (docs/deviations.md), with its result and ours. */
import assert from "node:assert/strict";
import { curriculumConfig } from "../../curriculum/levels.ts";
import { createDataset } from "../../dataset.ts";
import { getTask, scoreTaskAnswer, validateTaskConfig } from "../../registry.ts";

Deno.test("V1: a blank answer scores 0, even for a scramble that cancels itself", () => {
  const cases = [
    { task: "color_cube_rotation", entry: { answer: "red", metadata: {} }, original: 0.01 },
    {
      task: "rubiks_cube",
      entry: { answer: null, metadata: { cube_size: 3, scramble_moves: "L' R R F" } },
      original: 0.01,
    },
    {
      task: "rubiks_cube",
      entry: { answer: null, metadata: { cube_size: 3, scramble_moves: "D' F F' D" } },
      original: 1,
    },
  ];
  for (const { task, entry, original } of cases) {
    assert.notEqual(original, 0);
    for (const blank of ["", " \n"]) assert.equal(scoreTaskAnswer(task, blank, entry), 0, task);
  }
  for (const entry of createDataset("rubiks_cube", { seed: 1, size: 200, min_scramble_steps: 1 })) {
    assert.notEqual(entry.metadata["example_correct_answer"], "");
  }
});

Deno.test("V21: a wrong word never earns the full score", () => {
  const entry = { answer: "UNDERSTANDING", metadata: {} };
  const answer = "UNDERSTANDINK", original = 1.2, ours = 0.9;
  assert.notEqual(ours, original);
  assert.equal(scoreTaskAnswer("figlet_font", answer, entry), ours);
  assert.equal(scoreTaskAnswer("figlet_font", "understanding", entry), 1);
});

Deno.test("V27: moves of several layers are read in answers as in scrambles", () => {
  const original = 0.01, ours = 1;
  assert.notEqual(ours, original);
  for (const [scramble, answer] of [["2F'", "2F"], ["1Bw'", "1Bw"], ["2D'", "2D"]]) {
    const entry = { answer: null, metadata: { cube_size: 4, scramble_moves: scramble } };
    assert.equal(scoreTaskAnswer("rubiks_cube", answer!, entry), ours);
    assert.equal(scoreTaskAnswer("rubiks_cube", `${answer} ${answer}`, entry), original);
  }
});

Deno.test("G16: exactly one name has the asked verb and thing", () => {
  // In the original, another statement could have the same verb and thing. Then two names fit, and
  // one of them scores 0.
  const original = "Ada likes tea. Bob likes tea.\nWho likes tea?";
  assert.equal(original.match(/likes tea\./g)!.length, 2);
  for (const entry of createDataset("needle_haystack", { seed: 9, size: 200 })) {
    const predicate = /^Who (.+)\?/.exec(entry.metadata["question"] as string)![1]!;
    assert.equal(entry.question.split(` ${predicate}.`).length, 2);
  }
});

Deno.test("G23: levels that the original refuses are set to the nearest valid values", () => {
  const cases = [
    { task: "modulo_grid", level: 1, field: "max_target", original: 0, ours: 1 },
    { task: "rubiks_cube", level: 4, field: "cube_size", original: 7, ours: 6 },
  ];
  for (const { task, level, field, original, ours } of cases) {
    assert.match(validateTaskConfig(task, { [field]: original })[0]!, new RegExp(`^${field}: `));
    const notes: string[] = [];
    const onClamp = (note: string) => notes.push(note);
    assert.equal(curriculumConfig(getTask(task), { "*": level }, { onClamp })[field], ours);
    assert.ok(notes.some((note) => note.includes(field)), task);
  }
});

import assert from "node:assert/strict";
import { createDataset } from "./dataset.ts";
import { brokenRules, type DiversityException, type TaskStats } from "./diversity_testing.ts";
import { getTask } from "./registry.ts";
import { readGoldenJson } from "../tests/golden.ts";
import { testedTasks } from "./testing.ts";

interface Stats {
  tasks: Record<string, TaskStats>;
  exceptions: Record<string, DiversityException[]>;
}

/** The first entries of a task. */
const entriesOf = (name: string, seed: number, size = 1000) => [
  ...createDataset(name, { seed, size }),
];

Deno.test("every task is as varied and as hard as the recorded statistics", () => {
  const { tasks, exceptions } = readGoldenJson<Stats>("reasoning-gym/diversity/stats.json");
  for (const name of testedTasks()) {
    const broken = brokenRules(entriesOf(name, 987_654), tasks[name]!, exceptions[name]);
    assert.deepEqual(broken, [], name);
  }
});

Deno.test("the check notices twenty entries that repeat", () => {
  const { tasks, exceptions } = readGoldenJson<Stats>("reasoning-gym/diversity/stats.json");
  for (const name of testedTasks()) {
    const few = entriesOf(name, 1, 20);
    const repeated = Array.from({ length: 1000 }, (_, i) => few[i % 20]!);
    const broken = brokenRules(repeated, tasks[name]!, exceptions[name]);
    assert.ok(broken.length > 0, `${name} (${getTask(name).category})`);
  }
});

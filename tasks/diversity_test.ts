import assert from "node:assert/strict";
import { brokenRules, type DiversityException, type TaskStats } from "./diversity_testing.ts";
import { getTask } from "./registry.ts";
import { readGoldenJson } from "../tests/golden.ts";
import { entriesOf, testedTasks } from "./testing.ts";

interface Stats {
  tasks: Record<string, TaskStats>;
  exceptions: Record<string, DiversityException[]>;
}

const COUNT = 500;

Deno.test("every task is as varied and as hard as the recorded statistics", () => {
  const { tasks, exceptions } = readGoldenJson<Stats>("reasoning-gym/diversity/stats.json");
  for (const name of testedTasks()) {
    const entries = entriesOf(name, [{ seed: 987_654, size: COUNT }]);
    const broken = brokenRules(entries, tasks[name]!, exceptions[name]);
    assert.deepEqual(broken, [], name);
  }
});

Deno.test("the check notices twenty entries that repeat", () => {
  const { tasks, exceptions } = readGoldenJson<Stats>("reasoning-gym/diversity/stats.json");
  for (const name of testedTasks()) {
    const few = entriesOf(name, [{ seed: 1, size: 20 }]);
    const repeated = Array.from({ length: COUNT }, (_, i) => few[i % 20]!);
    const broken = brokenRules(repeated, tasks[name]!, exceptions[name]);
    assert.ok(broken.length > 0, `${name} (${getTask(name).category})`);
  }
});

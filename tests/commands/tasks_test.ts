/** `rgx tasks list`, `rgx tasks show` and `rgx tasks sample`. */
import assert from "node:assert/strict";
import { lines, refuses, rgx, succeeds } from "../support.ts";

Deno.test("tasks list --json names every task once with its category", async () => {
  const { out } = await succeeds(["tasks", "list", "--json"]);
  const tasks = JSON.parse(out) as { name: string; category: string; description: string }[];
  assert.ok(tasks.length >= 10);
  assert.equal(new Set(tasks.map((t) => t.name)).size, tasks.length);
  for (const task of tasks) assert.ok(task.category && task.description, task.name);
});

Deno.test("tasks show has all levels of a curriculum", async () => {
  for (const [name, last] of [["leg_counting", "36\n"], ["jugs", "20\n"]] as const) {
    const { out } = await succeeds(["tasks", "show", name]);
    assert.ok(out.slice(out.indexOf("Curriculum"), out.indexOf("Scoring")).includes(last), out);
  }
});

Deno.test("tasks sample prints the same lines for a seed, and --offset starts at a later line", async () => {
  const all = await rgx(["tasks", "sample", "chain_sum", "--size", "6", "--seed", "3"]);
  const again = await rgx(["tasks", "sample", "chain_sum", "--size", "6", "--seed", "3"]);
  assert.equal(all.code, 0);
  assert.equal(all.out, again.out);
  const window = await rgx(
    ["tasks", "sample", "chain_sum", "--size", "2", "--seed", "3", "--offset", "4"],
  );
  assert.deepEqual(lines(window.out), lines(all.out).slice(4));
  const test = await rgx(
    ["tasks", "sample", "chain_sum", "--size", "6", "--seed", "3", "--split", "test"],
  );
  assert.notEqual(test.out, all.out);
});

Deno.test("tasks sample obeys --set and refuses wrong parameters", async () => {
  const { out } = await rgx(
    ["tasks", "sample", "chain_sum", "--set", "min_terms=2", "--set", "max_terms=2"],
  );
  for (const line of lines(out)) assert.equal(JSON.parse(line).metadata.num_terms, 2);
  await refuses([
    [["chain_sum", "--set", "min_terms=9"], /min_terms.*9/],
    [["chain_sum", "--set", "min_term=2"], /min_terms/],
    [["chain_sun"], /chain_sum/],
    [
      ["spell_backward", "--set-level", "word_len=99"],
      /the levels of this attribute .* are 0 to \d+, found 99/,
    ],
  ], { before: ["tasks", "sample"] });
});

Deno.test("tasks sample takes the last level for --level 99 with a note", async () => {
  const sample = (...args: string[]) => rgx(["tasks", "sample", "spell_backward", ...args]);
  const high = await sample("--level", "99");
  assert.equal(high.code, 0);
  assert.match(high.err, /^note: --level 99: tasks with fewer levels have .*: word_len \d+\n$/);
  const level = /word_len (\d+)/.exec(high.err)![1]!;
  const last = await sample("--level", level);
  assert.deepEqual([last.out, last.err], [high.out, ""]);
});

import assert from "node:assert/strict";
import { test } from "../../../core/testing.ts";
import { writeRun } from "../testing.ts";
import { readRunDetails, readRunInfo } from "./run_state.ts";

const found = (folder: string) => ({ id: "x", name: "a run", folder });

test.inFolder("the state of a run: progress, job, restarts, results, advice", async (folder) => {
  await writeRun(folder, 40);
  const info = await readRunInfo(found(folder));
  assert.deepEqual(
    [info.status, info.step, info.totalSteps, info.progress, info.secondsLeft],
    ["completed", 40, 100, 0.4, 60],
  );
  assert.deepEqual(info.job, { id: "123", name: "train", node: "n1", restarts: 2 });
  assert.deepEqual([info.restarts, info.restartsWithoutProgress], [1, 1]);
  assert.deepEqual(info.after, { accuracy: 0.5, ci95: [0.2, 0.3], total: 500 });
  assert.deepEqual([info.task, info.runName, info.problems], ["spell_backward", "a name", []]);
  const details = await readRunDetails(info);
  assert.deepEqual(details.sessions.map(({ from }) => from), ["the beginning", "GRPO step 5"]);
  assert.equal(details.remarks[0]!.text, "Look here.");
});

test.inFolder("a run whose lock is gone or silent was killed", async (folder) => {
  await writeRun(folder, 2, { "run.json": '{"status": "running"}' });
  assert.equal((await readRunInfo(found(folder))).status, "killed");
  await Deno.writeTextFile(`${folder}/.rgx.lock`, "{}");
  assert.equal((await readRunInfo(found(folder))).status, "running");
  assert.equal((await readRunInfo(found(folder), Date.now() + 1e6)).status, "killed");
  // A process of this machine that has ended, with a lock that is fresh.
  const child = new Deno.Command(Deno.execPath(), { args: ["--version"], stdout: "null" })
    .spawn();
  await child.status;
  const lock = (pid: number) => JSON.stringify({ pid, host: Deno.hostname() });
  await Deno.writeTextFile(`${folder}/.rgx.lock`, lock(child.pid));
  assert.equal((await readRunInfo(found(folder))).status, "killed");
  await Deno.writeTextFile(`${folder}/.rgx.lock`, lock(Deno.pid));
  assert.equal((await readRunInfo(found(folder))).status, "running");
});

test.inFolder("half-written files and a newer format are told, and the rest is shown", async (folder) => {
  await writeRun(folder, 7, { "run.json": '{"status": "comp', "config.yaml": "a: [1,\nb" });
  const cut = await readRunInfo(found(folder));
  assert.deepEqual([cut.status, cut.step, cut.problems.length], ["unknown", 7, 2]);
  for (const problem of cut.problems) assert.match(problem, /is damaged or half-written/);
  const several = "data: {task_name: null, tasks: [{task_name: gcd, weight: 2}, {task_name: lcm}]}";
  await writeRun(folder, 2, { "config.yaml": several });
  assert.equal((await readRunInfo({ id: "1", name: "x", folder })).task, "gcd, lcm");
  await writeRun(folder, 7, { "run.json": '{"format": 99, "status": "stopped"}' });
  const newer = await readRunInfo(found(folder));
  assert.equal(newer.status, "stopped");
  assert.match(newer.problems[0]!, /has format 99, and this version reads format 1: a newer rgx/);
});

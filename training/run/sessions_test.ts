import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { RgxError } from "../../core/errors.ts";
import { type SlurmJob, slurmJob } from "../../core/machine/job.ts";
import { createDevice } from "../../kernels/mod.ts";
import {
  addSession,
  isRequeuedRestart,
  MAX_STALLED_RESTARTS,
  readSessions,
  type Session,
  stalledRestarts,
} from "./sessions.ts";
import { metricsOf, tinyRunConfig, trainOn } from "../testing.ts";

function job(id: string, restarts = 0): SlurmJob {
  const variables: Record<string, string> = {
    SLURM_JOB_ID: id,
    SLURM_JOB_PARTITION: "GPUQ",
    SLURMD_NODENAME: "n1",
    SLURM_RESTART_COUNT: `${restarts}`,
  };
  return slurmJob((name) => variables[name])!;
}

function session(id: string | null, restart: number | null, from: string): Session {
  return {
    start: "2026-01-01T00:00:00Z",
    end: null,
    status: "running",
    reason: null,
    host: "n1",
    pid: 1,
    job: id,
    restart,
    from,
    to: null,
  };
}

Deno.test("starts of a job without progress are counted, those of a person are not", () => {
  const here = "GRPO step 4";
  const stalled = (sessions: Session[], now: SlurmJob | null) =>
    stalledRestarts(sessions, now, here);
  const two = [session("7", 0, "GRPO step 2"), session("7", 1, here), session("7", 2, here)];
  assert.equal(stalled(two, job("7", 3)), 2);
  assert.equal(stalled(two, null), 0);
  assert.equal(stalled(two, job("8", 3)), 0);
  assert.equal(stalled([...two, session("7", 3, "GRPO step 3")], job("7", 4)), 0);
  // Started by hand several times within one allocation.
  const byHand = Array.from({ length: 9 }, () => session("7", 0, here));
  assert.equal(stalled(byHand, job("7", 0)), 0);
  assert.equal(stalled(byHand, job("7", 1)), 1);
});

Deno.test("a job that restarts endlessly is refused, with advice", () => {
  const sessions = Array.from(
    { length: MAX_STALLED_RESTARTS },
    (_, i) => session("7", i, "the beginning"),
  );
  const run = { sessions };
  assert.throws(() => addSession(run, job("7", MAX_STALLED_RESTARTS), "the beginning"), (error) => {
    assert.ok(error instanceof RgxError && error.exitCode === 1);
    assert.match(error.message, /job 7 was started 20 times in a row at the beginning/);
    assert.match(error.advice!, /--time/);
    return true;
  });
  const further = addSession(run, job("7", MAX_STALLED_RESTARTS), "GRPO step 1");
  assert.equal(further.stalled, 0);
  assert.equal(addSession(run, job("8"), "the beginning").stalled, 0);
  // A session that is still "running" was killed.
  assert.deepEqual(
    new Set(further.sessions.map(({ status }) => status)),
    new Set(["killed", "running"]),
  );
});

Deno.test("a damaged run.json has no sessions", () => {
  for (const run of [null, {}, { sessions: 3 }, { sessions: [null, 4, { start: 1 }] }]) {
    assert.deepEqual(readSessions(run), []);
  }
});

Deno.test("a requeued job recognises its run", () => {
  const run = { sessions: [session("7", 0, "the beginning")] };
  assert.ok(isRequeuedRestart(run, job("7", 1)));
  assert.ok(!isRequeuedRestart(run, job("7", 0)));
  assert.ok(!isRequeuedRestart(run, job("8", 1)));
  assert.ok(!isRequeuedRestart(run, null));
  assert.ok(!isRequeuedRestart(null, job("7", 1)));
});

test.inFolder("run.json has every session: its job, its restarts, its progress, why it ended", async (dir) => {
  using device = await createDevice("wasm", { threads: 1 });
  const config = tinyRunConfig(`${dir}/run`, { eval: { num_examples: 0 } });
  const read = async () => JSON.parse(await Deno.readTextFile(`${dir}/run/run.json`));
  let step = 0;
  const stopAt = (last: number) => ({
    stopRequested: () => step >= last ? "save" as const : "no" as const,
    reason: "SIGUSR2",
  });
  const listeners = [(event: { type: string; step?: number; phase?: string }) => {
    if (event.type === "step" && event.phase === "grpo") step = event.step!;
  }];
  await trainOn(device, config, { job: job("7"), control: stopAt(2), listeners });
  let run = await read();
  assert.equal(run.reason, "SIGUSR2");
  assert.deepEqual(run.job, {
    id: "7",
    name: null,
    partition: "GPUQ",
    node: "n1",
    restarts: 0,
  });
  // Killed with SIGKILL in its second start.
  run.sessions.push({
    ...run.sessions[0],
    status: "running",
    end: null,
    restart: 1,
    from: run.sessions[0].to,
  });
  await Deno.writeTextFile(`${dir}/run/run.json`, JSON.stringify(run));
  await trainOn(device, config, { job: job("7", 2), resume: true });
  run = await read();
  assert.equal(run.status, "completed");
  assert.equal(run.restarts_without_progress, 1);
  assert.deepEqual(
    run.sessions.map(({ job, restart, from, to, status, reason }: Session) =>
      [job, restart, from, to, status, reason].join(", ")
    ),
    [
      "7, 0, the beginning, GRPO step 2, stopped, SIGUSR2",
      "7, 1, GRPO step 2, GRPO step 2, killed, SIGUSR2",
      "7, 2, GRPO step 2, GRPO step 6, completed, ",
    ],
  );
  const lines = await metricsOf(`${dir}/run`);
  assert.ok(lines.every(({ event }) => event !== "stop"), "cut back on the resume");
});

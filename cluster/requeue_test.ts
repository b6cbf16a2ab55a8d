/** Runs job scripts with stand-ins for SLURM's programs, for every exit code and signal. */
import assert from "node:assert/strict";
import { withFolder } from "../core/testing.ts";
import { queueOf, run, standIns, writtenIn } from "./testing.ts";
import { slurmScript } from "./train_script.ts";

interface Try {
  /** A shell line in place of the program. */
  program: string;
  /** A shell line in place of squeue. */
  squeue?: string;
  maxRestarts?: number;
  requeue?: boolean;
  env?: Record<string, string>;
  /** Arguments of the script. */
  words?: string[];
}

/** Runs the script of a job `times` times. @returns the exit codes and the requeued ids */
async function tryJob({ program, ...rest }: Try, times = 1) {
  const result = { codes: [] as number[], requeued: "", err: "" };
  await withFolder(async (folder) => {
    await Deno.mkdir(`${folder}/logs`);
    const PATH = await standIns(folder, {
      srun: `[ "$1 $2 $3" = "--nodes=1 --ntasks=1 --kill-on-bad-exit=1" ] || exit 9\n${program}`,
      ...queueOf(folder, rest.squeue),
    });
    const script = await slurmScript("quickstart", "acct", {
      workDir: folder,
      requeue: rest.requeue ?? true,
      maxIdleRestarts: rest.maxRestarts ?? 5,
      env: {},
    });
    await Deno.writeTextFile(`${folder}/job.sh`, script.text);
    const env = { PATH, SLURM_JOB_ID: "12", RUN: `${folder}/experiments/quickstart`, ...rest.env };
    for (let i = 0; i < times; i++) {
      const { code, err } = await run(["bash", `${folder}/job.sh`, ...rest.words ?? []], {
        env: i === 0 ? env : { ...env, SLURM_RESTART_COUNT: String(i) },
      });
      result.codes.push(code);
      result.err += err;
    }
    result.requeued = await writtenIn(`${folder}/requeued`);
  });
  return result;
}

Deno.test("exit code 75 requeues the job, other codes end it", async () => {
  const again = await tryJob({ program: "exit 75" });
  assert.deepEqual([again.codes, again.requeued], [[75], "requeue 12\n"]);
  assert.match(again.err, /^job 12: [-0-9]+ [:0-9]+: saved; it goes back into the queue .*\n$/);
  for (const code of [0, 1, 2, 137]) {
    assert.deepEqual(await tryJob({ program: `exit ${code}` }), {
      codes: [code],
      requeued: "",
      err: "",
    });
  }
});

Deno.test("an element of an array requeues only itself", async () => {
  const env = { SLURM_JOB_ID: "12", SLURM_ARRAY_JOB_ID: "12", SLURM_ARRAY_TASK_ID: "3" };
  assert.equal((await tryJob({ program: "exit 75", env })).requeued, "requeue 12_3\n");
});

Deno.test("a job that SLURM is ending is not requeued", async () => {
  for (const state of ["COMPLETING", "CANCELLED", ""]) {
    assert.equal((await tryJob({ program: "exit 75", squeue: `echo ${state}` })).requeued, "");
  }
  // TERM arrives while the program saves; the script waits until it has finished.
  const ended = await tryJob({ program: "kill -TERM $PPID; sleep 0.3; exit 75" });
  assert.deepEqual([ended.codes, ended.requeued], [[75], ""]);
  assert.equal((await tryJob({ program: "exit 75", requeue: false })).requeued, "");
});

Deno.test("a controller that does not answer is asked again", async () => {
  const squeue = "echo >>asked; [ $(wc -l <asked) -ge 3 ] && echo RUNNING";
  assert.equal((await tryJob({ program: "exit 75", squeue })).requeued, "requeue 12\n");
  const never = await tryJob({ program: "exit 75", squeue: "exit 1" });
  assert.deepEqual([never.codes, never.requeued], [[75], ""]);
});

Deno.test("the warning signal is forwarded every time", async () => {
  const program =
    "trap 'exit 75' USR2; sleep 0.3; kill -USR2 $PPID; kill -USR2 $PPID; sleep 2 & wait $!; exit 3";
  const warned = await tryJob({ program });
  assert.deepEqual([warned.codes, warned.requeued], [[75], "requeue 12\n"]);
});

Deno.test("a job that was warned goes on when bash lost its exit code", async () => {
  const program = "kill -USR2 $PPID; sleep 0.3; exit 255";
  const lost = await tryJob({ program: `trap : USR2; ${program}` });
  assert.deepEqual([lost.codes, lost.requeued], [[75], "requeue 12\n"]);
  const failed = await tryJob({ program: "exit 255" });
  assert.deepEqual([failed.codes, failed.requeued], [[255], ""]);
});

Deno.test("a job without progress ends, one with progress is requeued", async () => {
  const idle = await tryJob({ program: "exit 75", maxRestarts: 2 }, 3);
  assert.equal(idle.requeued, "requeue 12\n".repeat(2));
  assert.match(idle.err, /nothing new in 2 restarts in a row/);
  const program = `mkdir -p $RUN; echo '{"step":1}' >>$RUN/metrics.jsonl; exit 75`;
  const moving = await tryJob({ program, maxRestarts: 2 }, 4);
  assert.equal(moving.requeued, "requeue 12\n".repeat(4));
  // With another folder in the arguments, the progress is unknown and the job is requeued.
  const words = ["training.output_dir=other"];
  const elsewhere = await tryJob({ program: "exit 75", maxRestarts: 1, words }, 3);
  assert.equal(elsewhere.requeued, "requeue 12\n".repeat(3));
  // Events do not count as progress.
  const events = `mkdir -p $RUN; echo '{"event":"stop"}' >>$RUN/metrics.jsonl; exit 75`;
  assert.equal((await tryJob({ program: events, maxRestarts: 1 }, 2)).requeued, "requeue 12\n");
});

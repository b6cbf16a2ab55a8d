/**
 * Runs inside a SLURM job, as real processes. The tests set SLURM's environment variables and send
 * the scheduler's signals.
 */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { EXIT } from "../../core/errors.ts";
import { graphicsAdapter } from "../../kernels/mod.ts";
import { argv } from "../command_line.ts";
import {
  assertClean,
  assertSameRun,
  lines,
  namesIn,
  readMetrics,
  refuses,
  rgx,
  type Session,
  startRgx,
  stepsIn,
  succeeds,
  tinyConfig,
} from "../support.ts";

/**
 * The environment variables of a batch script on a node.
 * @param restarts how often the job was requeued
 */
function inJob(restarts = 0, more: Record<string, string> = {}): Record<string, string> {
  return {
    SLURM_JOB_ID: "4711",
    SLURM_JOB_NAME: "tiny",
    SLURM_JOB_PARTITION: "GPUQ",
    SLURMD_NODENAME: "n1",
    SLURM_CPUS_PER_TASK: "1",
    SLURM_JOB_END_TIME: `${Math.round(Date.now() / 1000) + 7200}`,
    ...(restarts === 0 ? {} : { SLURM_RESTART_COUNT: `${restarts}` }),
    ...more,
  };
}

const start = (args: readonly string[], env: Record<string, string>) => startRgx(args, { env });

/** A custom reward that takes some time, so that a signal can arrive while it scores. */
const SLOW = `export default async ({ completion }) => {
  await new Promise((done) => setTimeout(done, 3));
  return completion.length % 5;
}`;

// Evaluations take long enough for a signal to arrive in time, also on a busy machine.
const LONG = argv`sft.max_steps=30 training.max_steps=30 training.save_steps=5
  training.eval_strategy=steps training.eval_steps=10 training.max_completion_length=24
  eval.num_examples=${96}`;

test.inFolder("a job that is warned in any phase saves, ends with 75, and resumes to the same bits", async (folder) => {
  const config = await tinyConfig(folder);
  await Deno.writeTextFile(`${folder}/slow.js`, SLOW);
  const args = [config, ...LONG, `rewards=[{path: ${folder}/slow.js}]`];
  await succeeds(["train", ...args, "--output-dir", `${folder}/whole`]);
  const run = `${folder}/run`;
  const saved = (name: string) => namesIn(`${run}/${name}`).length > 0;
  const said = (text: string) => (session: Session) => session.err.includes(text);
  const moments: [what: string, signal: Deno.Signal, isNow: (session: Session) => boolean][] = [
    ["while it starts", "SIGTERM", (s) => s.err.includes("model ")],
    ["in the warm start", "SIGUSR2", () => stepsIn(run, "sft") >= 3],
    ["while it saves", "SIGTERM", () => saved("warm-start/checkpoint-10")],
    ["in the first evaluation", "SIGUSR2", said("Before: ")],
    ["in the first step", "SIGUSR1", said("GRPO: ")],
    ["in a later step", "SIGUSR2", () => stepsIn(run, "train") >= 8],
    ["in an evaluation between steps", "SIGTERM", () => saved("checkpoint-10")],
    ["in a step again", "SIGTERM", () => stepsIn(run, "train") >= 17],
    ["in the last evaluation", "SIGUSR2", said("After: ")],
  ];
  for (const [restart, [what, signal, isNow]] of moments.entries()) {
    // The command is always the same, as in a job script, and without --resume.
    const command = ["train", ...args, "--output-dir", run, "--force"];
    const session = start(command, inJob(restart));
    // An earlier session may have gone so far already: this one has to listen first.
    await session.reaches(what, () => session.err.includes("model ") && isNow(session));
    const { code, out, err } = await session.ends(signal);
    assert.equal(code, EXIT.resumable, `${what}: ${err}`);
    assertClean({ code, out, err });
  }
  const last = await succeeds(["train", ...args, "--output-dir", run, "--force"], {
    env: inJob(moments.length),
  });
  assert.match(last.err, /note: job 4711 was restarted \(9\): going on with its run/);
  await assertSameRun(run, `${folder}/whole`);
  const { job, sessions } = JSON.parse(await Deno.readTextFile(`${run}/run.json`));
  assert.equal(job.restarts, moments.length);
  assert.ok(sessions.length >= moments.length - 1 && sessions.length <= moments.length + 1);
  assert.ok(
    sessions.slice(1, -1).every((s: Record<string, unknown>) => s["status"] === "stopped"),
  );
  const steps = (await readMetrics(run)).filter((line) => line["split"] === "train");
  assert.deepEqual(
    steps.map((line) => line["step"]),
    Array.from({ length: 30 }, (_, i) => i + 1),
  );
});

test.inFolder("more warnings of the scheduler do not end a job before it has saved", async (folder) => {
  const config = await tinyConfig(folder), run = `${folder}/run`;
  const session = start(
    argv`train ${config} --output-dir ${run} training.max_steps=500 training.save_steps=1000
        eval.num_examples=0 sft.max_steps=0 model.init.hidden_size=512
        model.init.intermediate_size=2048`,
    inJob(),
  );
  await session.reaches("a step", () => stepsIn(run, "train") >= 1);
  session.child.kill("SIGUSR2");
  await session.reaches("the answer", () => session.err.includes("SIGUSR2: finishing the work"));
  for (const signal of ["SIGUSR2", "SIGTERM", "SIGTERM"] as const) {
    if (!session.hasEnded) session.child.kill(signal);
  }
  const { code, err } = await session.end;
  assert.equal(code, EXIT.resumable, err);
  assert.doesNotMatch(err, /at once/);
  assert.match(err, /saved .*checkpoint-/);
});

test.inFolder("a run saves and ends with 75 before its job ends, also without a signal", async (folder) => {
  const config = await tinyConfig(folder), run = `${folder}/run`;
  const result = await rgx(argv`train ${config} --output-dir ${run} training.max_steps=100000`, {
    env: inJob(0, { SLURM_JOB_END_TIME: `${Math.round(Date.now() / 1000) + 12}` }),
  });
  assert.equal(result.code, EXIT.resumable, result.err);
  assert.match(result.err, /warning: the run takes about .*, the job ends in \d+ s/);
  assert.match(result.err, /the end of the job: finishing the work under way/);
  const { reason, sessions, job } = JSON.parse(await Deno.readTextFile(`${run}/run.json`));
  assert.equal(reason, "the end of the job");
  assert.deepEqual([sessions.length, sessions[0].job, job.partition], [1, "4711", "GPUQ"]);
});

test.inFolder("several processes are refused before any of them touches the folder", async (folder) => {
  const config = await tinyConfig(folder);
  const step = { SLURM_STEP_ID: "0", SLURM_STEP_NUM_TASKS: "2", SLURM_PROCID: "1" };
  const alone = "srun has started 2 processes without MPI: each would be alone";
  await refuses([
    [argv`train ${config} --output-dir ${folder}/run`, alone, "srun --ntasks=1"],
    [argv`bench --models x --tasks chain_sum`, alone],
    [argv`generate --model x --prompt x`, /process 1 of 2 .*this command is one process/],
  ], { env: inJob(0, step) });
  assert.ok(!await Deno.stat(`${folder}/run`).then(() => true, () => false));
});

Deno.test("rgx doctor reports what a job has, what contradicts it, and whether a config fits", async () => {
  const env = inJob(2, {
    SLURM_MEM_PER_NODE: "2048",
    SLURM_JOB_GPUS: "0,1",
    CUDA_VISIBLE_DEVICES: "1",
    SLURM_NTASKS: "2",
    SLURM_CPUS_PER_TASK: "600",
  });
  const fits = await succeeds(["doctor", "quickstart", "--json"], {
    env: { ...env, RGX_NUM_THREADS: "1" },
  });
  const { job, fit, advice, memory_limited_by } = JSON.parse(lines(fits.out).at(-1)!);
  assert.deepEqual(
    [job.id, job.restarts, job.cpus, job.threads, job.memory_bytes, job.gpus, job.visible_gpus],
    ["4711", 2, 600, 1, 2 ** 31, ["0", "1"], ["1"]],
  );
  assert.ok(job.seconds_left > 7000 && job.seconds_left <= 7200);
  assert.equal(memory_limited_by, "job");
  assert.ok(fit.memory_planned_bytes > 1e8 && fit.estimated_seconds > 1);
  assert.deepEqual(fit.misfits, []);
  for (
    const part of [
      /the job has 600 cores for this process, but it may use \d+: mpirun/,
      /the job has 2 tasks, and this is one process/,
      /SLURM gave 2 GPUs \(0, 1\), this process is told to see 1 \(1\)/,
    ]
  ) assert.ok(advice.some((line: string) => part.test(line)), `${part}\n${advice.join("\n")}`);

  if ((await graphicsAdapter())?.software ?? true) {
    const warned = /warning: SLURM gave this job 2 GPUs, but no graphics card is found/;
    assert.match(fits.err.replaceAll("\n", " "), warned);
  }

  const tight = await rgx(["doctor", "quickstart"], {
    env: inJob(0, { SLURM_MEM_PER_NODE: "150", SLURM_JOB_END_TIME: "" }),
  });
  assert.equal(tight.code, 1, tight.err);
  assertClean(tight);
  assert.match(
    tight.out.replaceAll("\n", " "),
    /needs 2\d\d MB, .* all that SLURM gave the job/,
  );
  await refuses([[["doctor", "quickstart", "training.max_step=3"], "did you mean max_steps"]]);
});

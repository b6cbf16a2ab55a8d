/** Scripts for PBS and LSF: what they ask for, and how they go on. Schedulers are stand-ins. */
import assert from "node:assert/strict";
import { test } from "../core/testing.ts";
import { assertCleanShell } from "./shell_testing.ts";
import { schedulerOf } from "./schedulers.ts";
import { options, refuses, run, standIns } from "./testing.ts";
import { slurmScript, submitText, type TrainScriptOptions } from "./train_script.ts";

const script = (
  scheduler: "pbs" | "lsf",
  more: TrainScriptOptions = {},
  account: string | null = "acct",
) => slurmScript("quickstart", account, { ...options, scheduler, script: "/tmp/j.sh", ...more });

const head = (text: string) =>
  [...text.matchAll(/^#(?:PBS|BSUB) (.*)$/gm)].map((match) => match[1]!);

const FULL: TrainScriptOptions = {
  partition: "gpuq",
  time: "1-02:30:00",
  nodes: 2,
  gpus: 4,
  cpus: 8,
  memory: "64G",
  dependency: "afterok:12",
};

Deno.test("a job asks PBS and LSF for the same as SLURM", async () => {
  const pbs = await script("pbs", { ...FULL, gpuType: "gpu_type=a100", directives: ["-m e"] });
  assert.deepEqual(head(pbs.text), [
    "-N quickstart",
    "-A acct",
    "-q gpuq",
    "-l select=2:ncpus=32:mpiprocs=4:ompthreads=8:ngpus=4:gpu_type=a100:mem=64gb",
    "-l walltime=26:30:00",
    "-l place=scatter",
    "-W depend=afterok:12",
    "-j oe",
    "-o /tmp/logs/",
    "-m e",
  ]);
  const lsf = await script("lsf", { ...FULL, gpuType: "NVIDIAA100" });
  assert.deepEqual(head(lsf.text), [
    "-J quickstart",
    "-P acct",
    "-q gpuq",
    "-n 64",
    '-R "span[ptile=32]"',
    '-R "rusage[mem=64GB]"',
    '-gpu "num=4:gmodel=NVIDIAA100"',
    "-W 26:30",
    '-w "done(12)"',
    "-o /tmp/logs/quickstart-%J.out",
  ]);
  for (const { text } of [pbs, lsf]) {
    assert.match(text, /mpirun --bind-to none -np 8 --map-by ppr:4:node/);
    assert.match(text, / sleep 94800 &/);
    assert.doesNotMatch(text, /SLURM_JOB_ID|srun/);
    await assertCleanShell(text);
  }
  assert.doesNotMatch((await script("pbs", {}, null)).text, /^#PBS -A/m);
  await refuses(() => script("pbs", { gpuType: "a100" }), ["--gpu-type a100", "PBS"]);
  await refuses(() => script("lsf", { dependency: "singleton" }), ["LSF has no such condition"]);
  await refuses(() => script("pbs", { directives: ["m e"] }), ["--directive"]);
});

Deno.test("an array is submitted as the scheduler counts", async () => {
  const sweep = ["training.seed=1,2,3"],
    submitted = async (name: "pbs" | "lsf", list?: string) => {
      const { submit, text } = await script(name, { sweep, ...list && { array: list } });
      await assertCleanShell(text);
      return submitText(submit("j.sh"));
    };
  assert.equal(await submitted("pbs"), "qsub -J 0-2 j.sh");
  assert.equal(await submitted("pbs", "0,2%1"), "qsub -J 0-1%1 j.sh");
  assert.equal(await submitted("pbs", "1"), "qsub -v RGX_ELEMENT=0 j.sh");
  assert.equal(await submitted("lsf"), "bsub -J 'quickstart[1-3]' < j.sh");
  assert.equal(schedulerOf("lsf").idOf("Job <71> is submitted to queue <a>."), "71");
  assert.equal(schedulerOf("pbs").idOf("71[].server"), "71[].server");
});

/** A program that saves and exits with 75 when it is warned or ended, and else after a while. */
const RGX = `echo "$@" >>"$LOG"
trap 'echo saved >>"$LOG"; exit 75' USR2 TERM
[ -z "\${DONE:-}" ] || exit 0
echo '{"step":1}' >>"$RUN/metrics.jsonl"
sleep 20 >/dev/null 2>&1 & wait $!`;

test.inFolder("a job that is warned saves and submits itself again", async (folder) => {
  const log = `${folder}/log`, path = `${folder}/j.sh`, outputDir = `${folder}/run`;
  const again = 'echo "again $* ${RGX_ELEMENT:-}" >>"$LOG"';
  const PATH = await standIns(folder, { qsub: again, bsub: again, rgx: RGX });
  await Deno.mkdir(outputDir);
  const play = async (
    name: "pbs" | "lsf",
    { env = {}, end, ...more }: TrainScriptOptions & { end?: string },
  ) => {
    const { text } = await script(name, {
      workDir: folder,
      program: [`${folder}/bin/rgx`],
      overrides: { training: { output_dir: outputDir } },
      script: path,
      ...more,
    });
    await Deno.mkdir(`${folder}/logs`, { recursive: true });
    await Deno.writeTextFile(path, text.replace(/sleep \d{3,}/, "sleep 1"));
    await Deno.writeTextFile(log, "");
    const ended = end === undefined ? "" : `sleep 0.4; kill -s ${end} $job; `;
    const shell =
      `bash ${path} & job=$!; ${ended}wait $job; while kill -0 $job 2>/dev/null; do wait $job; done; wait $job`;
    const { code } = await run(["bash", "-c", shell], {
      env: { PATH, LOG: log, RUN: outputDir, ...env },
    });
    return {
      code,
      lines: (await Deno.readTextFile(log)).trim().split("\n").slice(1).map((l) => l.trim()),
    };
  };
  assert.deepEqual(await play("pbs", {}), {
    code: 0,
    lines: ["saved", `again -v RGX_ELEMENT= ${path}`],
  });
  const element = { sweep: ["training.seed=1,2"], env: { PBS_ARRAY_INDEX: "1" } };
  const second = await play("pbs", element);
  assert.deepEqual(second.lines, ["saved", `again -v RGX_ELEMENT=1 ${path}`]);
  const lsf = await play("lsf", { ...element, env: { LSB_JOBINDEX: "2" } });
  assert.deepEqual(lsf.lines, ["saved", "again  1"]);
  // A job that is deleted, or that is complete, does not come back.
  assert.deepEqual((await play("lsf", { end: "TERM" })).lines.filter((l) => l !== "saved"), []);
  assert.deepEqual(await play("pbs", { env: { DONE: "1" } }), { code: 0, lines: [] });
  assert.deepEqual(await play("pbs", { requeue: false }), { code: 75, lines: ["saved"] });
});

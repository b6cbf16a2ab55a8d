/**
 * Jobs with two ranks on each of two nodes, on a real SLURM: they complete, are asked to save and
 * requeued, cancelled, and lose a rank. Their curves are those of one process.
 */
import assert from "node:assert/strict";
import { hasBothMpis } from "../../cluster/ranks/mpi/launchers_testing.ts";
import {
  installed,
  Job,
  logOf,
  withCluster,
  type Workplace,
  writeConfigs,
} from "./slurm_jobs_testing.ts";
import { answersIn } from "./ranks_testing.ts";
import { until } from "./waiting.ts";
import { argv } from "../command_line.ts";
import { NEEDED, needs } from "../skipped.ts";
import { assertSameRun, namesIn, readMetrics, rgxProgram } from "../support.ts";

/**
 * Two nodes with two cards each. MPICH: Open MPI 4.1 crashes where several nodes with several ranks
 * each are in fact one machine, since it takes their addresses for different machines.
 */
const RANKS = ["--nodes", "2", "--gpus", "2", "--cpus", "1", "--memory", "1500M", "--mpi", "pmi2"];
/** Four micro-batches of a prompt each, one for every rank. */
const SIZES = argv`training.per_device_train_batch_size=4 training.gradient_accumulation_steps=4
  training.max_steps=20`;

async function submit({ rgx, cluster, folder }: Workplace, name: string, ...more: string[]) {
  const submitted = await rgx(
    ...argv`slurm slow/slow.yaml acct training.output_dir=${name} ${SIZES} ${RANKS}
      --job-name ${name} --submit --json ${more}`,
  );
  const { jobs } = JSON.parse(submitted) as { jobs: string[] };
  return new Job(cluster, jobs[0]!, `${folder}/${name}`);
}

/** The problems and answers of the newest result in a folder. */
async function examplesIn(folder: string): Promise<unknown> {
  const last = namesIn(folder).findLast((name) => name.startsWith("results_all_tasks_"))!;
  const { tasks } = JSON.parse(await Deno.readTextFile(`${folder}/${last}`));
  return Object.values(tasks["spell_backward"].models)
    .map((model) => (model as { examples: unknown }).examples);
}

/** The process of a rank: srun's, not those that it has started, nor those of other clusters. */
async function processOfRank(
  { id, folder }: Job,
  rank: number,
  name = "train",
): Promise<number> {
  const wanted = [`SLURM_JOB_ID=${id}`, `SLURM_PROCID=${rank}`];
  const submitted = folder.replace(/\/[^/]*$/, "");
  for await (const { name: process } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(process)) continue;
    const environ = await Deno.readTextFile(`/proc/${process}/environ`).catch(() => "");
    const variables = environ.split("\0");
    if (!wanted.every((variable) => variables.includes(variable))) continue;
    if (!environ.includes("\0SLURM_STEP_ID=")) continue; // the batch shell
    if (!variables.some((text) => /^SLURM_SUBMIT_DIR=/.test(text) && text.endsWith(submitted))) {
      continue;
    }
    const command = await Deno.readTextFile(`/proc/${process}/cmdline`).catch(() => "");
    if (command.includes(`\0${name}\0`)) return Number(process);
  }
  throw new Error(`rank ${rank} of job ${id} is not there`);
}

Deno.test({
  name: "runs of two ranks on each of two nodes of a real SLURM",
  ignore: needs(installed, NEEDED.slurm) || needs(hasBothMpis, NEEDED.mpi),
  fn: (t) =>
    withCluster(async (at) => {
      const { folder, cluster } = at;
      await writeConfigs(folder, 80);
      await at.rgx("train", "quick/quick.yaml", ...SIZES, "--output-dir", "whole", "--quiet");
      const completes = async (job: Job, restarts: number) => {
        const ended = await job.ended(300);
        assert.equal(ended, `COMPLETED 0:0 ${restarts}`, await logOf(job));
        await assertSameRun(job.folder, `${folder}/whole`);
        return await logOf(job);
      };

      await t.step("the keys of a configuration place the ranks of a job", async () => {
        const keys = ["training.nnodes=2", "training.n_gpus_per_node=2", "--device", "wasm"];
        const program = rgxProgram(
          ["train", "quick/quick.yaml", ...SIZES, ...keys, "--output-dir", "keys"],
        );
        const { code, out, err } = await cluster.run(argv`sbatch --wait --parsable --nodes=2
          --ntasks-per-node=2 --cpus-per-task=1 --mem=3G --output=keys.log --chdir=${folder}
          --wrap ${program.join(" ")}`);
        const log = await Deno.readTextFile(`${folder}/keys.log`).catch(() => out + err);
        assert.equal(code, 0, log);
        assert.match(log, /4 ranks, MPICH/);
        await assertSameRun(`${folder}/keys`, `${folder}/whole`);
        // The last step of the job has had tasks on both nodes.
        for (const node of [2, 3]) {
          const slurmd = await Deno.readTextFile(`${cluster.folder}/log/slurmd.${node}.log`);
          assert.match(slurmd, /launch task StepId=\d+\.\d+ request/);
        }
      });

      await t.step("one is told to save and is requeued, another is cancelled", async () => {
        const [requeued, cancelled] = await Promise.all([
          submit(at, "requeued"),
          submit(at, "cancelled"),
        ]);
        await Promise.all([
          requeued.reached(3)
            .then(() => cluster.run(["scancel", "--batch", "--signal=USR2", requeued.id])),
          cancelled.reached(3).then(() => cluster.run(["scancel", cancelled.id])),
        ]);
        const log = await completes(requeued, 1);
        assert.match(log, /4 ranks, MPICH/);
        assert.match(log, /SIGUSR2/);
        assert.match(await cancelled.ended(), /^CANCELLED \S+ 0$/);
        const last = (await readMetrics(cancelled.folder)).at(-1)!;
        assert.equal(last["event"], "stop", await logOf(cancelled));
      });

      await t.step("one goes on from its checkpoint when a rank was killed", async () => {
        const killed = await submit(at, "killed", "training.save_steps=2");
        await killed.reached(5);
        Deno.kill(await processOfRank(killed, 3), "SIGKILL");
        await completes(killed, 1);
      });

      await t.step(
        "a benchmark of four ranks is that of one process, also without a rank",
        async () => {
          const models = ["--models", "whole", "--tasks", "spell_backward"];
          const flags = ["--no-base", "--no-charts", "--temperature", "1"];
          const sizes = ["--num-examples", "2500", "--max-new-tokens", "60"];
          await at.rgx("bench", ...models, ...sizes, ...flags, "--output-dir", "alone", "--quiet");
          const submitted = await at.rgx(
            ...argv`slurm bench acct ${models} ${sizes} --output-dir together ${RANKS}
              --device wasm --submit --json -- ${flags}`,
          );
          const { jobs } = JSON.parse(submitted) as { jobs: string[] };
          const job = new Job(cluster, jobs[0]!, `${folder}/together`);
          await until("there are answers", 90, async () => await answersIn(job.folder) > 0);
          Deno.kill(await processOfRank(job, 2, "bench"), "SIGKILL");
          assert.equal(await job.ended(), "COMPLETED 0:0 1", await logOf(job));
          assert.equal(await answersIn(job.folder), 2500);
          assert.deepEqual(await examplesIn(job.folder), await examplesIn(`${folder}/alone`));
        },
      );
    }),
});

/**
 * Job scripts of rgx on a real SLURM (throwaway_cluster.ts). Jobs are warned before their limit,
 * preempted and requeued; slurm_ranks_test.ts cancels them. Their results are compared with runs
 * without interruption. All jobs run side by side, for about two minutes.
 */
import assert from "node:assert/strict";
import { run as runProgram } from "../../cluster/testing.ts";
import { tinyModelFolder } from "../../training/tiny_model_testing.ts";
import {
  installed,
  Job,
  logOf,
  SMALL,
  withCluster,
  type Workplace,
  writeConfigs,
} from "./slurm_jobs_testing.ts";
import { until } from "./waiting.ts";
import { argv } from "../command_line.ts";
import { NEEDED, needs } from "../skipped.ts";
import { assertSameRun, namesIn, rgxProgram, TINY } from "../support.ts";

Deno.test({
  name: "job scripts on a real SLURM",
  ignore: needs(installed, NEEDED.slurm),
  fn: (t) =>
    withCluster(async (at) => {
      const { folder, cluster } = at;
      await writeConfigs(folder, 50);
      const long = ["training.max_steps=90", "training.save_steps=1000"];
      const short = ["training.max_steps=25", "training.save_steps=1000"];
      const slow = "slow/slow.yaml";

      // All jobs start now. The steps below say what each of them is for.
      const [limited, preempted, search] = await Promise.all([
        at.train(slow, "limited", ...long, "--time", "2", "--warn", "60", "--sbatch=--nodelist=n2"),
        at.train(slow, "preempted", ...short, "--partition=scavenge", "--sbatch=--nodelist=n1"),
        at.train(
          slow,
          "search",
          ...short,
          ...argv`--sweep training.learning_rate=6e-4,3e-4 --sbatch=--nodelist=n2`,
        ),
      ]);
      const bench = await submitBenchmark(at);
      const doctor = doctorInJob(at);
      const wholes = Promise.all([["whole", long], ["briefly", short]].map(([name, steps]) =>
        at.rgx("train", "quick/quick.yaml", ...steps!, "--output-dir", `${name}`, "--quiet")
      ));

      const element = new Job(cluster, `${search.id}_1`, `${folder}/search_learning_rate-3e-4`);
      const [, important] = await Promise.all([
        element.reached(3)
          .then(() =>
            cluster.run(["scancel", "--batch", "--signal=USR2", element.id])
          ),
        preempted.reached(2).then(() =>
          cluster.run(argv`sbatch --parsable --partition=GPUQ --nodelist=n1 --gres=gpu:8 --mem=100M
            --time=5 --output=/dev/null --wrap=${"sleep 2"}`)
        ),
        wholes,
      ]);

      await t.step("an element of an array saves on demand, the other is left alone", async () => {
        assert.match(await element.ended(), /^COMPLETED 0:0 1$/);
        assert.equal(await element.steps(), 25);
        const other = new Job(cluster, `${search.id}_0`, `${folder}/search_learning_rate-6e-4`);
        assert.match(await other.ended(), /^COMPLETED 0:0 0$/);
        await assertSameRun(other.folder, `${folder}/briefly`);
      });

      await t.step("a preempted job comes back and has the curve of an untouched one", async () => {
        assert.equal(important.code, 0, important.err);
        assert.match(await new Job(cluster, important.out.trim(), "").ended(), /^COMPLETED/);
        assert.match(await preempted.ended(), /^COMPLETED 0:0 1$/);
        await assertSameRun(preempted.folder, `${folder}/briefly`);
      });

      await t.step(
        "a benchmark as an array: a failing element takes no other with it",
        async () => {
          await checkBenchmark(at, bench);
        },
      );

      await t.step("rgx doctor inside srun sees the job, and what fits into it", async () => {
        const { code, out, err } = await doctor;
        assert.equal(code, 0, err);
        const { job, fit } = JSON.parse(out.trim().split("\n").at(-1)!);
        assert.deepEqual([job.node, job.tasks, job.cpus, job.threads], ["n2", 1, 1, 1]);
        assert.equal(job.memory_bytes, 400 * 2 ** 20);
        assert.ok(job.seconds_left > 0 && job.seconds_left <= 180, `${job.seconds_left}`);
        assert.deepEqual(fit.misfits, []);
        assert.ok(fit.memory_planned_bytes > 1e6 && fit.estimated_seconds > 0);
      });

      await t.step(
        "sbatch understands all options, odd names, spaces and quotes",
        () => checkHeader(at),
      );

      await t.step(
        "a job is warned before its limit, saves, is requeued and ends like one without a limit",
        async () => {
          // SLURM may send the warning a minute early, and a busy machine is slow: then the rest
          // takes several more runs.
          const [state, code, restarts] = (await limited.ended()).split(" ");
          const log = await logOf(limited);
          assert.deepEqual([state, code], ["COMPLETED", "0:0"], log);
          assert.match(restarts!, /^[1-9]$/);
          assert.match(log, /SIGUSR2: finishing the work under way/);
          const runs = log.match(/^model /gm)?.length;
          assert.equal(runs, Number(restarts) + 1, "all runs are in one log");
          await assertSameRun(limited.folder, `${folder}/whole`);
          const marks = namesIn(`${folder}/logs`);
          assert.deepEqual(marks.filter((name) => name.startsWith(".limited")), []);
        },
      );
    }),
});

/** `rgx doctor quick.yaml` in a job of its own, with one core. */
function doctorInJob({ folder, cluster }: Workplace): ReturnType<typeof runProgram> {
  const request = ["--nodelist=n2", "--ntasks=1", "--cpus-per-task=1", "--mem=400M", "--time=3"];
  const command = rgxProgram(["doctor", `${folder}/quick/quick.yaml`, "--json"]);
  return cluster.run(["srun", ...request, ...command], folder);
}

/** Two models × two tasks in two elements. The second element fails until a file exists. */
async function submitBenchmark({ folder, rgx }: Workplace): Promise<string[]> {
  await tinyModelFolder(`${folder}/model one`);
  await tinyModelFolder(`${folder}/two`);
  const setup = '[ "${SLURM_ARRAY_TASK_ID:-}" != 1 ] || [ -e mended ] || exit 3';
  // Without instructions, as the tiny model has few positions.
  const submitted = await rgx(
    ...argv`slurm bench acct --models ${"model one"} two --tasks chain_sum,spell_backward
      --num-examples 4 --max-new-tokens 8 ${SMALL} --gpus 2 --output-dir res --submit --json
      --setup ${setup} --sbatch=--nodelist=n2 -- --no-instructions`,
  );
  return JSON.parse(submitted).jobs;
}

async function checkBenchmark({ folder, cluster }: Workplace, jobs: string[]): Promise<void> {
  const [array, join] = jobs as [string, string];
  const job = (id: string) => new Job(cluster, id, folder);
  const logOfElement = (id: string) => Deno.readTextFile(`${folder}/logs/bench-${id}.out`);
  assert.match(await job(`${array}_1`).ended(), /^FAILED 3:0 0$/);
  const first = await job(`${array}_0`).ended();
  assert.match(first, /^COMPLETED 0:0 0$/, `${first}\n${await logOfElement(`${array}_0`)}`);
  // The samples that exist are joined and plotted. The missing ones make the job fail.
  assert.match(await job(join).ended(), /^FAILED 1:0 0$/);
  assert.match(await logOfElement(`${join}_0`), /8 samples have no answer/);
  const names = () => namesIn(`${folder}/res`);
  const results = () => names().filter((name) => name.startsWith("results_all_tasks_"));
  assert.equal(results().length, 1, names().join(" "));
  assert.ok(names().some((name) => /\.png$/.test(name)), names().join(" "));

  await Deno.writeTextFile(`${folder}/mended`, "");
  const again = await cluster.run(["sbatch", "--parsable", "--array=1", "slurm_bench.sh"], folder);
  assert.equal(again.code, 0, again.err);
  assert.match(await job(`${again.out.trim()}_1`).ended(), /^COMPLETED 0:0 0$/);
  let second = "";
  await until("the element submits the job that joins", 20, async () => {
    const { out } = await cluster.run(["squeue", "-h", "-t", "all", "-o", "%A"]);
    second = out.split("\n").filter(Boolean).sort((a, b) => Number(a) - Number(b)).at(-1)!;
    return Number(second) > Number(again.out.trim());
  });
  assert.match(await job(second).ended(), /^COMPLETED 0:0 0$/);
  const whole = JSON.parse(await Deno.readTextFile(`${folder}/res/${results().at(-1)}`));
  assert.deepEqual(Object.keys(whole.tasks), ["chain_sum", "spell_backward"]);
  for (
    const { models } of Object.values<{ models: Record<string, { total: number }> }>(whole.tasks)
  ) {
    assert.deepEqual(Object.keys(models), ["model one", "two"]);
    assert.deepEqual(Object.values(models).map(({ total }) => total), [4, 4]);
  }
}

/** `sbatch --test-only`, and a job in a folder whose name needs quotes in a shell. */
async function checkHeader({ folder, cluster, rgx }: Workplace): Promise<void> {
  const odd = `${folder}/it's "odd" $HOME #1 50%j; ü`;
  await Deno.mkdir(odd);
  await Deno.writeTextFile(`${odd}/my config.yaml`, TINY);
  const script = `${odd}/job of $USER.sh`;
  const written = await rgx(
    ...argv`slurm ${odd}/${"my config.yaml"} an-account.x logging.project=${`it's; $(id) "x"`}
      --work-dir ${odd} --partition scavenge --time 0-00:10:00 --gpus 2 --gpu-type a100 --cpus 2
      --memory 400M --nodes 1 --requeue --warn 60 --max-restarts 2 --dependency singleton
      --array 0-1%1 --sbatch=${"--comment='two words # no comment'"} --sbatch mail-type=NONE
      --setup ${"echo running in $PWD"} --device wasm --output ${script} --json`,
  );
  const { job_name, logs } = JSON.parse(written);
  assert.deepEqual([job_name, logs], ["my_config", `${odd}/logs`]);
  const tested = await cluster.run(["sbatch", "--test-only", script]);
  assert.equal(tested.code, 0, tested.err);
  const { code, err } = await runProgram(["bash", "-n", script]);
  assert.equal(code, 0, err);
  // sbatch refuses a job that cannot run on any node.
  const large = await cluster.run(["sbatch", "--test-only", "--gres=gpu:a100:99", script]);
  assert.equal(large.code, 1);
  // Like a submission from another job, whose variables sbatch passes on.
  const outer = ["SLURM_MEM_PER_CPU=100", "SLURM_CPU_BIND=quiet,mask_cpu:0x80", "SLURM_GPUS=9"];
  const real = await cluster.run(["env", ...outer, "sbatch", "--parsable", "--array=0", script]);
  assert.equal(real.code, 0, real.err);
  const job = new Job(cluster, real.out.trim(), odd);
  assert.match(await job.ended(), /^COMPLETED 0:0 0$/);
  const log = await Deno.readTextFile(`${odd}/logs/my_config-${job.id}_0.out`);
  assert.ok(log.includes(`running in ${odd}`), log);
  assert.ok((await Deno.stat(`${odd}/experiments/my_config_seed-42/metrics.jsonl`)).isFile);
}

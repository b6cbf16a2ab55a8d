import assert from "node:assert/strict";
import { test } from "../core/testing.ts";
import { assertCleanShell } from "./shell_testing.ts";
import type { RunConfig } from "../configs/schema/run_config.ts";
import { options, refuses, run, sbatch, standIns } from "./testing.ts";
import { slurmScript, type TrainScriptOptions, trainTemplate } from "./train_script.ts";

const quickstart = (more: TrainScriptOptions = {}) =>
  slurmScript("quickstart", "acct", { ...options, ...more });

Deno.test("without flags a job requests the documented resources", async () => {
  const { text, jobName, logs, notes } = await slurmScript(
    "leg_counting_qwen7b",
    "my-account",
    options,
  );
  assert.equal(jobName, "leg_counting_qwen7b");
  assert.equal(logs, "/tmp/logs");
  assert.deepEqual(sbatch(text), [
    "--job-name=leg_counting_qwen7b",
    "--account=my-account",
    "--nodes=1",
    "--ntasks-per-node=1",
    "--cpus-per-task=4",
    "--gres=gpu:1",
    "--mem=16G",
    "--time=04:00:00",
    "--signal=B:USR2@600",
    "--requeue",
    "--open-mode=append",
    "--output=/tmp/logs/%x-%j.out",
  ]);
  assert.ok(text.startsWith("#!/bin/bash\n#SBATCH "));
  assert.match(text, /^export HF_HUB_OFFLINE=1 /m);
  assert.match(text, /\n {2}\/opt\/rgx\n {2}train leg_counting_qwen7b "\$@" --resume\n/);
  assert.deepEqual(notes, []);
  assert.ok(text.split("\n").length < 80, "the script is no longer short");
  await assertCleanShell(text);
});

test.inFolder("all options are in the script, with quoted names and an absolute config", async (folder) => {
  const workDir = `${folder}/it's "odd" $HOME #1 50% ü`;
  await Deno.mkdir(workDir);
  const config = `${workDir}/my config.yaml`;
  await Deno.writeTextFile(config, "_base_: quickstart\n");
  const { text, jobName, notes } = await slurmScript("my config.yaml", "a.b_c@gpu", {
    ...options,
    workDir,
    partition: "scavenge,GPUQ",
    time: "1-12:00:00",
    gpus: 1,
    gpuType: "",
    cpus: 8,
    memory: "64GB",
    requeue: false,
    warn: 300,
    sbatch: ["--qos=high", "#SBATCH --mail-type=END", "exclude=n[1-2]", "-C 'a&b'"]
      .concat("--comment=two words #1", "--error=logs.err", "--nice=1 --exclusive"),
    modules: ["cuda/12.4"],
    setup: ["ulimit -n 4096"],
    online: true,
    dependency: "afterok:12:13",
    args: ["data.system_prompt=say 'hi'", "training.max_steps=7"],
    device: "webgpu",
  });
  assert.equal(jobName, "my_config");
  assert.deepEqual(sbatch(text).slice(1), [
    "--account=a.b_c@gpu",
    "--partition=scavenge,GPUQ",
    "--nodes=1",
    "--ntasks-per-node=1",
    "--cpus-per-task=8",
    "--gres=gpu:1",
    "--mem=64G",
    "--time=1-12:00:00",
    "--dependency=afterok:12:13",
    "--signal=B:USR2@300",
    "--no-requeue",
    "--open-mode=append",
    `--output="${folder}/it's \\"odd\\" $HOME #1 50%% ü/logs/%x-%j.out"`,
    "--qos=high",
    "--mail-type=END",
    "--exclude=n[1-2]",
    "-C 'a&b'",
    '--comment="two words #1"',
    "--error=logs.err",
    "--nice=1 --exclusive",
  ]);
  assert.doesNotMatch(text, /HF_HUB_OFFLINE|scontrol/);
  assert.match(text, /^module load cuda\/12\.4 \|\| failed 'module load cuda\/12\.4'$/m);
  assert.match(text, /^\{ ulimit -n 4096\n\} \|\| failed 'ulimit -n 4096'$/m);
  assert.ok(text.includes(`"data.system_prompt=say 'hi'" training.max_steps=7 --device webgpu`));
  assert.deepEqual(notes, []);
  await assertCleanShell(text);
  const cd = text.split("\n").find((line) => line.startsWith("cd "))!;
  assert.equal((await run(["bash", "-c", `${cd}; pwd`])).out, `${workDir}\n`);
});

Deno.test("a job asks for what its plan says, where the user does not say it", async () => {
  const planned: string[] = [];
  const plan = (runs: readonly RunConfig[], _ranks: number, notes: string[]) => {
    planned.push(...runs.map(({ training }) => `${training.learning_rate}`));
    notes.push("a note");
    return Promise.resolve({ cpus: 6, memory: 5.5 * 2 ** 30 });
  };
  const sweep = ["training.learning_rate=1e-6,2e-6"];
  const byPlan = await quickstart({ sweep, plan });
  assert.deepEqual(planned, ["0.000001", "0.000002"]);
  assert.deepEqual(byPlan.notes, ["a note"]);
  const lines = sbatch(byPlan.text);
  assert.ok(lines.includes("--cpus-per-task=6") && lines.includes("--mem=6G"), lines.join());
  const said = await quickstart({ plan, cpus: 2, memory: "1G" });
  const own = sbatch(said.text);
  assert.ok(own.includes("--cpus-per-task=2") && own.includes("--mem=1G"), own.join());
  assert.match(said.notes.join(), /1G of memory is less than the 6G that the plan asks for/);
});

test.inFolder("a line of the setup that fails ends the job; variables that it sets are kept", async (folder) => {
  const PATH = await standIns(folder, { srun: 'echo "srun $SET"' });
  const job = async (...setup: string[]) => {
    const script = await quickstart({ setup, requeue: false });
    return await run(["bash", "-c", script.text], { env: { PATH, SLURM_JOB_ID: "7" } });
  };
  const { code, out } = await job("export SET=1 # kept", "true\ntrue");
  assert.deepEqual([code, out], [0, "srun 1\n"]);
  const failed = await job("true", "cat /no/such/file", "export SET=1");
  assert.deepEqual([failed.code, failed.out], [1, ""]);
  assert.match(failed.err, /this line of its setup failed: cat \/no\/such\/file/);
  const modules = ["cuda"];
  const { text } = await quickstart({ modules });
  const missing = await run(["bash", "-c", text], { env: { PATH, SLURM_JOB_ID: "7" } });
  assert.equal(missing.code, 1);
  assert.match(missing.err, /setup failed: module load cuda/);
});

test.inFolder("in a container the program sees the job's folder and the cache of models", async (folder) => {
  await Deno.writeTextFile(`${folder}/rgx.sif`, "");
  const PATH = await standIns(folder, {
    srun: 'shift 3; exec "$@"',
    apptainer: 'echo "$APPTAINER_BIND: $*"',
  });
  const job = async (more: TrainScriptOptions) => {
    const apptainer = `${folder}/rgx.sif`;
    const { text } = await quickstart({ apptainer, ...more });
    await assertCleanShell(text);
    const env = { PATH, SLURM_JOB_ID: "7", HF_HOME: "/scratch/hf", HF_HUB_CACHE: "" };
    return (await run(["bash", "-c", text], { env })).out;
  };
  const image = `${folder}/rgx.sif rgx train quickstart`;
  assert.equal(
    await job({}),
    `/tmp,/scratch/hf: exec --nv --pwd /tmp ${image} --resume\n`,
  );
  assert.equal(
    await job({ device: "wasm" }),
    `/tmp,/scratch/hf: exec --pwd /tmp ${image} --device wasm --resume\n`,
  );
  await Deno.mkdir(`${folder}/my models/m`, { recursive: true });
  await Deno.mkdir(`${folder}/work`);
  const args = ["model.init=null", `model.model_name_or_path="${folder}/my models/m"`];
  const elsewhere = await job({ args, workDir: `${folder}/work` });
  const seen = `${folder}/my models/m,${folder}/work,/scratch/hf: exec`;
  assert.ok(elsewhere.startsWith(seen), elsewhere);
  await refuses(() => job({ apptainer: "no.sif" }), ["no.sif: there is no such image"]);
  await refuses(() => job({ apptainer: `${folder}/a,b.sif` }), ["misreads a comma or colon"]);
});

Deno.test("a run may be named after its job", async () => {
  const args = ["logging.run_name=words-${oc.env:SLURM_JOB_ID}"];
  const { text } = await quickstart({
    env: { SLURM_JOB_ID: "7" }, // written within another job
    args,
  });
  assert.ok(text.includes('train quickstart "logging.run_name=words-\\${oc.env:SLURM_JOB_ID}"'));
  assert.match(text, /^progress\(\) \{ echo "\$\{SLURM_RESTART_COUNT:-0\}"; \}$/m);
  assert.doesNotMatch(text, /^run=/m);
  await assertCleanShell(text);
});

Deno.test("a job on the CPU asks for no card", async () => {
  const cases: [TrainScriptOptions, cardsAndNotes: RegExp][] = [
    [{}, /^--gres=gpu:1 $/],
    [{ gpus: 0 }, /^ $/],
    [{ device: "wasm" }, /^ $/],
    [{ time: "08:00" }, /minutes and seconds to SLURM/],
    [{ device: "wasm", gpus: 2 }, /^ --device wasm uses no graphics card/],
    [{ args: ["use_cpu=true"] }, /^ $/],
  ];
  for (const [more, expected] of cases) {
    const { text, notes } = await quickstart(more);
    const cards = sbatch(text).filter((option) => /^--(gres|gpus)/.test(option)).join();
    assert.match(`${cards} ${notes.join()}`, expected);
  }
  const args = ["use_cpu=true"];
  assert.match((await quickstart({ args })).text, /train quickstart use_cpu=true --device wasm /);
  await refuses(() => quickstart({ args, device: "webgpu" }), [
    "--device webgpu: training.use_cpu is true",
  ]);
});

Deno.test("a search is one array with different values, names and folders", async () => {
  const { text } = await quickstart({
    sweep: ["training.learning_rate=1e-4,2e-4", "training.num_generations=8,16"],
    array: "1-3%2",
  });
  assert.ok(sbatch(text).includes("--array=1-3%2"));
  assert.ok(sbatch(text).includes("--output=/tmp/logs/%x-%A_%a.out"));
  assert.deepEqual(
    text.match(/^ {2}\d\) run=\S+/gm),
    [1, 2, 3].map((i) =>
      `  ${i}) run=./experiments/quickstart_learning_rate-${
        i < 2 ? "1e-4" : "2e-4"
      }_num_generations-${i % 2 ? 16 : 8}`
    ),
  );
  assert.match(text, /set -- training\.learning_rate=1e-4 training\.num_generations=16 /);
  await assertCleanShell(text);
  const seeds = await quickstart({ array: "0,2" });
  assert.match(
    seeds.text,
    /2\) run=\.\/experiments\/quickstart_seed-44 && set -- training\.seed=44/,
  );
});

Deno.test("a user's template is filled in and checked for mistakes SLURM ignores", async () => {
  const fromTemplate = (text: string) => quickstart({ template: { name: "own.sh", text } });
  const { text } = await fromTemplate(
    "#!/bin/sh\n{{sbatch}}\ncd {{work_dir}}\n{{program}} train {{config}}\n",
  );
  assert.match(text, /^#SBATCH --requeue$/m);
  assert.match(text, /cd \/tmp\n\/opt\/rgx train quickstart\n$/);
  assert.equal(
    (await fromTemplate(trainTemplate())).text,
    (await quickstart()).text,
  );
  const spaced = await fromTemplate("#!/bin/sh\n{{ sbatch }}\ntrain {{ config }}\n");
  assert.match(spaced.text, /^train quickstart$/m);
  // For a job that is not requeued, the printed template's part for requeuing is left out too.
  const template = { name: "own.sh", text: trainTemplate() };
  assert.equal(
    (await quickstart({ requeue: false, template })).text,
    (await quickstart({ requeue: false })).text,
  );
  const cases: [string, string][] = [
    ["#!/bin/sh\r\n{{sbatch}}\n{{config}}", "CRLF"],
    ["{{sbatch}}\n{{config}}", "own.sh:1: expected the first line to begin with #!"],
    ["#!/bin/sh\n{{sbatch}}\n", "expected the placeholder {{config}}"],
    [
      "#!/bin/sh\n{{sbatch}}\n{{confg}}",
      "own.sh:3: unknown placeholder {{confg}}, did you mean config?",
    ],
    ["#!/bin/sh\n{{sbatch}}\n{{config}} {{JOB-NAME}}", "unknown placeholder {{JOB-NAME}}"],
    ["#!/bin/sh\nset -e\n{{sbatch}}\n{{config}}", "is after the first command"],
  ];
  for (const [template, why] of cases) await refuses(() => fromTemplate(template), ["own.sh", why]);
});

Deno.test("what cannot run is refused before anything is written", async () => {
  const cases: [TrainScriptOptions, string[], string?][] = [
    [{}, ['ACCOUNT "a; rm -rf ~"', 'it has ";"'], "a; rm -rf ~"],
    [{}, ['ACCOUNT "$(id)"'], "$(id)"],
    [{}, ['ACCOUNT ""', "is empty"], ""],
    [{ partition: "GPUQ `id`" }, ['--partition "GPUQ `id`"', "it has a space"]],
    [{ gpuType: "a100:8" }, ["--gpu-type"]],
    [{ time: "four hours" }, ["--time four hours: is no time"]],
    [{ memory: "320" }, ["--memory 320: has no unit"]],
    [{ warn: 9000 }, ["--warn 9000", "at most 7200 seconds"]],
    [{ workDir: "/no/such" }, ["--work-dir /no/such: there is no such folder"]],
    [{ workDir: "/dev/null" }, ["--work-dir /dev/null: is no folder"]],
    [{ jobName: "a b" }, ['--job-name "a b"']],
    [{ dependency: "later" }, ["--dependency later"]],
    [{ dependency: "afterok:abc" }, ["--dependency afterok:abc"]],
    [{ dependency: "afterok:1 -x" }, ["--dependency afterok:1 -x"]],
    [{ mpi: "pmix" }, ["--mpi pmix: is for several ranks, and the job has one"]],
    [{ sbatch: ["--signal=USR1@60"] }, ["the script sets --signal itself"]],
    [{ sbatch: ["-t 10"] }, ["the script sets -t itself"]],
    [{ sbatch: ["no-requeue"] }, ["the script sets --no-requeue itself"]],
    [{ sbatch: ["--error=no/such/%j.err"] }, ["there is no folder /tmp/no/such"]],
    [{ sbatch: ["-o 'no such/%j'"] }, ["there is no folder /tmp/no such"]],
    [{ sbatch: ["--qos=a\n#SBATCH --x"] }, ["expected one option of sbatch"]],
    [{ modules: ["x; id"] }, ['--module "x; id"']],
    [{ array: "%2" }, ["--array %2: expected numbers too, or --sweep"]],
    [{ sweep: ["training.seed=1,2"], array: "0-2" }, ["--array: 2 is no combination"]],
    [{ sweep: ["training.learnig_rate=1,2"] }, ["did you mean learning_rate?"]],
    [{ sweep: ["training.max_steps=10,soon"] }, ['found text "soon"']],
    [{ args: ["training.max_step=1"] }, ["did you mean max_steps?"]],
  ];
  for (const [more, says, account = "acct"] of cases) {
    await refuses(() => slurmScript("quickstart", account, { ...options, ...more }), says);
  }
  await refuses(() => slurmScript("quikstart", "acct", options), ['"quikstart"', "quickstart?"]);
});

/** `rgx slurm` without a cluster: what it writes, prints and refuses. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { sbatch, standIns } from "../../cluster/testing.ts";
import { argv } from "../command_line.ts";
import { namesIn, refuses, rgx, succeeds, tinyConfig } from "../support.ts";

test.inFolder("a script is written to the current folder, and overwritten with --force only", async (folder) => {
  await tinyConfig(folder);
  const args = ["slurm", "tiny.yaml", "acct", "--gpus", "1"];
  const first = await succeeds(args, { cwd: folder });
  assert.equal(first.out, "slurm_tiny.sh\n");
  assert.equal(first.err, "submit it with: sbatch slurm_tiny.sh\n");
  const script = await Deno.readTextFile(`${folder}/slurm_tiny.sh`);
  assert.ok(script.includes(`train ${folder}/tiny.yaml "$@" --resume`), script);
  assert.match(script, /^ {2}\/\S+deno\S* run -A .*\/main\.ts$/m);
  assert.ok((await Deno.stat(`${folder}/logs`)).isDirectory);
  await refuses([[args, "slurm_tiny.sh: the file is there already"]], { cwd: folder });
  const forced = await rgx([...args, "--force", "--json"], { cwd: folder });
  assert.deepEqual(JSON.parse(forced.out), {
    script: `${folder}/slurm_tiny.sh`,
    job_name: "tiny",
    logs: `${folder}/logs`,
    jobs: [],
    notes: [],
  });
  // A configuration that names the account leaves its place to the first override.
  const flags = argv`slurm tiny.yaml --gpus 1 --output b.sh -- --slurm.account other --top-k 3`;
  await succeeds(flags, { cwd: folder });
  assert.match(await Deno.readTextFile(`${folder}/b.sh`), /--account=other\n[^]*--top-k 3/);
});

test.inFolder("a model that cannot fit the card of the job is refused, but for --no-check", async (folder) => {
  const large = argv`model.init.hidden_size=6144 model.init.num_hidden_layers=40`;
  const args = ["slurm", "quickstart", "acct", ...large, "--gpu-type"];
  // The largest card with this name.
  const small = /NVIDIA V100 SXM2 32 GB: the run needs [\d.]+ GB, 31\.0 GB available/;
  const advice = "--no-check writes the script all the same";
  await refuses([[[...args, "v100"], small, advice]], { cwd: folder });
  assert.deepEqual(namesIn(folder), []);
  await succeeds([...args, "v100", "--no-check"], { cwd: folder });
});

test.inFolder("the template can be printed, changed and used", async (folder) => {
  const printed = await rgx(["slurm", "--print-template"]);
  assert.match(printed.out, /^#!\/bin\/bash\n\{\{sbatch\}\}\n/);
  await Deno.writeTextFile(`${folder}/own.sh`, printed.out.replace("set -uo", "date\nset -uo"));
  const args = ["slurm", "quickstart", "acct", "--gpus", "1", "--template", "own.sh"];
  await succeeds(args, { cwd: folder });
  assert.match(await Deno.readTextFile(`${folder}/slurm_quickstart.sh`), /\ndate\nset -uo /);
  assert.match((await rgx(["slurm", "bench", "--print-template"])).out, /\n\{\{models\}\}\n/);
});

test.inFolder("--submit passes the script to sbatch and prints the id of the job", async (folder) => {
  const env = {
    PATH: await standIns(folder, {
      sbatch: `echo "$*" >>${folder}/calls; echo $((40 + $(wc -l <${folder}/calls)))`,
      scontrol: "echo MaxTime=1-00:00:00",
    }),
  };
  const flags = ["--gpus", "2", "--submit"];
  const train = await succeeds(["slurm", "quickstart", "acct", ...flags], { env, cwd: folder });
  assert.equal(train.out, "slurm_quickstart.sh\nsubmitted: 41\n");
  const ranks = sbatch(await Deno.readTextFile(`${folder}/slurm_quickstart.sh`)).join(" ");
  assert.match(ranks, /--ntasks-per-node=2 --cpus-per-task=4 --gres=gpu:2 /);
  const bench = argv`slurm bench acct --models a --no-check --tasks chain_sum,ab dice ${flags}`
    .concat("--", "--samples", "8");
  const both = await rgx(bench, { env, cwd: folder });
  assert.equal(both.out, "slurm_bench.sh\nsubmitted: 42, 43\n", both.err);
  assert.match(
    await Deno.readTextFile(`${folder}/slurm_bench.sh`),
    /TASKS=\(chain_sum ab dice\)[^]* --resume --samples 8\n/,
  );
  const calls = (await Deno.readTextFile(`${folder}/calls`)).replaceAll(`${folder}/`, "");
  assert.match(
    calls,
    /^--parsable slurm_quickstart.sh\n--parsable --array=0-1 slurm_bench.sh element\n/,
  );
  const long = argv`slurm quickstart acct --time 2-00:00:00 --force --submit --partition gpu`;
  await refuses([[long, "partition gpu allows at most 1-00:00:00"]], { env, cwd: folder });
});

test.inFolder("what is missing is said before the queue, with the commands that fetch it", async (folder) => {
  const env = { HF_HOME: `${folder}/hf`, HF_HUB_CACHE: "" };
  await Deno.writeTextFile(
    `${folder}/a.yaml`,
    "model: Qwen/Qwen2.5-1.5B-Instruct\nlora: { r: 8 }\ntask: gsm8k\nrewards: [correctness]\n",
  );
  const lacks = [
    /Qwen\/Qwen2\.5-1\.5B-Instruct is not here \(looked in .*models--Qwen/,
    /gsm8k is not here \(looked in .*datasets--openai--gsm8k/,
    /\n {2}rgx pull Qwen\/Qwen2\.5-1\.5B-Instruct\n {2}rgx pull --dataset openai\/gsm8k\n$/,
  ];
  // A missing reward file is a mistake in the configuration: it is named with the rest.
  const reward = "rewards=[{path: r.ts}]", both = [...lacks, "rewards.0.path: no such file: r.ts"];
  await refuses([
    [argv`slurm a.yaml acct`, ...lacks],
    [argv`slurm a.yaml acct --sweep lora.r=4,8 --device wasm`, ...lacks],
    [argv`train a.yaml --dry-run --device reference`, ...lacks],
    [argv`train a.yaml --device reference`, ...lacks],
    [
      argv`slurm bench acct --tasks dice,gsm8k --models Qwen/Qwen2.5-1.5B-Instruct`,
      ...lacks,
    ],
    [argv`train a.yaml ${reward}`, ...both],
    [argv`slurm a.yaml acct ${reward}`, ...both],
    [argv`doctor a.yaml ${reward}`, ...both],
    [argv`sweep a.yaml ${reward} seed=1,2`, ...both],
  ], { env, cwd: folder });
  const doctor = await rgx(["doctor", "a.yaml"], { env, cwd: folder });
  assert.equal(doctor.code, 1);
  assert.match(doctor.out, lacks.at(-1)!);
  assert.deepEqual(namesIn(folder), ["a.yaml"]);

  // What an earlier job makes may come later.
  const later = ["slurm", "quickstart", "acct", "model.init=null", "lora.r=8"];
  later.push("model.model_name_or_path=./run", "--dependency", "afterok:1");
  const waits = await succeeds(later, { env, cwd: folder });
  assert.match(waits.err, /note: model\.model_name_or_path: \.\/run does not exist yet/);
  await succeeds(["slurm", "a.yaml", "acct", "--no-check"], { env, cwd: folder });
});

test.inFolder("a job on the CPU asks for no card, and for the memory of its plan", async (folder) => {
  await tinyConfig(folder);
  const header = async (...flags: string[]) => {
    const args = ["slurm", "tiny.yaml", "acct", "--force", ...flags];
    await succeeds(args, { cwd: folder });
    return sbatch(await Deno.readTextFile(`${folder}/slurm_tiny.sh`)).join(" ");
  };
  const card = await header();
  assert.match(card, /--cpus-per-task=4 --gres=gpu:1 --mem=[45]G /);
  assert.doesNotMatch(card, /--partition/);
  const cpu = await header("--device", "wasm");
  assert.match(cpu, /--cpus-per-task=2 --mem=3G /);
  assert.doesNotMatch(cpu, /gres/);
  const broken = ["slurm", "tiny.yaml", "acct", "--force", "--setup", "if true; then"];
  await refuses([[broken, "--setup: bash cannot read the script with it"]], { cwd: folder });
});

test.inFolder("a run that is in the folder already is named, with what differs", async (cwd) => {
  const slurm = async (...args: string[]) => {
    const { err } = await succeeds(argv`slurm quickstart acct --device wasm --force ${args}`, {
      cwd,
    });
    return err.replaceAll(/\s+/g, " ");
  };
  assert.doesNotMatch(await slurm(), /holds a/);
  const run = `${cwd}/experiments/quickstart`;
  await Deno.mkdir(run, { recursive: true });
  await Deno.writeTextFile(`${run}/run.json`, JSON.stringify({ status: "completed" }));
  await Deno.writeTextFile(`${run}/config.yaml`, "training: { learning_rate: 0.5 }");
  const said = await slurm();
  assert.match(said, /experiments\/quickstart holds a finished run: the job trains only/);
  assert.match(said, /other values: training\.learning_rate \(there 0\.5, here 0\.0/);
  // What a run writes is what the job will find, and elements of an array have other folders.
  const { out } = await rgx(["train", "quickstart", "--print-config"], { cwd });
  await Deno.writeTextFile(`${run}/config.yaml`, out);
  assert.doesNotMatch(await slurm(), /other values/);
  await Deno.rename(run, `${run}_seed-43`);
  const array = await slurm("--array", "0-1");
  assert.match(array, /quickstart_seed-43 holds a finished run/);
  assert.doesNotMatch(array, /quickstart holds|seed-42|other values: logging/);
});

test.inFolder("mistakes end with 2 and a message, and write nothing", async (folder) => {
  const config = ["slurm", "quickstart"];
  const bench = ["slurm", "bench", "a", "--models", "m", "--tasks", "dice"];
  await refuses([
    [["slurm"], /missing argument 'config'/],
    [[...config, "a;id"], /ACCOUNT "a;id": cannot be such a name \(it has ";"\)/],
    [[...config, "a", "--resume"], /unknown option '--resume'/],
    [[...config, "--max-steps", "3"], /'--max-steps'; .* stands as max_steps=VALUE, or after --/],
    [[...config, "a", "--gpus", "-1"], /expected an integer/],
    [[...config, "a", "--template", "no.sh"], /--template no.sh: there is no such file/],
    [[...config, "a", "--template", "."], /--template .: is a folder, expected a file/],
    [[...config, "a", "--partion", "x"], /unknown option '--partion'[^]*--partition/],
    [["slurm", "--gpus", "2", "bench", "a"], /write --gpus after "slurm bench"/],
    [["slurm", "bench", "a", "--models", "m", "--tasks", "chain_sun"], /chain_sum/],
    [
      [...bench, "gsm8k=no.jsonl", "--no-check"],
      /--tasks gsm8k=no.jsonl: there is no file no.jsonl/,
    ],
    [[...bench, "--", "--temprature", "1"], /unknown option '--temprature'[^]*--temperature/],
    [[...bench, "--", "--shard", "0/2"], /--shard: the script sets this flag itself/],
    [
      ["slurm", "bench", "a", "--models", "m", "--tasks", "dice", "--array", "0-3"],
      /expected %N/,
    ],
  ], { cwd: folder });
  assert.deepEqual(namesIn(folder), []);
});

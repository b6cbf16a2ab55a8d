/** `rgx slurm` without a cluster: what it writes, prints and refuses. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { sbatch, standIns } from "../../cluster/testing.ts";
import { argv } from "../command_line.ts";
import { assertClean, rgx, tinyConfig } from "../support.ts";

test.inFolder("a script is written to the current folder, and overwritten with --force only", async (folder) => {
  await tinyConfig(folder);
  const args = ["slurm", "tiny.yaml", "acct", "--gpus", "1"];
  const first = await rgx(args, "", {}, folder);
  assert.equal(first.code, 0, first.err);
  assert.equal(first.out, "slurm_tiny.sh\n");
  assert.equal(first.err, "submit it with: sbatch slurm_tiny.sh\n");
  const script = await Deno.readTextFile(`${folder}/slurm_tiny.sh`);
  assert.ok(script.includes(`train ${folder}/tiny.yaml "$@" --resume`), script);
  assert.match(script, /^ {2}\/\S+deno\S* run -A .*\/main\.ts$/m);
  assert.ok((await Deno.stat(`${folder}/logs`)).isDirectory);
  const again = await rgx(args, "", {}, folder);
  assert.equal(again.code, 2);
  assertClean(again);
  assert.match(again.err, /slurm_tiny\.sh: the file is there already/);
  const forced = await rgx([...args, "--force", "--json"], "", {}, folder);
  assert.deepEqual(JSON.parse(forced.out), {
    script: `${folder}/slurm_tiny.sh`,
    job_name: "tiny",
    logs: `${folder}/logs`,
    jobs: [],
    notes: [],
  });
  // A configuration that names the account leaves its place to the first override.
  const flags = argv`slurm tiny.yaml --gpus 1 --output b.sh -- --slurm.account other --top-k 3`;
  const second = await rgx(flags, "", {}, folder);
  assert.equal(second.code, 0, second.err);
  assert.match(await Deno.readTextFile(`${folder}/b.sh`), /--account=other\n[^]*--top-k 3/);
});

test.inFolder("a model that cannot fit the card of the job is refused, but for --no-check", async (folder) => {
  const large = argv`model.init.hidden_size=6144 model.init.num_hidden_layers=40`;
  const args = ["slurm", "quickstart", "acct", ...large, "--gpu-type"];
  const small = await rgx([...args, "v100"], "", {}, folder);
  assert.equal(small.code, 2, small.err);
  // The largest card with this name.
  assert.match(small.err, /NVIDIA V100 SXM2 32 GB: the run needs [\d.]+ GB, 31\.0 GB available/);
  assert.match(small.err, /--no-check writes the script all the same/);
  assert.deepEqual([...Deno.readDirSync(folder)], []);
  const unchecked = await rgx([...args, "v100", "--no-check"], "", {}, folder);
  assert.equal(unchecked.code, 0, unchecked.err);
});

test.inFolder("the template can be printed, changed and used", async (folder) => {
  const printed = await rgx(["slurm", "--print-template"]);
  assert.match(printed.out, /^#!\/bin\/bash\n\{\{sbatch\}\}\n/);
  await Deno.writeTextFile(`${folder}/own.sh`, printed.out.replace("set -uo", "date\nset -uo"));
  const args = ["slurm", "quickstart", "acct", "--gpus", "1", "--template", "own.sh"];
  const { code, err } = await rgx(args, "", {}, folder);
  assert.equal(code, 0, err);
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
  const train = await rgx(["slurm", "quickstart", "acct", ...flags], "", env, folder);
  assert.equal(train.code, 0, train.err);
  assert.equal(train.out, "slurm_quickstart.sh\nsubmitted: 41\n");
  const ranks = sbatch(await Deno.readTextFile(`${folder}/slurm_quickstart.sh`)).join(" ");
  assert.match(ranks, /--ntasks-per-node=2 --cpus-per-task=4 --gres=gpu:2 /);
  const bench = argv`slurm bench acct --models a --no-check --tasks chain_sum,ab dice ${flags}`
    .concat("--", "--samples", "8");
  const both = await rgx(bench, "", env, folder);
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
  const long = ["slurm", "quickstart", "acct", "--time", "2-00:00:00", "--force", "--submit"]
    .concat("--partition", "gpu");
  const { code, err } = await rgx(long, "", env, folder);
  assert.equal(code, 2);
  assert.match(err, /partition gpu allows at most 1-00:00:00/);
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
  ];
  const commands = "  rgx pull Qwen/Qwen2.5-1.5B-Instruct\n  rgx pull --dataset openai/gsm8k\n";
  const bench = ["slurm", "bench", "acct", "--tasks", "dice,gsm8k"];
  const calls = [
    ["slurm", "a.yaml", "acct"],
    ["slurm", "a.yaml", "acct", "--sweep", "lora.r=4,8", "--device", "wasm"],
    ["train", "a.yaml", "--dry-run", "--device", "reference"],
    ["train", "a.yaml", "--device", "reference"],
    [...bench, "--models", "Qwen/Qwen2.5-1.5B-Instruct"],
  ];
  for (const args of calls) {
    const result = await rgx(args, "", env, folder);
    assert.deepEqual([result.code, result.out], [2, ""], `${args.join(" ")}: ${result.err}`);
    for (const says of lacks) assert.match(result.err, says);
    assert.ok(result.err.endsWith(commands), result.err);
    assertClean(result);
  }
  const doctor = await rgx(["doctor", "a.yaml"], "", env, folder);
  assert.equal(doctor.code, 1);
  assert.ok(doctor.out.endsWith(commands), doctor.out);
  // A missing reward file is a mistake in the configuration: it is named with the rest.
  for (const command of ["train", "slurm", "doctor", "sweep"]) {
    const axis = command === "sweep" ? ["seed=1,2"] : [];
    const account = command === "slurm" ? ["acct"] : [];
    const args = [command, "a.yaml", ...account, "rewards=[{path: r.ts}]", ...axis];
    const result = await rgx(args, "", env, folder);
    assert.equal(result.code, 2, result.err);
    for (const says of [...lacks, /rewards\.0\.path: no such file: r\.ts/]) {
      assert.match(result.err, says);
    }
    assert.ok(result.err.endsWith(commands), result.err);
  }
  assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["a.yaml"]);

  // What an earlier job makes may come later.
  const later = ["slurm", "quickstart", "acct", "model.init=null", "lora.r=8"];
  later.push("model.model_name_or_path=./run", "--dependency", "afterok:1");
  const waits = await rgx(later, "", env, folder);
  assert.equal(waits.code, 0, waits.err);
  assert.match(waits.err, /note: model\.model_name_or_path: \.\/run does not exist yet/);
  const unchecked = await rgx(["slurm", "a.yaml", "acct", "--no-check"], "", env, folder);
  assert.equal(unchecked.code, 0, unchecked.err);
});

test.inFolder("a job on the CPU asks for no card, and for the memory of its plan", async (folder) => {
  await tinyConfig(folder);
  const header = async (...flags: string[]) => {
    const args = ["slurm", "tiny.yaml", "acct", "--force", ...flags];
    const { code, err } = await rgx(args, "", {}, folder);
    assert.equal(code, 0, err);
    return sbatch(await Deno.readTextFile(`${folder}/slurm_tiny.sh`)).join(" ");
  };
  const card = await header();
  assert.match(card, /--cpus-per-task=4 --gres=gpu:1 --mem=[45]G /);
  assert.doesNotMatch(card, /--partition/);
  const cpu = await header("--device", "wasm");
  assert.match(cpu, /--cpus-per-task=2 --mem=3G /);
  assert.doesNotMatch(cpu, /gres/);
  const broken = ["slurm", "tiny.yaml", "acct", "--force", "--setup", "if true; then"];
  const { code, err } = await rgx(broken, "", {}, folder);
  assert.equal(code, 2);
  assert.match(err, /--setup: bash cannot read the script with it/);
});

test.inFolder("a run that is in the folder already is named, with what differs", async (cwd) => {
  const slurm = async (...args: string[]) => {
    const { code, err } = await rgx(
      ["slurm", "quickstart", "acct", "--device", "wasm", "--force", ...args],
      "",
      {},
      cwd,
    );
    assert.equal(code, 0, err);
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
  const { out } = await rgx(["train", "quickstart", "--print-config"], "", {}, cwd);
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
  const cases: [string[], RegExp][] = [
    [["slurm"], /missing argument 'config'/],
    [[...config, "a;id"], /ACCOUNT "a;id": cannot be such a name \(it has ";"\)/],
    [[...config, "a", "--resume"], /unknown option '--resume'/],
    [[...config, "--max-steps", "3"], /'--max-steps'; .* stands as max_steps=VALUE, or after --/],
    [[...config, "a", "--gpus", "64"], /64 ranks share 32 prompts/],
    [[...config, "a", "--gpus", "-1"], /expected an integer/],
    [[...config, "a", "--warn", "99999"], /--warn 99999: .* at most 7200 seconds/],
    [[...config, "a", "--warn", "10m"], /--warn 10m: expected seconds/],
    [
      [...config, "a", "--nodes", "2", "--mpi", "none"],
      /--mpi none: starts processes that do not/,
    ],
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
  ];
  for (const [args, says] of cases) {
    const result = await rgx(args, "", {}, folder);
    assert.equal(result.code, 2, `${args.join(" ")}: ${result.err}`);
    assertClean(result);
    assert.match(result.err, says);
  }
  assert.deepEqual([...Deno.readDirSync(folder)], []);
});

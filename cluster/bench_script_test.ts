import assert from "node:assert/strict";
import { test, withFolder } from "../core/testing.ts";
import { BENCH_TEMPLATE, benchScript, type BenchScriptOptions } from "./bench_script.ts";
import { assertCleanShell } from "./shell_testing.ts";
import { options, refuses, run, sbatch, standIns, writtenIn } from "./testing.ts";

const what = { models: ["runs/a/checkpoint-450", "Qwen/Qwen2.5-7B-Instruct"], script: "/tmp/b.sh" };
const tasks = ["leg_counting", "tower_of_hanoi"];
const bench = (more: Partial<BenchScriptOptions> = {}) =>
  benchScript("acct", { ...options, ...what, tasks, ...more });

Deno.test("an array has a GPU per element, and variables at the top of the script", async () => {
  const { text, jobName } = await bench({
    gpus: 6,
    maxParallel: 2,
    numExamples: 200,
    maxNewTokens: 64,
  });
  assert.equal(jobName, "bench");
  const header = sbatch(text);
  assert.ok(header.includes("--array=0-5%2") && header.includes("--gres=gpu:1"));
  assert.ok(header.includes("--output=/tmp/logs/%x-%A_%a.out"));
  assert.ok(text.includes("MODELS=(\n  runs/a/checkpoint-450\n  Qwen/Qwen2.5-7B-Instruct\n)\n"));
  assert.ok(text.includes("TASKS=(leg_counting tower_of_hanoi)\nNUM_EXAMPLES=200 "));
  assert.ok(text.includes("MAX_NEW_TOKENS=64 ") && text.includes("NUM_GPUS=6\n"));
  assert.ok(text.split("\n").length <= 127, "the script is no longer short");
  for (const more of [{}, { requeue: false }, { oneNode: true }, { models: ["it's $x"] }]) {
    await assertCleanShell((await bench(more)).text);
  }
});

Deno.test("with --one-node, one job has all GPUs of a node", async () => {
  const { text } = await bench({ oneNode: true });
  assert.ok(sbatch(text).includes("--gres=gpu:8"));
  assert.doesNotMatch(text, /--array|join/);
});

Deno.test("with --nodes, one job has a rank for each GPU of its nodes", async () => {
  const needs = { cpus: 4, memory: 2 ** 30 };
  const { text } = await bench({ nodes: 2, gpus: 4, needs });
  const header = sbatch(text);
  for (const line of ["--nodes=2", "--ntasks-per-node=4", "--gres=gpu:4", "--mem=4G"]) {
    assert.ok(header.includes(line), header.join(" "));
  }
  assert.doesNotMatch(text, /--array|join/);
  await assertCleanShell(text);
  const ranks = { nodes: 2, gpus: 2, mpi: "pmi2" };
  const { calls } = await called(ranks, [], { SLURM_JOB_ID: "5" });
  assert.deepEqual(calls, [
    `srun --nodes=2 --ntasks=4 --ntasks-per-node=2 --mpi=pmi2 --kill-on-bad-exit=1 rgx ${COMMON}`,
  ]);
  const submitted = await called(ranks, [], { NUM_GPUS: "3" });
  assert.deepEqual(submitted.calls, ["sbatch --parsable --ntasks-per-node=3 --gres=gpu:3 F/b.sh"]);
});

Deno.test("on the CPU no GPU is requested", async () => {
  for (const more of [{}, { oneNode: true }, { nodes: 2 }]) {
    assert.doesNotMatch((await bench({ ...more, device: "wasm" })).text, /--gres/);
  }
});

test.inFolder("models and files are relative to the job's folder, or absolute", async (folder) => {
  await Deno.mkdir(`${folder}/own`);
  await Deno.writeTextFile(`${folder}/rows.jsonl`, "");
  const { text, notes } = await bench({
    workDir: folder,
    models: ["own", "core", "runs/a/checkpoint-450", "org/name"],
    tasks: ["gsm8k=rows.jsonl", "deno.json"],
  });
  const [models] = /MODELS=\([^)]*\)/.exec(text)!;
  const root = Deno.cwd();
  assert.equal(models, `MODELS=(\n  own\n  ${root}/core\n  runs/a/checkpoint-450\n  org/name\n)`);
  assert.ok(text.includes(`TASKS=(gsm8k=rows.jsonl ${root}/deno.json)`), text);
  assert.match(notes.join(), /^the model runs\/a\/checkpoint-450 does not exist yet/);
});

/** Runs a script with stand-in programs that record their arguments. */
async function called(
  more: Partial<BenchScriptOptions>,
  args: string[],
  env: Record<string, string>,
  edit = (text: string) => text,
): Promise<{ code: number; calls: string[]; out: string }> {
  let result = { code: 0, calls: [] as string[], out: "" };
  await withFolder(async (folder) => {
    const tell = (name: string) => `echo "${name} $*" >>${folder}/calls`;
    const PATH = await standIns(folder, {
      sbatch: `${tell("sbatch")}; echo $(($(wc -l <${folder}/calls) + 70))`,
      srun: tell("srun"),
      rgx: tell("rgx"),
    });
    const path = `${folder}/b.sh`;
    const { text, logs } = await bench({
      ...more,
      workDir: folder,
      script: path,
      program: ["rgx"],
    });
    await Deno.mkdir(logs);
    await Deno.writeTextFile(path, edit(text));
    const { code, out, err } = await run(["bash", path, ...args], { env: { PATH, ...env } });
    assert.equal(err, "");
    const calls = await writtenIn(`${folder}/calls`);
    const lines = calls.replaceAll(folder, "F").split("\n").filter((line) => line !== "");
    result = { code, out, calls: lines };
  });
  return result;
}

const element = (index: number) => ({
  SLURM_JOB_ID: "70",
  SLURM_ARRAY_JOB_ID: "70",
  SLURM_ARRAY_TASK_ID: String(index),
  SLURM_ARRAY_TASK_MIN: "0",
});

Deno.test("called by hand, the script submits the array and the job that merges", async () => {
  const edit = (text: string) => text.replace("NUM_GPUS=8", "NUM_GPUS=3");
  const { code, calls, out } = await called({}, [], {}, edit);
  assert.deepEqual([code, out], [0, "71\n72\n"]);
  assert.deepEqual(calls, [
    "sbatch --parsable --array=0-2 F/b.sh element",
    "sbatch --parsable --dependency=afterany:71 --array=0 --gres=none --cpus-per-task=2 --mem=8G " +
    "--time=01:00:00 F/b.sh join",
  ]);
  const cpu = await called({ oneNode: true, device: "wasm" }, [], {}, edit);
  assert.deepEqual(cpu.calls, ["sbatch --parsable F/b.sh"]);
  const node = await called({ oneNode: true }, [], {}, edit);
  assert.deepEqual(node.calls, ["sbatch --parsable --gres=gpu:3 F/b.sh"]);
});

const COMMON =
  "bench --models runs/a/checkpoint-450 Qwen/Qwen2.5-7B-Instruct --tasks leg_counting " +
  "tower_of_hanoi --num-examples 100 --output-dir benchmark_results --resume";
const SRUN = `srun --nodes=1 --ntasks=1 --kill-on-bad-exit=1 rgx ${COMMON}`;

Deno.test("each element gets its shard; with sbatch the first one submits the merge", async () => {
  assert.deepEqual((await called({}, ["element"], element(3))).calls, [`${SRUN} --shard 3/8`]);
  const first = await called({ memory: "4G", cpus: 1, time: "30" }, [], element(0));
  assert.deepEqual(first.calls, [
    "sbatch --parsable --dependency=afterany:70 --array=0 --gres=none --cpus-per-task=1 --mem=4G " +
    "--time=30 F/b.sh join",
    `${SRUN} --shard 0/8`,
  ]);
  assert.deepEqual((await called({}, [], element(1))).calls, [`${SRUN} --shard 1/8`]);
  const again = await called({}, [], { ...element(0), SLURM_RESTART_COUNT: "1" });
  assert.deepEqual(again.calls, [`${SRUN} --shard 0/8`]);
  assert.deepEqual((await called({}, ["join"], element(0))).calls, [`rgx ${COMMON} --merge`]);
  const fewer = (text: string) => text.replace("NUM_GPUS=8", "NUM_GPUS=2");
  assert.deepEqual((await called({}, [], element(2), fewer)).calls, []);
  // NUM_GPUS is larger than in the line #SBATCH --array, which only bash notices.
  const more = (text: string) => text.replace("NUM_GPUS=8", "NUM_GPUS=20");
  const eight = { ...element(7), SLURM_ARRAY_TASK_MAX: "7" };
  assert.deepEqual((await called({}, [], eight, more)).calls, [`${SRUN} --shard 7/8`]);
  const twenty = { ...element(7), SLURM_ARRAY_TASK_MAX: "19" };
  assert.deepEqual((await called({}, ["element"], twenty, more)).calls, [`${SRUN} --shard 7/20`]);
  const node = await called({ oneNode: true, maxNewTokens: 9 }, [], { SLURM_JOB_ID: "5" }, fewer);
  assert.deepEqual(node.calls, [`${SRUN} --max-new-tokens 9 --devices 0,1`]);
  const cpu = await called({ oneNode: true, device: "wasm" }, [], { SLURM_JOB_ID: "5" });
  assert.deepEqual(cpu.calls, [`${SRUN} --device wasm --workers 8`]);
});

Deno.test("the environment has precedence over the variables in the script", async () => {
  const given = { MODELS: "a b", TASKS: "chain_sum", NUM_EXAMPLES: "7", MAX_NEW_TOKENS: "5" };
  const fromEnv = await called({}, ["element"], { ...element(1), ...given, NUM_GPUS: "3" });
  assert.deepEqual(fromEnv.calls, [
    "srun --nodes=1 --ntasks=1 --kill-on-bad-exit=1 rgx bench --models a b --tasks chain_sum " +
    "--num-examples 7 --output-dir benchmark_results --resume --max-new-tokens 5 --shard 1/3",
  ]);
  const { calls } = await called({}, [], { NUM_GPUS: "2" });
  assert.equal(calls[0], "sbatch --parsable --array=0-1 F/b.sh element");
});

Deno.test("a benchmark that cannot run is refused", async () => {
  const cases: [Partial<BenchScriptOptions>, string][] = [
    [{ models: [] }, "no model is named"],
    [{ tasks: [] }, "no task is named"],
    [{ gpus: 0 }, "--gpus 0: expected at least 1"],
    [{ nodes: 2, oneNode: true }, "--nodes 2: --one-node takes one node"],
    [{ nodes: 2, maxParallel: 2 }, "--array %2: with --nodes there is no array"],
    [{ mpi: "pmix" }, "--mpi pmix: is for the ranks of --nodes"],
    [{ nodes: 2, mpi: "p m" }, "expected a type of srun --mpi=list"],
    [{ memory: "64" }, "--memory 64: has no unit"],
    [
      { template: { name: "t.sh", text: "#!/bin/sh\n{{sbatch}}\n" } },
      "t.sh: expected the placeholder",
    ],
  ];
  for (const [more, why] of cases) await refuses(() => bench(more), [why]);
  assert.match(BENCH_TEMPLATE, /\{\{models\}\}/);
});

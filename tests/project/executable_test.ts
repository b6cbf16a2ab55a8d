/**
 * The executable that `deno task compile` builds, in an empty folder, without a home folder, npm or
 * network. The tests are ignored where dist/rgx is not built. `deno task compile` tries every part
 * of it (`rgx doctor --self`); what else must hold is here.
 */
import assert from "node:assert/strict";
import { parquetReadObjects } from "hyparquet";
import { hasBothMpis, launch, launchers } from "../../cluster/ranks/mpi/launchers_testing.ts";
import { runCommand } from "../../core/machine/run_command.ts";
import { exists } from "../../core/paths.ts";
import { test } from "../../core/testing.ts";
import { versionLine } from "../../core/version.ts";
import { hasWebgpu } from "../../kernels/devices/webgpu/testing.ts";
import { argv } from "../command_line.ts";
import { lineCount, signalled } from "../jobs/ranks_testing.ts";
import { NEEDED, needs } from "../skipped.ts";
import { assertSameRun, lines, namesIn, readMetrics, runs, tinyConfig } from "../support.ts";

const executable = new URL("../../dist/rgx", import.meta.url).pathname;
const built = await exists(executable);

/** Whether this user may start a process without a network (Linux, root). */
const canUnshare = (await runCommand(["unshare", "-n", "true"]))?.success === true;

/** Runs the executable with an empty environment and, where possible, without a network. */
async function succeeds(cwd: string, args: readonly string[], env: Record<string, string> = {}) {
  const command = [...canUnshare ? ["unshare", "-n"] : [], executable, ...args];
  return await runs(command, { cwd, clearEnv: true, env });
}

/** The summary that a run prints with --json. */
const summaryOf = ({ out }: { out: string }) => JSON.parse(lines(out).at(-1)!);

test.inFolder("the executable runs with glibc 2.27 and later (docs/reliability.md)", async () => {
  using file = await Deno.open(executable);
  // The names of the versions that the loader compares stand near the beginning.
  const head = new Uint8Array(2 ** 20), length = await file.read(head);
  assert.equal(length, head.length);
  const text = new TextDecoder("latin1").decode(head);
  const minors = [...text.matchAll(/GLIBC_2\.(\d+)/g)].map(([, minor]) => Number(minor));
  assert.ok(minors.length > 5);
  assert.equal(Math.max(...minors), 27);
}, needs(built && Deno.build.os === "linux", NEEDED.executable));

test.inFolder("the executable prints the version of the checkout", async (folder) => {
  const { out } = await succeeds(folder, ["--version"]);
  assert.equal(out.split(" ")[1], versionLine().split(" ")[1]);
}, needs(built, NEEDED.executable));

test.inFolder(
  "the executable runs a short quickstart in an empty folder and resumes it",
  async (folder) => {
    const short = argv`train quickstart sft.max_steps=4 training.max_steps=2 eval.num_examples=16
    training.report_to=all --json`;
    const env = { TRACKIO_DIR: `${folder}/trackio` };
    const { status, steps, eval_after, checkpoint } = summaryOf(await succeeds(folder, short, env));
    assert.deepEqual([status, steps, eval_after.total], ["completed", 2, 16]);
    assert.ok(await exists(`${folder}/${checkpoint}`), checkpoint);
    assert.deepEqual(namesIn(env.TRACKIO_DIR), ["inbox"]);
    const more = await succeeds(folder, [...short, "training.max_steps=3", "--resume"], env);
    assert.equal(summaryOf(more).steps, 3);
  },
  needs(built, NEEDED.executable),
);

test.inFolder("the executable writes a job script that starts the executable", async (folder) => {
  await succeeds(folder, ["slurm", "quickstart", "acct", "--gpus", "1"]);
  const script = await Deno.readTextFile(`${folder}/slurm_quickstart.sh`);
  assert.ok(script.includes(`\n  ${executable}\n  train quickstart "$@" --resume\n`), script);
}, needs(built, NEEDED.executable));

for (const device of ["webgpu", "vulkan"]) {
  test.inFolder(
    `the executable trains on a GPU that only has a driver (${device})`,
    async (folder) => {
      // Sizes are smaller than the quickstart's, because the GPU may be a software adapter.
      const done = await succeeds(
        folder,
        argv`train quickstart --device ${device} max_steps=3 sft.max_steps=2 eval.num_examples=4
        num_generations=4 per_device_train_batch_size=8 training.max_completion_length=8 --json`,
      );
      assert.match(done.err, new RegExp(`device +${device}, \\S+`));
      const summary = summaryOf(done);
      assert.deepEqual([summary.status, summary.steps], ["completed", 3]);
      const record = await Deno.readTextFile(`${folder}/${summary.output_dir}/run.json`);
      assert.equal(JSON.parse(record).device, device);
      assert.ok(JSON.parse(record).adapter.name.length > 0);
      const planned = summary.memory_planned_bytes, peak = summary.peak_memory_bytes;
      // The plan takes all words of the warm start as long as the longest one, which has twice the
      // letters of the shortest one. Its scratch memory grows with these rows.
      const share = peak / planned;
      assert.ok(share > 0.85 && share <= 1, `${peak} of ${planned} planned bytes`);
    },
    needs(built, NEEDED.executable) || needs(hasWebgpu, NEEDED.webgpu),
  );
}

/** The command lines of processes whose current folder is `folder`; empty without /proc. */
async function processesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of namesIn("/proc")) {
    const cwd = await Deno.readLink(`/proc/${name}/cwd`).catch(() => null);
    if (cwd === folder) found.push(await Deno.readTextFile(`/proc/${name}/cmdline`));
  }
  return found;
}

const HOARDER = `const kept: unknown[] = [];
let calls: number = 0;
export default () => {
  if (++calls === 10) for (;;) kept.push(new Uint8Array(5e7).fill(1));
  return calls % 2;
};
`;

const JUDGE = `enum Value { None = 0, Full = 1 }
interface Input { completion: string; logExtra(column: string, value: string): void }
let calls: number = 0;
export default function judge({ completion, logExtra }: Input): Value {
  logExtra("wasm", typeof (globalThis as any).WebAssembly);
  if (++calls === 5) for (;;);
  return completion.includes("a") ? Value.Full : Value.None;
}
`;

test.inFolder(
  "the executable trains with rewards in TypeScript, which hang or take too much memory",
  async (folder) => {
    await Deno.writeTextFile(`${folder}/judge.ts`, JUDGE);
    await Deno.writeTextFile(`${folder}/hoarder.ts`, HOARDER);
    const rewards = "rewards=[{path: judge.ts, timeout: 0.2}, {path: hoarder.ts, timeout: 60}]";
    const { err } = await succeeds(
      folder,
      argv`train quickstart sft.max_steps=2
      training.max_steps=1 eval.num_examples=0 training.generation_batch_size=16
      training.per_device_train_batch_size=16 output_dir=run ${rewards}`,
    );
    assert.match(err, /reward judge failed and counts 0: gave no value within 0.2 s/);
    assert.match(err, /reward hoarder failed and counts 0: took more than 1024 MiB of memory/);
    const step = (await readMetrics(`${folder}/run`)).find(({ split }) => split === "train")!;
    assert.equal(step["rewards/judge/errors"], 3);
    const table = await Deno.readFile(`${folder}/run/completions/completions_00001.parquet`);
    const rows = await parquetReadObjects({ file: table.buffer });
    const wasm = rows.map((row) => row["wasm"]).filter((value) => value !== null);
    assert.deepEqual(new Set(wasm), new Set(["undefined"]));
    assert.deepEqual(await processesIn(folder), []);
  },
  needs(built, NEEDED.executable),
);

test.inFolder(
  "a killed rank of the executable ends all; one process goes on to the same bytes",
  async (dir) => {
    const config = await tinyConfig(dir), env = { RGX_NUM_THREADS: "1" };
    const args = (run: string) =>
      argv`train ${config} training.max_steps=12 --output-dir ${run} --device wasm
      training.per_device_train_batch_size=8 training.gradient_accumulation_steps=2`;
    await succeeds(dir, args(`${dir}/whole`), env);
    const run = `${dir}/run`,
      { code, err } = await signalled(
        "SIGKILL",
        (mark) => launch(launchers[0]!, 2, [executable, ...args(run)], { ...env, ...mark }),
        async () => await lineCount(`${run}/metrics.jsonl`) >= 13,
      );
    assert.notEqual(code, 0, err);
    await succeeds(dir, [...args(run), "--resume"], env);
    await assertSameRun(run, `${dir}/whole`);
  },
  needs(built, NEEDED.executable) || needs(hasBothMpis, NEEDED.mpi),
);

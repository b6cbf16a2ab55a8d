/**
 * The executable that `deno task compile` builds, in an empty folder, without a home folder, npm or
 * network. The tests are ignored where dist/rgx is not built. `deno task compile` tries every part
 * of it (`rgx doctor --self`); what else must hold is here.
 */
import assert from "node:assert/strict";
import { parquetReadObjects } from "hyparquet";
import { withFolder } from "../../core/testing.ts";
import { versionLine } from "../../core/version.ts";
import { argv } from "../command_line.ts";
import { hasWebgpu } from "../../kernels/devices/webgpu/testing.ts";
import { NEEDED, needs } from "../skipped.ts";
import { namesIn } from "../support.ts";

const executable = new URL("../../dist/rgx", import.meta.url).pathname;
const built = await exists(executable);

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch {
    return false;
  }
}

/** Whether this user may start a process without a network (Linux, root). */
async function canUnshare(): Promise<boolean> {
  try {
    return (await new Deno.Command("unshare", { args: ["-n", "true"] }).output()).success;
  } catch {
    return false; // no such program
  }
}

/** Runs the executable in `cwd` with an empty environment and, where possible, no network. */
async function run(cwd: string, args: string[], env: Record<string, string> = {}) {
  const [command, before] = await canUnshare() ? ["unshare", ["-n", executable]] : [executable, []];
  const { code, stdout, stderr } = await new Deno.Command(command, {
    args: [...before, ...args],
    cwd,
    clearEnv: true,
    env: { NO_COLOR: "1", ...env },
  }).output();
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

async function inEmptyFolder(body: (folder: string) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    await body(folder);
  });
}

Deno.test({
  name: "the executable runs with glibc 2.27 and later (docs/reliability.md)",
  ignore: needs(built && Deno.build.os === "linux", NEEDED.executable),
  fn: async () => {
    using file = await Deno.open(executable);
    // The names of the versions that the loader compares stand near the beginning.
    const head = new Uint8Array(2 ** 20), length = await file.read(head);
    assert.equal(length, head.length);
    const text = new TextDecoder("latin1").decode(head);
    const minors = [...text.matchAll(/GLIBC_2\.(\d+)/g)].map(([, minor]) => Number(minor));
    assert.ok(minors.length > 5);
    assert.equal(Math.max(...minors), 27);
  },
});

Deno.test({
  name: "the executable prints the version of the checkout",
  ignore: needs(built, NEEDED.executable),
  fn: () =>
    inEmptyFolder(async (folder) => {
      const { code, out } = await run(folder, ["--version"]);
      assert.equal(code, 0);
      assert.equal(out.split(" ")[1], versionLine().split(" ")[1]);
    }),
});

Deno.test({
  name: "the executable runs a short quickstart in an empty folder and resumes it",
  ignore: needs(built, NEEDED.executable),
  fn: () =>
    inEmptyFolder(async (folder) => {
      const short = argv`train quickstart sft.max_steps=4 training.max_steps=2 eval.num_examples=16
        training.report_to=all --json`;
      const env = { TRACKIO_DIR: `${folder}/trackio` };
      const first = await run(folder, short, env);
      assert.equal(first.code, 0, first.err);
      const summary = JSON.parse(first.out.trimEnd().split("\n").at(-1)!);
      assert.equal(summary.status, "completed");
      assert.equal(summary.steps, 2);
      assert.equal(summary.eval_after.total, 16);
      assert.ok(await exists(`${folder}/${summary.checkpoint}`), summary.checkpoint);
      assert.deepEqual(namesIn(env.TRACKIO_DIR), ["huggingface.db"]);
      const more = await run(folder, [...short, "training.max_steps=3", "--resume"], env);
      assert.equal(more.code, 0, more.err);
      assert.equal(JSON.parse(more.out.trimEnd().split("\n").at(-1)!).steps, 3);
    }),
});

Deno.test({
  name: "the executable writes a job script that starts the executable",
  ignore: needs(built, NEEDED.executable),
  fn: () =>
    inEmptyFolder(async (folder) => {
      const { code, err } = await run(folder, ["slurm", "quickstart", "acct", "--gpus", "1"]);
      assert.equal(code, 0, err);
      const script = await Deno.readTextFile(`${folder}/slurm_quickstart.sh`);
      assert.ok(script.includes(`\n  ${executable}\n  train quickstart "$@" --resume\n`), script);
    }),
});

for (const device of ["webgpu", "vulkan"]) {
  Deno.test({
    name: `the executable trains on a GPU that only has a driver (${device})`,
    ignore: needs(built, NEEDED.executable) ||
      needs(hasWebgpu, NEEDED.webgpu),
    fn: () =>
      inEmptyFolder(async (folder) => {
        // Sizes are smaller than the quickstart's, because the GPU may be a software adapter.
        const { code, out, err } = await run(
          folder,
          argv`train quickstart --device ${device} max_steps=3 sft.max_steps=2 eval.num_examples=4
            num_generations=4 per_device_train_batch_size=8 training.max_completion_length=8
            --json`,
        );
        assert.equal(code, 0, err);
        assert.match(err, new RegExp(`device +${device}, \\S+`));
        const summary = JSON.parse(out.trimEnd().split("\n").at(-1)!);
        assert.deepEqual([summary.status, summary.steps], ["completed", 3]);
        const record = JSON.parse(
          await Deno.readTextFile(`${folder}/${summary.output_dir}/run.json`),
        );
        assert.equal(record.device, device);
        assert.ok(record.adapter.name.length > 0);
        const planned = summary.memory_planned_bytes, peak = summary.peak_memory_bytes;
        // The plan takes all words of the warm start as long as the longest one, which has twice
        // the letters of the shortest one. Its scratch memory grows with these rows.
        const share = peak / planned;
        assert.ok(share > 0.85 && share <= 1, `${peak} of ${planned} planned bytes`);
      }),
  });
}

const REWARD = `enum Value { None = 0, Full = 1 }
interface Input { completion: string; logExtra(column: string, value: string): void }
let calls: number = 0;
export default function judge({ completion, logExtra }: Input): Value {
  logExtra("wasm", typeof (globalThis as any).WebAssembly);
  if (++calls === 5) for (;;);
  return completion.includes("a") ? Value.Full : Value.None;
}
`;

Deno.test({
  name: "the executable trains with a reward in TypeScript, and continues when it hangs",
  ignore: needs(built, NEEDED.executable),
  fn: () =>
    inEmptyFolder(async (folder) => {
      await Deno.writeTextFile(`${folder}/judge.ts`, REWARD);
      const rewards = "[{path: judge.ts, timeout: 0.2}]";
      await Deno.writeTextFile(`${folder}/my.yaml`, `_base_: quickstart\nrewards: ${rewards}\n`);
      const short = ["sft.max_steps=2", "training.max_steps=1", "eval.num_examples=0"];
      const batch = [
        "training.generation_batch_size=16",
        "training.per_device_train_batch_size=16",
      ];
      const { code, out, err } = await run(folder, [
        "train",
        "my.yaml",
        ...short,
        ...batch,
        "--json",
      ]);
      assert.equal(code, 0, err);
      assert.equal(JSON.parse(out.trimEnd().split("\n").at(-1)!).status, "completed");
      assert.match(err, /reward judge failed and counts 0: gave no value within 0.2 s/);
      const metrics = await Deno.readTextFile(`${folder}/experiments/my/metrics.jsonl`);
      const step = metrics.split("\n").find((line) => line.includes('"split":"train"'))!;
      assert.equal(JSON.parse(step)["rewards/judge/errors"], 3);
      const table = await Deno.readFile(
        `${folder}/experiments/my/completions/completions_00001.parquet`,
      );
      const rows = await parquetReadObjects({ file: table.buffer });
      const wasm = rows.map((row) => row["wasm"]).filter((value) => value !== null);
      assert.deepEqual(new Set(wasm), new Set(["undefined"]));
      assert.deepEqual(await processesIn(folder), []);
    }),
});

/** The command lines of processes whose current folder is `folder`; empty without /proc. */
async function processesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  if (!(await exists("/proc/self/cwd"))) return found;
  for await (const { name } of Deno.readDir("/proc")) {
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

Deno.test({
  name: "the executable continues when a reward takes too much memory",
  ignore: needs(built, NEEDED.executable),
  fn: () =>
    inEmptyFolder(async (folder) => {
      await Deno.writeTextFile(`${folder}/hoarder.ts`, HOARDER);
      const { code, err } = await run(
        folder,
        argv`train quickstart ${"rewards=[{path: hoarder.ts, timeout: 60}]"} sft.max_steps=2
          training.max_steps=1 eval.num_examples=0 training.generation_batch_size=16
          training.per_device_train_batch_size=16`,
      );
      assert.equal(code, 0, err);
      assert.match(err, /reward hoarder failed and counts 0: took more than 1024 MiB of memory/);
      assert.deepEqual(await processesIn(folder), []);
    }),
});

/**
 * `deno task bench:ranks`: the cost and the gain of several ranks, under each MPI of this machine.
 *
 *     deno task bench:ranks [sums | step] [--ranks 2] [--turns 3] [--steps 3]
 *
 * `sums`: sums of gradients beside MPI_Allreduce of a C program, which is compiled with mpicc and
 * left out where there is none. Both run in turns, so that a disturbance of the machine meets both.
 * `step`: a GRPO step of SmolLM2-135M (tests/large_model.ts) on one rank and on several, of one
 * thread each. The completions are the same, so the work is. Without a name, both.
 *
 * Prints Markdown: the median and, in brackets, the minimum. A rank needs a core of its own: with
 * more ranks than cores the numbers say nothing. On a machine with other work, `chrt -r 1 deno task
 * bench:ranks sums` gives the ranks their cores, for some seconds a turn.
 */
import { parseArgs } from "node:util";
import { quantile } from "../core/statistics.ts";
import { launch, launchers, type TestLauncher } from "../cluster/ranks/mpi/launchers_testing.ts";
import { largeModel } from "../tests/large_model.ts";
import { readMetrics, rgxProgram } from "../tests/support.ts";

const C_PROGRAM = new URL("../cluster/ranks/mpi/allreduce_bench.c", import.meta.url).pathname;
const RANK = new URL("../cluster/ranks/ranks_bench.ts", import.meta.url).pathname;
/** Values of a sum. Adapters of SmolLM2-135M with a rank of 16 are 3.7 MB. */
const SIZES = {
  "64 kB": 2 ** 14,
  "1 MB": 2 ** 18,
  "4 MB": 2 ** 20,
  "16 MB": 2 ** 22,
  "64 MB": 2 ** 24,
};
/** Rounds of a turn. */
const ROUNDS = 15;

/** Seconds of the rounds, for each name of a measurement. */
type Times = Record<string, number[]>;

function shown(times: readonly number[] | undefined): string {
  if (times === undefined) return "–";
  const ms = (seconds: number) => Number((1e3 * seconds).toPrecision(2));
  return `${ms(quantile(times, 0.5))} (${ms(Math.min(...times))})`;
}

/** The ratio of two times, of their medians and of their minima. */
function ratio(times: readonly number[], base: readonly number[] | undefined): string {
  if (base === undefined) return "–";
  const of = (value: (seconds: readonly number[]) => number) =>
    (value(times) / value(base)).toFixed(2);
  return `${of((seconds) => quantile(seconds, 0.5))} (${of((seconds) => Math.min(...seconds))})`;
}

const row = (cells: readonly string[]) => console.log(`| ${cells.join(" | ")} |`);

function header(cells: readonly string[]): void {
  row(cells);
  console.log(`|${" --- |".repeat(cells.length)}`);
}

/** The compiled C program for a launcher, or why there is none. */
async function compiled(
  { name }: TestLauncher,
  folder: string,
): Promise<{ path: string } | { why: string }> {
  const compiler = name === "MPICH" ? "mpicc.mpich" : "mpicc.openmpi";
  const path = `${folder}/${compiler}`, args = ["-O3", "-march=native", C_PROGRAM, "-o", path];
  try {
    const { success, stderr } = await new Deno.Command(compiler, { args }).output();
    if (success) return { path };
    const [error] = new TextDecoder().decode(stderr).split("\n").filter((line) =>
      /error/.test(line)
    );
    return { why: `${compiler} failed (libopenmpi-dev, libmpich-dev have mpi.h): ${error}` };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return { why: `${compiler} is not installed (libopenmpi-dev, libmpich-dev)` };
  }
}

/** The times that the first rank prints. */
async function measured(
  launcher: TestLauncher,
  ranks: number,
  program: readonly string[],
): Promise<Times> {
  const args = [ROUNDS, ...Object.values(SIZES)].map(String);
  const { code, out, err } = await launch(launcher, ranks, [...program, ...args]);
  if (code !== 0) throw new Error(`${launcher.name}, ${ranks} ranks: ${err}`);
  return JSON.parse(out.trim().split("\n").at(-1)!);
}

function add(all: Times, more: Times): void {
  for (const [name, seconds] of Object.entries(more)) (all[name] ??= []).push(...seconds);
}

async function sums(launcher: TestLauncher, ranks: number, turns: number): Promise<void> {
  const folder = await Deno.makeTempDir(), c: Times = {}, rgx: Times = {};
  try {
    const program = await compiled(launcher, folder);
    for (let turn = 0; turn < turns; turn++) {
      if ("path" in program) add(c, await measured(launcher, ranks, [program.path]));
      const own = [Deno.execPath(), "run", "-A", "--no-check", RANK];
      add(rgx, await measured(launcher, ranks, own));
    }
    console.log(`\n### Sums on ${ranks} ranks of ${launcher.name}, milliseconds\n`);
    if ("why" in program) console.log(`No C program: ${program.why}.\n`);
    console.log(`A meeting of the ranks takes ${shown(rgx["meeting"])}.\n`);
    header(["", "C", "fast", "× C", "exact", "× C", "bfloat16 on the wire", "× C"]);
    for (const [name, size] of Object.entries(SIZES)) {
      const base = c[size];
      const cells = ["fast", "exact", "halves"].flatMap((how) => {
        const times = rgx[`${how} ${size}`]!;
        return [shown(times), ratio(times, base)];
      });
      row([name, shown(base), ...cells]);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Eight micro-batches of eight completions with adapters; the first step is not counted. */
const config = (model: string, steps: number) => `
model: { model_name_or_path: ${model} }
lora: { r: 16 }
data: { task_name: chain_sum, num_examples: 64 }
rewards: [{ name: correctness }]
eval: { num_examples: 0 }
training:
  max_steps: ${steps + 1}
  logging_steps: 1
  save_strategy: "no"
  num_generations: 8
  per_device_train_batch_size: 8
  gradient_accumulation_steps: 8
  max_completion_length: 48
`;

async function step(launcher: TestLauncher, ranks: number, turns: number, steps: number) {
  const model = largeModel();
  if (model === null) {
    console.log("\nNo step: name SmolLM2's file in RGX_TEST_MODEL, or set RGX_TEST_LARGE=1.");
    return;
  }
  const folder = await Deno.makeTempDir(), times: Times = {};
  try {
    await Deno.writeTextFile(`${folder}/run.yaml`, config(model, steps));
    for (let turn = 0; turn < turns; turn++) {
      for (const count of [1, ranks]) {
        const run = `${folder}/${turn}-${count}`;
        const args = ["train", `${folder}/run.yaml`, "--quiet", "--output-dir", run];
        const { code, err } = await launch(launcher, count, rgxProgram(args), {
          RGX_NUM_THREADS: "1",
        });
        if (code !== 0) throw new Error(`${launcher.name}, ${count} ranks: ${err}`);
        for (const line of (await readMetrics(run)).filter(({ split }) => split === "train")) {
          if (line["step"] === 1) continue;
          for (const name of ["step_time", "time/generate", "time/forward_backward"]) {
            const seconds = line[name] as number | undefined;
            if (seconds !== undefined) (times[`${count} ${name}`] ??= []).push(seconds);
          }
        }
      }
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  console.log(`\n### A step of SmolLM2-135M under ${launcher.name}, one thread a rank, ms\n`);
  header(["", "1 rank", `${ranks} ranks`, "efficiency"]);
  for (const name of ["step_time", "time/generate", "time/forward_backward"]) {
    const one = times[`1 ${name}`], many = times[`${ranks} ${name}`];
    if (one === undefined || many === undefined) continue;
    const of = (value: (seconds: readonly number[]) => number) =>
      (value(one) / value(many) / ranks).toFixed(2);
    const share = `${of((s) => quantile(s, 0.5))} (${of((s) => Math.min(...s))})`;
    row([name, shown(one), shown(many), share]);
  }
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      ranks: { type: "string", default: "2" },
      turns: { type: "string", default: "3" },
      steps: { type: "string", default: "3" },
    },
  });
  const [ranks, turns, steps] = [values.ranks, values.turns, values.steps].map(Number);
  const [only] = positionals;
  if (launchers.length === 0) {
    console.error("no MPI: apt-get install openmpi-bin mpich");
    Deno.exit(1);
  }
  const load = Deno.loadavg().map((value) => value.toFixed(1)).join(", ");
  console.log(`${navigator.hardwareConcurrency} cores, load ${load}`);
  if (ranks! > navigator.hardwareConcurrency) {
    console.log("\nMore ranks than cores: they take turns, and the numbers say little.");
  }
  for (const launcher of launchers) {
    if (only !== "step") await sums(launcher, ranks!, turns!);
    if (only !== "sums") await step(launcher, ranks!, turns!, steps!);
  }
}

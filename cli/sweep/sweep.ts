/**
 * `rgx sweep`: trains with every combination of some values, each run in a process and a folder of
 * its own, and compares them at the end.
 */
import { loadConfig } from "../../configs/load.ts";
import { namingMissing } from "../plans/missing_parts.ts";
import { splitValues, sweepVariants } from "../../cluster/array.ts";
import { writeFileAtomic } from "../../core/atomic_file.ts";
import { EXIT, UsageError } from "../../core/errors.ts";
import { availableBytes } from "../../core/machine/memory.ts";
import { programCommand } from "../../core/program_command.ts";
import { defaultThreads } from "../../kernels/devices/wasm/threads.ts";
import { plotCurves } from "../../reports/charts/curves.ts";
import type { TrainSummary } from "../../training/run/events.ts";
import { refuseOtherRanks } from "../ranks/one_process.ts";
import { log, print } from "../terminal/terminal.ts";
import { runAll, type SweepRun } from "./run_processes.ts";
import { readResult, sweepTable } from "./sweep_table.ts";

interface SweepOptions {
  jobs: string;
  outputDir?: string;
  device?: string;
  json?: boolean;
}

/** Share of the free memory that runs at once are planned to use. */
const MEMORY_SHARE = 0.9;

/** Returns the exit code: 0 all done, 75 stopped and resumable, 1 a run failed. */
export async function sweep(
  config: string,
  given: readonly string[],
  options: SweepOptions,
): Promise<number> {
  refuseOtherRanks();
  const axes = given.filter(isAxis), overrides = given.filter((text) => !isAxis(text));
  if (axes.length === 0) {
    throw new UsageError("no key has several values", {
      advice: "For example: rgx sweep quickstart training.learning_rate=1e-3,2e-3",
    });
  }
  const { folder, runs } = await planRuns(config, overrides, axes, options);
  const open = runs.filter((run) => run.state !== "completed");
  const jobs = open.length === 0 ? 1 : await jobsOf(options.jobs, config, open, options);
  const threads = Math.max(1, Math.floor(defaultThreads() / jobs));
  const how = jobs === 1 ? "one after the other" : `${jobs} at once`;
  const kept = runs.length - open.length;
  log(
    `sweep     ${runs.length} runs in ${folder}, ${how}` +
      (kept > 0 ? `; ${kept} of them ${kept === 1 ? "is" : "are"} completed already` : ""),
  );
  const command = [
    "train",
    config,
    "--json",
    "--quiet",
    ...(jobs > 1 ? ["--threads", String(threads)] : []),
    ...(options.device === undefined ? [] : ["--device", options.device]),
  ];
  await Deno.mkdir(folder, { recursive: true });
  const stopped = await runAll(open, [...programCommand(), ...command], jobs, log);
  return await finish(folder, runs, stopped, options.json ?? false);
}

/** Whether an override names several values: those in brackets or quotes are one. */
function isAxis(text: string): boolean {
  const at = text.indexOf("=");
  return at > 0 && /^[A-Za-z_]/.test(text) && splitValues(text.slice(at + 1)).length > 1;
}

/**
 * All runs of the sweep. Every configuration is read before the first run begins.
 * @throws UsageError for a wrong configuration, or a folder that holds a run with another one
 */
async function planRuns(
  config: string,
  overrides: readonly string[],
  axes: readonly string[],
  options: SweepOptions,
): Promise<{ folder: string; runs: SweepRun[] }> {
  const load = (more: readonly string[]) =>
    loadConfig(config, {
      overrides: [...overrides, ...more],
      env: Deno.env.toObject(),
      cwd: Deno.cwd(),
    });
  const variants = sweepVariants(axes, "");
  const base = (await namingMissing(() => load(variants[0]!.overrides))).config;
  const folder = options.outputDir ?? `${base.training.output_dir}_sweep`;
  const runs: SweepRun[] = [];
  for (const { label, overrides: values } of variants) {
    const own = [
      ...values,
      `training.output_dir=${folder}/${label}`,
      `logging.run_name=${base.logging.run_name}_${label}`,
    ];
    const loaded = await load(own);
    const result = await readResult(`${folder}/${label}`);
    if (result !== null && result.config !== loaded.yaml) {
      throw new UsageError(`${folder}/${label}: holds a run with another configuration`, {
        advice: "Remove it, or name another folder with --output-dir.",
      });
    }
    const done = result?.summary?.status === "completed";
    const state = done ? "completed" : result === null ? "new" : "begun";
    runs.push({ label, folder: `${folder}/${label}`, overrides: [...overrides, ...own], state });
  }
  return { folder, runs };
}

/** How many runs go at once. */
async function jobsOf(
  text: string,
  config: string,
  open: readonly SweepRun[],
  options: SweepOptions,
): Promise<number> {
  if (text !== "auto") {
    const jobs = Number(text);
    if (!/^\d+$/.test(text) || jobs < 1) {
      throw new UsageError(`--jobs ${text}: expected a number from 1 on, or auto`);
    }
    return Math.min(jobs, open.length);
  }
  const [program, ...args] = programCommand();
  const device = options.device === undefined ? [] : ["--device", options.device];
  const { stdout, stderr, success } = await new Deno.Command(program!, {
    args: [...args, "train", config, ...open[0]!.overrides, ...device, "--dry-run", "--json"],
    stderr: "piped",
  }).output();
  const text8 = new TextDecoder();
  if (!success) {
    throw new UsageError(`--jobs auto: the plan of the first run failed`, {
      advice: text8.decode(stderr).trim().split("\n").slice(-3).join("\n"),
    });
  }
  const plan = JSON.parse(text8.decode(stdout).trim().split("\n").at(-1)!) as {
    memory_planned_bytes: number | null;
  };
  const fit = plan.memory_planned_bytes === null
    ? 1
    : Math.floor(MEMORY_SHARE * await availableBytes() / plan.memory_planned_bytes);
  return Math.max(1, Math.min(defaultThreads(), fit, open.length));
}

/** Writes the comparison, and says how it ended. */
async function finish(
  folder: string,
  runs: readonly SweepRun[],
  stopped: boolean,
  json: boolean,
): Promise<number> {
  const results: { label: string; folder: string; summary: TrainSummary | null }[] = [];
  for (const { label, folder } of runs) {
    results.push({ label, folder, summary: (await readResult(folder))?.summary ?? null });
  }
  const table = { runs: results };
  await writeFileAtomic(`${folder}/sweep.json`, JSON.stringify(table, null, 2) + "\n");
  const begun = results.filter(({ summary }) => summary !== null).map(({ folder }) => folder);
  let chart: string | null = null;
  if (begun.length > 0) {
    const drawn = await plotCurves(begun, { output: `${folder}/curves.png` });
    for (const note of drawn.notes) log(`note: ${note}`);
    chart = drawn.path;
  }
  if (json) print(JSON.stringify({ ...table, chart }));
  else {
    print(sweepTable(results));
    if (chart !== null) print(`\n${chart}`);
  }
  if (stopped) {
    log("Stopped; everything is saved. The same command goes on.");
    return EXIT.resumable;
  }
  const failed = results.filter(({ summary }) => summary?.status !== "completed");
  for (const { folder } of failed) log(`not completed: see ${folder}.log`);
  return failed.length > 0 ? EXIT.failure : EXIT.ok;
}

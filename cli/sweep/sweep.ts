/**
 * `rgx sweep`: trains with every combination of some values, each run in a process and a folder of
 * its own, and compares them at the end.
 */
import { splitValues, sweepVariants } from "../../cluster/array.ts";
import { loadConfig } from "../../configs/load.ts";
import { writeFileAtomic } from "../../core/atomic_file.ts";
import { duration } from "../../core/duration.ts";
import { EXIT, UsageError } from "../../core/errors.ts";
import { availableBytes } from "../../core/machine/memory.ts";
import { exists } from "../../core/paths.ts";
import { programCommand } from "../../core/program_command.ts";
import type { TaskAccuracy } from "../../bench/evaluation/accuracy.ts";
import { defaultThreads } from "../../kernels/devices/wasm/threads.ts";
import { plotCurves } from "../../reports/charts/curves.ts";
import type { TrainSummary } from "../../training/run/events.ts";
import { namingMissing } from "../plans/missing_parts.ts";
import { onSignals } from "../signals.ts";
import { log, print, table } from "../terminal/terminal.ts";
import { accuracyText } from "../train/train_text.ts";
import type { FlagsOf } from "../flags.ts";
import { refuseOtherRanks } from "../open_device.ts";

type SweepOptions = FlagsOf<"SWEEP">;

/** Share of the free memory that concurrent runs may use together. */
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
    ...(options.allowPython ? ["--allow-python"] : []),
  ];
  await Deno.mkdir(folder, { recursive: true });
  const stopped = await runAll(open, [...programCommand(), ...command], jobs, log);
  return await finish(folder, runs, stopped, options.json ?? false);
}

/** Whether an override has several values. A text in brackets or quotes is one value. */
function isAxis(text: string): boolean {
  const at = text.indexOf("=");
  return at > 0 && /^[A-Za-z_]/.test(text) && splitValues(text.slice(at + 1)).length > 1;
}

/** All runs of the sweep. Every configuration is read before the first run begins. */
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
  const linesOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim().split("\n");
  if (!success) {
    throw new UsageError(`--jobs auto: the plan of the first run failed`, {
      advice: linesOf(stderr).slice(-3).join("\n"),
    });
  }
  const planned: number | null = JSON.parse(linesOf(stdout).at(-1)!).memory_planned_bytes;
  const fit = planned === null ? 1 : Math.floor(MEMORY_SHARE * await availableBytes() / planned);
  return Math.max(1, Math.min(defaultThreads(), fit, open.length));
}

/** Writes the comparison, and prints how the sweep ended. */
async function finish(
  folder: string,
  runs: readonly SweepRun[],
  stopped: boolean,
  json: boolean,
): Promise<number> {
  const results = await Promise.all(runs.map(async ({ label, folder }) => {
    return { label, folder, summary: (await readResult(folder))?.summary ?? null };
  }));
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
    log("Stopped; everything is saved. The same command continues.");
    return EXIT.resumable;
  }
  const failed = results.filter(({ summary }) => summary?.status !== "completed");
  for (const { folder } of failed) log(`not completed: see ${folder}.log`);
  return failed.length > 0 ? EXIT.failure : EXIT.ok;
}

interface SweepRun {
  label: string;
  folder: string;
  overrides: readonly string[];
  /** The state of a run after an earlier session: none, one that can go on, or a completed one. */
  state: "new" | "begun" | "completed";
}

const SIGNALS: readonly Deno.Signal[] = ["SIGINT", "SIGTERM", "SIGUSR1", "SIGUSR2"];

/**
 * Runs all. A run that fails does not stop the others.
 * @param command starts `rgx train CONFIG`; the run's overrides are added
 * @returns whether a signal stopped the sweep
 */
async function runAll(
  runs: readonly SweepRun[],
  command: readonly string[],
  jobs: number,
  report: (line: string) => void,
): Promise<boolean> {
  const children = new Set<Deno.ChildProcess>(), waiting = [...runs];
  let stopping = false;
  const stop = () => {
    if (!stopping) report("Stopping: the runs under way save their state.");
    stopping = true;
    for (const child of children) child.kill("SIGTERM");
  };
  const work = async () => {
    for (let run = waiting.shift(); run !== undefined && !stopping; run = waiting.shift()) {
      const code = await runOne(run, command, children);
      report(`${run.label.padEnd(width)}  ${ENDS[code] ?? `failed (exit code ${code})`}`);
    }
  };
  const width = Math.max(...runs.map(({ label }) => label.length));
  const listenNoMore = onSignals(SIGNALS, stop);
  try {
    await Promise.all(Array.from({ length: jobs }, work));
  } finally {
    listenNoMore();
  }
  return stopping;
}

/** How a run ended, by its exit code. */
const ENDS: Readonly<Record<number, string>> = { 0: "completed", 75: "stopped, saved" };

async function runOne(
  { folder, overrides, state }: SweepRun,
  [program, ...args]: readonly string[],
  children: Set<Deno.ChildProcess>,
): Promise<number> {
  const log = await Deno.open(`${folder}.log`, { append: true, create: true });
  const child = new Deno.Command(program!, {
    args: [...args, ...overrides, ...(state === "new" ? [] : ["--resume=latest"])],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
    detached: true,
  }).spawn();
  children.add(child);
  try {
    const [{ code }] = await Promise.all([child.status, child.stderr.pipeTo(log.writable)]);
    return code;
  } finally {
    children.delete(child);
  }
}

/** A run's folder: its configuration, and its summary if the run has begun. */
interface RunResult {
  config: string;
  summary: TrainSummary | null;
}

/** Reads a run's folder; null if there is no folder, or no configuration in it. */
async function readResult(folder: string): Promise<RunResult | null> {
  if (!await exists(`${folder}/config.yaml`)) return null;
  const config = await Deno.readTextFile(`${folder}/config.yaml`);
  try {
    const run = JSON.parse(await Deno.readTextFile(`${folder}/run.json`));
    return { config, summary: run as TrainSummary };
  } catch {
    return { config, summary: null }; // The run was killed before it wrote the file.
  }
}

const cell = (accuracy: TaskAccuracy | null | undefined) => accuracy ? accuracyText(accuracy) : "–";

/** A row per run: held-out accuracy before and after with 95 % intervals, and its time. */
function sweepTable(
  results: readonly { label: string; summary: TrainSummary | null }[],
): string {
  const rows = results.map(({ label, summary }) => [
    label,
    cell(summary?.eval_before),
    cell(summary?.eval_after),
    summary?.status === "completed" ? duration(summary.seconds) : summary?.status ?? "not begun",
  ]);
  const n = results.find(({ summary }) => summary?.eval_after)?.summary?.eval_after?.total;
  const of = n === undefined ? "" : ` (n = ${n})`;
  return table([["run", "before", `after${of}`, "time"], ...rows]);
}

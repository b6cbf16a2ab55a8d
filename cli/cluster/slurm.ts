/**
 * `rgx slurm` and `rgx slurm bench`: turn flags into a job script, write it, and submit it if asked
 * to.
 */
import { Command, CommanderError } from "commander";
import { resolve } from "node:path";
import { isTask, unknownTasks } from "../../bench/plan/test_set.ts";
import { isCodePath } from "../../core/sandbox/code_file.ts";
import { taskNameOf } from "../../tasks/custom/task_file.ts";
import { BENCH_TEMPLATE, benchScript } from "../../cluster/bench_script.ts";
import { type CommonOptions, IMAGE_DEFINITION, type JobScript } from "../../cluster/job_script.ts";
import {
  checkMpiType,
  checkPartitionTime,
  checkShell,
  submit,
  writeScript,
} from "../../cluster/submit.ts";
import { type SchedulerName, schedulerOf } from "../../cluster/schedulers.ts";
import {
  defaultScript,
  jobOfConfig,
  submitText,
  trainScript,
  trainTemplate,
} from "../../cluster/train_script.ts";
import { isOverride } from "../../configs/foreign/config_arguments.ts";
import { DEFAULT_TIME } from "../../configs/types/slurm_values.ts";
import { parseSignalLead } from "../../cluster/header.ts";
import { explainFileError } from "../../core/atomic_file.ts";
import { UsageError } from "../../core/errors.ts";
import { readText } from "../../core/text_file.ts";
import { addFlags, type Flags, given, pick } from "../flags.ts";
import { log, print } from "../terminal/terminal.ts";
import { BENCH } from "../flag_tables.ts";
import type { JOB, JOBS, SLURM, SLURM_BENCH } from "./job_flags.ts";
import { inFolder, type JobPlanOptions, planBench, planJob } from "./job_needs.ts";
import { missingForRun, namingMissing } from "../plans/missing_parts.ts";

type SlurmFlags = Flags<typeof JOB> & Pick<Flags<typeof SLURM>, "array" | "mpi">;

type SlurmBenchFlags = SlurmFlags & Flags<Omit<typeof SLURM_BENCH, "gpus">>;

type JobsFlags = SlurmFlags & Flags<Omit<typeof JOBS, "gpus">>;

export function slurmTrain(
  config: string | undefined,
  account: string | undefined,
  overrides: string[],
  typed: SlurmFlags & Flags<Omit<typeof SLURM, "gpus">>,
): Promise<void> {
  return jobs(config, account, overrides, { ...typed, scheduler: "slurm", directive: [] });
}

export async function jobs(
  config: string | undefined,
  account: string | undefined,
  overrides: string[],
  typed: JobsFlags,
): Promise<void> {
  const { scheduler } = typed;
  if (typed.printTemplate) return print(trainTemplate(scheduler).trimEnd());
  if (typed.printDefinition) return print(IMAGE_DEFINITION.trimEnd());
  if (config === undefined) {
    throw new UsageError("missing argument 'config'", {
      advice: "For example: rgx slurm my_experiment.yaml my_account --time 04:00:00",
    });
  }
  refuseOthers(typed);
  // If no account is given, the first override is taken for the account.
  const isNamed = account !== undefined && !await isOverride(account);
  const job = await jobOfConfig(config, isNamed ? account : null, {
    ...await commonOptions(typed),
    scheduler,
    directives: typed.directive,
    args: isNamed || account === undefined ? overrides : [account, ...overrides],
    sweep: typed.sweep,
    ...pick(typed, "array", "device", "mpi", "allowPython"),
    ...given({ tasksPerNode: typed.ntasksPerNode }),
  });
  const { partition, time, gpuType, workDir } = job.options;
  const flags = { ...typed, ...given({ partition, time, gpuType, workDir }) };
  const written = typed.output === undefined ? job.output : null;
  const path = typed.output ?? written?.path;
  const write = () =>
    trainScript(config, job.account, {
      ...job.options,
      ...(path === undefined ? {} : { script: resolve(path) }),
      ...(flags.check
        ? { plan: (runs, ranks, notes) => planJob(runs, { ...planOptions(flags), ranks }, notes) }
        : {}),
    });
  // The job that this one waits for may make the parts that are missing.
  const looks = flags.check && flags.dependency === undefined;
  const script = await namingMissing(
    write,
    (named) => looks ? inFolder(flags.workDir, () => missingForRun(named)) : Promise.resolve([]),
  );
  const output = path ?? defaultScript(script.jobName, scheduler);
  await deliver(script, { output, ...given({ place: written?.place }) }, flags);
}

/** Flags of one scheduler that others have not. @throws UsageError */
function refuseOthers({ scheduler, mpi, sbatch, directive }: JobsFlags): void {
  const isSlurm = scheduler === "slurm";
  if (isSlurm && directive.length > 0) {
    throw new UsageError("--directive: is for PBS and LSF", { advice: "SLURM has --sbatch." });
  }
  if (!isSlurm && (mpi !== undefined || sbatch.length > 0)) {
    throw new UsageError(`${mpi === undefined ? "--sbatch" : "--mpi"}: is for SLURM`, {
      advice: "--directive adds a line for PBS or LSF.",
    });
  }
}

export async function slurmBench(
  account: string | undefined,
  further: string[],
  flags: SlurmBenchFlags,
): Promise<void> {
  if (flags.printTemplate) return print(BENCH_TEMPLATE.trimEnd());
  if (account === undefined) {
    throw new UsageError("missing argument 'account'", {
      advice: "For example: rgx slurm bench my_account --models runs/a --tasks leg_counting",
    });
  }
  const maxParallel = flags.array === undefined ? undefined : /^%([1-9]\d{0,5})$/.exec(flags.array);
  if (maxParallel === null) {
    throw new UsageError(`--array ${flags.array}: expected %N, the elements that run at once`, {
      advice: "--gpus says how many there are.",
    });
  }
  checkBenchFlags(further);
  const output = flags.output ?? `slurm_${flags.jobName ?? "bench"}.sh`;
  const tasks = taskNames(flags.tasks), notes: string[] = [];
  const isNamed = flags.models.length > 0 && tasks.length > 0;
  const needs = flags.check && isNamed
    ? await planBench(
      flags.models,
      await Promise.all(tasks.map(taskNameOf)),
      further,
      planOptions(flags),
      notes,
    )
    : null;
  const script = await benchScript(account, {
    ...await commonOptions(flags),
    ...(needs === null ? {} : { needs }),
    ...pick(flags, "numExamples", "maxNewTokens", "outputDir", "oneNode", "mpi", "device"),
    ...(maxParallel === undefined ? {} : { maxParallel: Number(maxParallel[1]) }),
    further,
    models: flags.models,
    tasks,
    script: output,
  });
  script.notes.push(...notes);
  await deliver(script, { output }, flags);
}

/** Splits task names as `rgx bench` does. @throws UsageError for an unknown task */
function taskNames(texts: readonly string[]): string[] {
  const isFile = (text: string) => text.includes("=") || /\.jsonl?$/.test(text) || isCodePath(text);
  const tasks = texts.flatMap((text) => isFile(text) ? [text] : text.split(","))
    .filter((task) => task !== "");
  const unknown = tasks.filter((task) => !isFile(task) && !isTask(task));
  if (unknown.length > 0) throw unknownTasks(unknown);
  return tasks;
}

/** Flags of `rgx bench` that the script itself sets. */
const SET_BY_SCRIPT = ["models", "tasks", "numExamples", "maxNewTokens", "outputDir", "resume"]
  .concat("merge", "shard", "device", "devices", "workers", "ranks");

/** Checks the flags after `--`. @throws UsageError for what `rgx bench` does not accept */
function checkBenchFlags(given: readonly string[]): void {
  const bench = addFlags(new Command("bench"), BENCH);
  bench.exitOverride().configureOutput({ writeErr: () => {} }).action(() => {});
  try {
    bench.parse(given, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    throw new UsageError(`rgx bench: ${error.message.replace(/^error: /, "")}`);
  }
  const refused = SET_BY_SCRIPT.find((name) => bench.getOptionValueSource(name) === "cli");
  if (refused === undefined) return;
  const { long } = bench.options.find((option) => option.attributeName() === refused)!;
  throw new UsageError(`${long}: the script sets this flag itself; write it before --`);
}

async function commonOptions(flags: SlurmFlags): Promise<CommonOptions & TemplateOption> {
  const { template, gpuType, warn, maxRestarts } = flags;
  return {
    ...pick(flags, "workDir", "partition", "time", "gpus", "cpus", "memory", "nodes"),
    ...pick(flags, "dependency", "jobName", "apptainer", "requeue"),
    ...given({
      gpuType: gpuType === "any" ? "" : gpuType,
      warn: warn === undefined ? undefined : parseSignalLead(warn),
      maxIdleRestarts: maxRestarts,
    }),
    online: flags.online ?? false,
    sbatch: flags.sbatch,
    modules: flags.module,
    setup: flags.setup,
    ...(template === undefined
      ? {}
      : { template: { name: template, text: await readTemplate(template) } }),
  };
}

function planOptions(flags: SlurmFlags): JobPlanOptions {
  const { device, gpuType, workDir } = flags;
  const type = gpuType === "any" ? "" : gpuType;
  return {
    ...given({ device, gpuType: type, workDir }),
    mayComeLater: flags.dependency !== undefined,
  };
}

interface TemplateOption {
  template?: { name: string; text: string };
}

async function readTemplate(path: string): Promise<string> {
  try {
    return await readText(path);
  } catch (error) {
    if (error instanceof Deno.errors.IsADirectory) {
      throw new UsageError(`--template ${path}: is a folder, expected a file`);
    }
    if (!(error instanceof Deno.errors.NotFound)) {
      throw explainFileError(error, "read the template", path);
    }
    throw new UsageError(`--template ${path}: there is no such file`, {
      advice: "rgx slurm --print-template > FILE makes one to start from.",
    });
  }
}

/** The notes about a script, and the note about an unknown type of `--mpi`. */
async function notesOf({ notes }: JobScript, { mpi }: SlurmFlags): Promise<string[]> {
  return mpi === undefined ? notes : [...notes, ...await checkMpiType(mpi)];
}

async function deliver(
  script: JobScript,
  { output, place }: { output: string; place?: string },
  flags: SlurmFlags & { scheduler?: SchedulerName },
): Promise<void> {
  const path = resolve(output), { jobName: job_name, logs } = script;
  const { scheduler = "slurm" } = flags;
  const notes = await notesOf(script, flags);
  if (flags.submit && scheduler === "slurm") {
    await checkPartitionTime(flags.partition ?? null, flags.time ?? DEFAULT_TIME);
  }
  if (flags.setup.length > 0) await checkShell(script.text);
  await writeScript(script, output, given({ force: flags.force, place }));
  for (const note of notes) log(`note: ${note}`);
  const jobs = flags.submit
    ? await submitWritten(script.submit(path), scheduler, flags, output)
    : [];
  if (flags.json) {
    return print(JSON.stringify({ script: path, job_name, logs, jobs, notes }));
  }
  print(output);
  if (flags.submit) print(`submitted: ${jobs.join(", ")}`);
  else log(`submit it with: ${submitText(script.submit(output))}`);
}

async function submitWritten(
  command: string[],
  scheduler: SchedulerName,
  flags: SlurmFlags,
  output: string,
) {
  try {
    return await submit(command, flags.workDir ?? ".", schedulerOf(scheduler).idOf);
  } catch (error) {
    log(`note: the script is written: ${output} (--force writes over it)`);
    throw error;
  }
}

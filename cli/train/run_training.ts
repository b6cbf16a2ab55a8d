/** Trains with a configuration that was read, or plans it for `--dry-run`. */
import type { LoadedConfig } from "../../configs/load.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { renderYaml } from "../../configs/to_yaml.ts";
import { EXIT, UsageError } from "../../core/errors.ts";
import { slurmJob } from "../../core/machine/job.ts";
import { secondsLeft } from "../../core/machine/slurm_queue.ts";
import type { Device } from "../../kernels/device.ts";
import { contextText } from "../../models/architectures/rope_scaling.ts";
import type { Ranks } from "../../ranks/ranks.ts";
import { assemble, type TrainingParts } from "../../training/assemble.ts";
import type { MemoryPlan } from "../../training/memory/run_memory.ts";
import { deviceOfRun, readRun } from "../../training/run/run_folder.ts";
import { isRequeuedRestart } from "../../training/run/sessions.ts";
import { GrpoTrainer } from "../../training/trainer.ts";
import { memoryTable } from "../plans/memory_table.ts";
import { missingError, missingForRun } from "../plans/missing_parts.ts";
import { measuredRunTime } from "../plans/run_time.ts";
import { openRankDevice } from "../ranks/join_ranks.ts";
import { listenForStop, type StopControl } from "../stop_control.ts";
import { log, print } from "../terminal/terminal.ts";
import { refuseMissing, showDryRun } from "./dry_run.ts";
import { RunObservers } from "./run_observers.ts";
import type { TrainOptions } from "./train_options.ts";

/** Which parts of a run are done, and within which limits. */
export interface RunScope {
  phases: "all" | "sft";
  /** From `--max-time`. */
  maxSeconds: number | null;
  /** The number of ranks that the run has; a plan is made by one of them. */
  count: number;
}

/**
 * All ranks but the first are silent.
 * @returns the exit code: 0 done, 75 stopped and resumable
 */
export async function runTraining(
  loaded: LoadedConfig,
  ranks: Ranks,
  options: TrainOptions,
  { phases, maxSeconds, count }: RunScope,
): Promise<number> {
  // The number of ranks is no part of what a run stores: one of 4 may go on with 1 or 2.
  const training = { ...loaded.config.training, nnodes: null, n_gpus_per_node: null };
  const config = { ...loaded.config, training };
  const { output_dir: outputDir } = training, { isFirst } = ranks;
  // The query is started now, so that the answer is there when it is needed.
  const jobEnd = isFirst ? secondsLeft() : Promise.resolve(null);
  const resume = await ranks.first(() => resumeOf(outputDir, options));
  const keep = resume.resume === false ? null : await ranks.first(() => deviceOfRun(outputDir));

  using opened = new DisposableStack();
  const { device, memory } = await openRankDevice(ranks, { ...options, keep });
  opened.defer(() => device.close());
  const control = listenForStop(maxSeconds, undefined, !isFirst);
  opened.defer(() => control.ended());
  const observers = new RunObservers(config, device, options, isFirst);
  opened.defer(() => observers.close());
  const { progress } = observers;

  // Nothing is uploaded by a dry run, so it needs no token.
  await ranks.each(() => options.dryRun ? undefined : observers.openUploads());
  if (options.dryRun) await refuseMissing(config, device, options, phases);
  else await ranks.first(() => refuseSeveral(config));
  if (options.tune) requireChoice(device);
  let parts!: TrainingParts;
  await ranks.each(async () => {
    parts = await assemble(config, device, {
      phases,
      ranks: count,
      onLoad: observers.loading.on,
      onDraw: observers.drawing.on,
      ...(memory === null ? {} : { availableBytes: memory }),
      // A model that is made from a seed has no sizes that need an explanation.
      ...(options.dryRun && config.model.init === null
        ? { planned: (plan: MemoryPlan) => log(`${memoryTable(plan)}\n`) }
        : {}),
    }).finally(() => observers.drawing.close());
  });
  const trainer = new GrpoTrainer({
    config,
    configText: renderYaml(config, loaded.environment, loaded.secrets),
    device,
    ...parts,
    ...resume,
    ...(options.tune === undefined ? {} : { tuneKernels: options.tune }),
    phases,
    control,
    ranks,
    plannedRanks: count,
    listeners: observers.listeners,
  });
  progress.memory = parts.memory;
  progress.context = contextText(parts.model.config);
  progress.secondsLeft = await jobEnd;
  // The estimate measures the model, so it is only made if somebody sees it.
  const isShown = progress.secondsLeft !== null || (!options.quiet && resume.resume === false);
  if (isShown && isFirst) {
    progress.time = await measuredRunTime(() => trainer.estimateSeconds());
  }
  control.jobEnds(progress.secondsLeft);
  control.begin();
  if (options.dryRun) {
    await showDryRun(trainer, parts.memory, progress, config, options.json ?? false);
    return EXIT.ok;
  }
  return await runToEnd(trainer, outputDir, control, observers, isFirst && options.json === true);
}

/** The training itself, the report of the run, and what waits for its end. */
async function runToEnd(
  trainer: GrpoTrainer,
  outputDir: string,
  control: StopControl,
  observers: RunObservers,
  printsSummary: boolean,
): Promise<number> {
  const summary = await trainer.run().finally(() => {
    // A job that was warned ends while it can. The report is written when the run is done.
    const hurry = control.reason !== null && slurmJob() !== null;
    return !observers.hasBegun || hurry ? undefined : report(outputDir, observers.quiet);
  });
  await observers.finishUploads(summary);
  if (printsSummary) print(JSON.stringify(summary));
  return summary.status === "stopped" ? EXIT.resumable : EXIT.ok;
}

/** @throws UsageError for `--tune` on a device that has nothing to choose */
function requireChoice(device: Device): void {
  if (device.rehearse !== undefined) return;
  throw new UsageError(`--tune: ${device.name} has no choice of kernels`, {
    advice: "It measures the kernels of a graphics card: --device webgpu",
  });
}

/** A run that lacks several things names them together. What is wrong with one, opening it says. */
async function refuseSeveral(config: RunConfig): Promise<void> {
  const missing = await missingForRun(config);
  if (missing.length > 1) throw missingError(missing);
}

/**
 * Writes the report of a run that has done a step, however it ended. A failure to write it does not
 * fail the run.
 */
async function report(outputDir: string, quiet: boolean): Promise<void> {
  const { writeReport } = await import("../../reports/run_report/write_report.ts");
  const written = await writeReport(outputDir).catch(() => null);
  if (written !== null && !quiet) log(`Report: ${written.html}`);
}

/**
 * Whether to resume, and from which checkpoint. A job that was requeued resumes its own run,
 * whatever its script says: a named checkpoint or --force was meant for its first start.
 */
async function resumeOf(
  outputDir: string,
  { resume, force = false, quiet }: TrainOptions,
): Promise<{ resume: boolean | string; force: boolean }> {
  const job = slurmJob();
  const run = job === null ? null : await readRun(outputDir);
  if (isRequeuedRestart(run, job)) {
    if (!quiet) log(`note: job ${job!.id} was restarted (${job!.restarts}): going on with its run`);
    return { resume: true, force: false };
  }
  return { resume: resume === "latest" ? true : resume ?? false, force };
}

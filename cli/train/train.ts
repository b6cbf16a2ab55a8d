/**
 * `rgx train` and `rgx sft`: reads the configuration, assembles the parts, runs the trainer and
 * shows its progress.
 */
import { requireAsked } from "../../configs/rank_layout.ts";
import { deviceOfConfig } from "../../configs/run_device.ts";
import { withDefaults } from "../../configs/foreign/config_arguments.ts";
import { loadConfig, type LoadedConfig } from "../../configs/load.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { renderYaml } from "../../configs/to_yaml.ts";
import { EXIT, RgxError, UsageError } from "../../core/errors.ts";
import { freeBytes } from "../../core/machine/disk_space.ts";
import { slurmJob } from "../../core/machine/job.ts";
import { secondsLeft } from "../../core/machine/slurm_queue.ts";
import type { Device } from "../../kernels/device.ts";
import { DEVICE_NAMES, isDeviceName } from "../../kernels/mod.ts";
import { contextText } from "../../models/architectures/rope_scaling.ts";
import { drawText, LoadProgress } from "../models/load_progress.ts";
import { uploadProgress } from "../models/upload.ts";
import { deviceNameOf } from "../open_device.ts";
import { openRankDevice, withRanks } from "../ranks/join_ranks.ts";
import { type AskedRanks, askedRanks } from "../ranks/asked_ranks.ts";
import { isRank, runRanks } from "../ranks/start_ranks.ts";
import { ALONE, type Ranks } from "../../ranks/ranks.ts";
import { assemble, type TrainingParts } from "../../training/assemble.ts";
import type { TrainPlan } from "../../training/run/events.ts";
import type { MemoryPlan } from "../../training/memory/run_memory.ts";
import { newestCheckpoint } from "../../training/checkpoint/checkpoint_files.ts";
import { checkRankCount } from "../../training/run/rank_count.ts";
import { deviceOfRun, readRun } from "../../training/run/run_folder.ts";
import { RunTracking } from "../../training/run/run_tracking.ts";
import { isRequeuedRestart } from "../../training/run/sessions.ts";
import { planFromShape, type ShapePlan } from "../../training/memory/shape_plan.ts";
import { GrpoTrainer } from "../../training/trainer.ts";
import { requireWarmStart } from "../../training/warm_start.ts";
import type { PlanCard } from "../../training/card/plan_card.ts";
import { planOnCard } from "../../training/card/card_plan.ts";
import { cardFromFlags } from "../plans/card_flags.ts";
import { cardMemoryText, cardPlanJson, cardVerdictText } from "../plans/card_plan_text.ts";
import {
  missingAdvice,
  missingError,
  missingForRun,
  missingLines,
  namingMissing,
} from "../plans/missing_parts.ts";
import { memoryTable, shapePlanText } from "../plans/memory_table.ts";
import { measuredRunTime } from "../plans/run_time.ts";
import { readChosenMetrics } from "./metric_lines.ts";
import { type HubUploads, hubUploads } from "./hub_uploads.ts";
import { isSameFolder, runOfConfig } from "./run_of_config.ts";
import { TrainProgress } from "./train_progress.ts";
import { listenForStop, parseDuration } from "../stop_control.ts";
import { log, print } from "../terminal/terminal.ts";

export interface TrainOptions {
  /** A checkpoint's path, or "latest". */
  resume?: string;
  dryRun?: boolean;
  printConfig?: boolean;
  device?: string;
  gpu?: string;
  deviceMemory?: string;
  threads?: number;
  ranks?: number;
  outputDir?: string;
  maxTime?: string;
  force?: boolean;
  json?: boolean;
  logFormat: string;
  logMetrics?: string;
  /** Measure kernels: true also on a software adapter, false never. */
  tune?: boolean;
  quiet?: boolean;
  verbose?: boolean;
}

/** Returns the exit code: 0 done, 75 stopped and resumable. */
export async function train(
  name: string,
  overrides: string[],
  options: TrainOptions,
  commandOptions: readonly string[] = [],
  phases: "all" | "sft" = "all",
): Promise<number> {
  if (options.logFormat !== "text" && options.logFormat !== "json") {
    throw new UsageError(`--log-format ${options.logFormat}: expected text or json`);
  }
  readChosenMetrics(options.logMetrics); // refuses it before anything starts
  const maxSeconds = options.maxTime === undefined ? null : parseDuration(options.maxTime);
  const card = cardFromFlags(options, { plans: options.dryRun ?? false, planFlag: "--dry-run" });
  const plansOnly = (options.printConfig || options.dryRun) ?? false;
  let loaded!: LoadedConfig;
  const read = async () => {
    loaded = await load(name, overrides, options, commandOptions, phases);
    if (phases === "sft" && !options.printConfig) requireWarmStart(loaded.config);
    options = withDevice(options, loaded.config.training, card);
  };
  const isAlone = !isRank(options.ranks);
  let asked: AskedRanks | null = null;
  if (isAlone) {
    // A mistake in the configuration is found before anything is started.
    await read();
    const { config } = loaded;
    if (!options.printConfig && card === null) {
      asked = await askedRanks(config.training, options.ranks, deviceNameOf(options));
    }
    if (asked !== null && phases !== "sft") checkRankCount(config, asked.count);
    if (asked !== null && !options.dryRun) {
      return await runRanks(asked, Deno.args, async () => {
        const kept = await newestCheckpoint(config.training.output_dir, () => {});
        return kept === null ? null : `${kept} is`;
      });
    }
  }
  return await withRanks(options.verbose ?? false, async (joined) => {
    const { ranks } = joined;
    if (!isAlone) {
      await ranks.each(async () => {
        await read();
        requireAsked(loaded.config.training, ranks.size, `${ranks.size} ranks were started`);
      });
    }
    // One rank is enough for what is only printed.
    if (plansOnly && !ranks.isFirst) return EXIT.ok;
    if (options.printConfig) {
      print(loaded.yaml.trimEnd());
      return EXIT.ok;
    }
    if (!options.quiet && ranks.isFirst) {
      for (const note of loaded.notes) log(`note: ${note}`);
      if (joined.label !== null) log(`note: ${joined.label}`);
    }
    if (card !== null) return await dryRunOnCard(loaded.config, card, options, phases);
    const which = plansOnly ? ALONE : ranks, count = asked?.count ?? ranks.size;
    return await trainLoaded(loaded, which, options, { phases, maxSeconds, count });
  });
}

/**
 * Trains, or plans it, with a configuration that was read. All ranks but the first are silent.
 * `count`: the number of ranks that the run has; a plan is made by one of them.
 */
async function trainLoaded(
  loaded: LoadedConfig,
  ranks: Ranks,
  options: TrainOptions,
  { phases, maxSeconds, count }: {
    phases: "all" | "sft";
    maxSeconds: number | null;
    count: number;
  },
): Promise<number> {
  // The number of ranks is no part of what a run stores: one of 4 may go on with 1 or 2.
  const training = { ...loaded.config.training, nnodes: null, n_gpus_per_node: null };
  const config = { ...loaded.config, training };
  const { output_dir: outputDir } = config.training, { isFirst } = ranks;
  // The query is started now, so that the answer is there when it is needed.
  const jobEnd = isFirst ? secondsLeft() : Promise.resolve(null);
  const resume = await ranks.first(() => resumeOf(outputDir, options));
  const keep = resume.resume === false ? null : await ranks.first(() => deviceOfRun(outputDir));
  const { device, memory } = await openRankDevice(ranks, { ...options, keep });
  const control = listenForStop(maxSeconds, undefined, !isFirst);
  const progress = new TrainProgress(config, device, {
    ...options,
    logMetrics: readChosenMetrics(options.logMetrics),
  });
  const tracking = isFirst
    ? new RunTracking(
      config,
      Deno.env.toObject(),
      (message) => progress.on({ type: "warning", message }),
    )
    : null;
  const quiet = options.quiet || options.logFormat === "json" || !isFirst;
  const loading = new LoadProgress(quiet), drawing = new LoadProgress(quiet, drawText);
  let uploads: HubUploads | null = null;
  /** Whether the output folder belongs to this run. */
  let begun = false;
  try {
    await ranks.each(async () => {
      // Nothing is uploaded by a dry run, so it needs no token.
      if (isFirst && !options.dryRun) {
        uploads = await hubUploads(config, {
          tell: (text) => quiet || log(text),
          warn: (message) => progress.on({ type: "warning", message }),
          progress: quiet ? () => {} : uploadProgress(),
        });
      }
    });
    if (options.dryRun) await refuseMissing(config, device, options, phases);
    else await ranks.first(() => refuseSeveral(config));
    if (options.tune && device.rehearse === undefined) {
      throw new UsageError(`--tune: ${device.name} has no choice of kernels`, {
        advice: "It measures the kernels of a graphics card: --device webgpu",
      });
    }
    let parts!: TrainingParts;
    await ranks.each(async () => {
      parts = await assemble(config, device, {
        phases,
        ranks: count,
        onLoad: loading.on,
        onDraw: drawing.on,
        ...(memory === null ? {} : { availableBytes: memory }),
        // A model that is made from a seed has no sizes that need an explanation.
        ...(options.dryRun && config.model.init === null
          ? { planned: (plan: MemoryPlan) => log(`${memoryTable(plan)}\n`) }
          : {}),
      }).finally(() => drawing.close());
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
      listeners: tracking === null ? [] : [
        (event) => progress.on(event),
        (event) => tracking.on(event),
        (event) => uploads?.on(event),
        (event) => begun ||= event.type === "plan",
      ],
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
    const summary = await trainer.run().finally(() => {
      // A job that was warned ends while it can. The report is written when the run is done.
      const hurry = control.reason !== null && slurmJob() !== null;
      return !begun || hurry ? undefined : report(outputDir, quiet);
    });
    // The assignment is in a function, which the compiler does not follow.
    await (uploads as HubUploads | null)?.finish(summary);
    if (options.json && isFirst) print(JSON.stringify(summary));
    return summary.status === "stopped" ? EXIT.resumable : EXIT.ok;
  } finally {
    (uploads as HubUploads | null)?.close();
    loading.close();
    progress.close();
    tracking?.close();
    control.ended();
    device.close();
  }
}

/** Shows what a run would do, with its warnings; nothing is written. */
async function showDryRun(
  trainer: GrpoTrainer,
  memory: MemoryPlan,
  progress: TrainProgress,
  config: RunConfig,
  json: boolean,
): Promise<void> {
  for (const message of await trainer.check()) progress.on({ type: "warning", message });
  const plan = trainer.plan(), free = await freeBytes(config.training.output_dir);
  progress.showDryRun(plan, trainer.samplePrompt(), free);
  if (!json) return;
  print(JSON.stringify({ ...plannedSummary(config, memory, plan), disk_free_bytes: free }));
}

/**
 * Ends a dry run whose model or data set is not on this machine: the memory is planned from the
 * model's sizes where they are known, then an error says what to fetch.
 */
async function refuseMissing(
  config: RunConfig,
  device: Device,
  { json = false }: TrainOptions,
  phases: "all" | "sft",
): Promise<void> {
  const missing = await missingForRun(config);
  if (missing.length === 0) return;
  let isPlanned = false;
  const onPlan = (plan: ShapePlan) => {
    isPlanned = true;
    log(shapePlanText(plan, config));
  };
  try {
    const planned = await planFromShape(config, device, { phases, onPlan });
    if (json && planned !== null) print(JSON.stringify(plannedSummary(config, planned.memory)));
  } catch (error) {
    // Without the data set, or the sizes of the model, there is no plan.
    if (!(error instanceof RgxError)) throw error;
    if (isPlanned) {
      for (const line of missingLines(missing)) log(`warning: ${line}`);
      throw error;
    }
  }
  throw missingError(missing);
}

/** A run that lacks several things names them together. What is wrong with one, opening it says. */
async function refuseSeveral(config: RunConfig): Promise<void> {
  const missing = await missingForRun(config);
  if (missing.length > 1) throw missingError(missing);
}

/** `--dry-run` for a card that need not be on this machine. */
async function dryRunOnCard(
  config: RunConfig,
  card: PlanCard,
  options: TrainOptions,
  phases: "all" | "sft",
): Promise<number> {
  const plan = await planOnCard(config, card, {
    phases,
    onMemory: (plan) => log(cardMemoryText(plan, config)),
  });
  log(`${cardVerdictText(plan)}\n\ndry run: nothing was written`);
  const missing = await missingForRun(config);
  for (const line of missingLines(missing)) log(`note: ${line}`);
  if (missing.length > 0) log(`before the run, ${missingAdvice(missing)}`);
  if (options.json) {
    const { output_dir } = config.training;
    print(JSON.stringify({ output_dir, status: "planned", ...cardPlanJson(plan) }));
  }
  return EXIT.ok;
}

/** The JSON object of a dry run: the part of the summary of a run that is known before it. */
function plannedSummary({ training }: RunConfig, memory: MemoryPlan, plan?: TrainPlan) {
  return {
    output_dir: training.output_dir,
    status: "planned",
    ...(plan && {
      steps: plan.warmStartSteps + (plan.phases === "all" ? plan.steps : 0),
      parameters: plan.parameters,
      trainable_parameters: plan.trainable,
      train_problems: plan.trainProblems,
      held_out_problems: plan.heldOut,
      validation_problems: plan.validation,
      disk_planned_bytes: plan.disk.total,
    }),
    memory_planned_bytes: memory.peak,
    memory_available_bytes: Number.isFinite(memory.available) ? memory.available : null,
  };
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

/** The options with the device that the configuration asks for. */
function withDevice(
  options: TrainOptions,
  training: RunConfig["training"],
  card: PlanCard | null,
): TrainOptions {
  if (card !== null) {
    const flag = options.gpu === undefined ? "--device-memory" : "--gpu";
    deviceOfConfig(training, "webgpu", `${flag} plans for`);
    return options;
  }
  const [source, named] = options.device === undefined
    ? ["RGX_DEVICE", Deno.env.get("RGX_DEVICE")]
    : ["--device", options.device];
  const device = deviceOfConfig(training, named, source);
  return device === undefined ? options : { ...options, device };
}

async function load(
  given: string,
  more: string[],
  options: TrainOptions,
  commandOptions: readonly string[],
  phases: "all" | "sft",
): Promise<LoadedConfig> {
  if (options.device !== undefined && !isDeviceName(options.device)) {
    throw new UsageError(`--device ${options.device}: expected ${DEVICE_NAMES.join(", ")}`);
  }
  const run = options.resume === undefined ? null : await runOfConfig(given);
  const [name, overrides] = await withDefaults(run?.config ?? given, more);
  const env = Deno.env.toObject();
  const read = (outputDir: string | undefined) => {
    const all = outputDir === undefined
      ? overrides
      : [...overrides, `--output-dir=${JSON.stringify(outputDir)}`];
    const read = () => loadConfig(name, { overrides: all, commandOptions, env, phases });
    return options.printConfig ? read() : namingMissing(read);
  };
  let loaded = await read(options.outputDir);
  const isPlaced = options.outputDir !== undefined ||
    overrides.some((text) => /\boutput[_-]dir\b/.test(text));
  const { output_dir: outputDir } = loaded.config.training;
  if (run !== null && !isPlaced && !await isSameFolder(outputDir, run.folder)) {
    loaded = await read(run.folder);
  }
  for (const [key, value] of Object.entries(loaded.environment)) Deno.env.set(key, value);
  return loaded;
}

/**
 * `rgx train` and `rgx sft`: reads the configuration, trains on as many ranks as it asks for, shows
 * and records what happens, and uploads what was asked for.
 */
import type { LoadedConfig, RunKind } from "../../configs/load.ts";
import { requireAsked } from "../../configs/rank_layout.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { renderYaml } from "../../configs/to_yaml.ts";
import { EXIT, messageOf, RgxError, UsageError } from "../../core/errors.ts";
import { slurmJob } from "../../core/machine/job.ts";
import { secondsLeft } from "../../core/machine/slurm_queue.ts";
import { programCommand } from "../../core/program_command.ts";
import { type HubSettings, hubSettings } from "../../hub/settings.ts";
import { requireToken } from "../../hub/upload/upload.ts";
import type { Device } from "../../kernels/device.ts";
import { contextText } from "../../models/architectures/rope_scaling.ts";
import { ALONE, type Ranks } from "../../cluster/ranks/ranks.ts";
import { shareModel, type ShareOptions, uploadCommand } from "../../reports/sharing/share_model.ts";
import { assemble, type TrainingParts } from "../../training/assemble.ts";
import { newestCheckpoint } from "../../training/checkpoint/checkpoint_files.ts";
import { WARM_START } from "../../training/checkpoint/checkpoint_folders.ts";
import type { MemoryPlan } from "../../training/memory/run_memory.ts";
import type { TrainEvent, TrainListener, TrainSummary } from "../../training/run/events.ts";
import { checkRankCount } from "../../training/run/rank_count.ts";
import { deviceOfRun, readRun } from "../../training/run/run_folder.ts";
import { RunTracking } from "../../training/run/run_tracking.ts";
import { isRequeuedRestart } from "../../training/run/sessions.ts";
import { GrpoTrainer } from "../../training/trainer.ts";
import { drawText, LoadProgress } from "../terminal/redrawn_lines.ts";
import { uploadProgress } from "../models/upload.ts";
import { deviceNameOf, runDeviceName } from "../open_device.ts";
import { measuredRunTime, memoryTable } from "../plans/plan_text.ts";
import { missingError, missingForRun } from "../plans/missing_parts.ts";
import { type AskedRanks, askedRanks, isRank, runRanks } from "../ranks/start_ranks.ts";
import { openRankDevice, withRanks } from "../ranks/join_ranks.ts";
import { listenForStop, type StopControl } from "../stop_control.ts";
import { log, print } from "../terminal/terminal.ts";
import { refuseMissing, showDryRun } from "./dry_run.ts";
import { loadRun, type TrainOptions } from "./load_run.ts";
import { TrainProgress } from "./train_progress.ts";

/** Returns the exit code: 0 done, 75 stopped and resumable. */
export async function train(
  name: string,
  overrides: string[],
  options: TrainOptions,
  commandOptions: readonly string[] = [],
  kind: RunKind = "all",
): Promise<number> {
  const phases = kind === "all" ? "all" : "sft";
  const plansOnly = (options.printConfig || options.dryRun) ?? false;
  let loaded!: LoadedConfig;
  const read = async () => {
    loaded = await loadRun(name, overrides, options, commandOptions, kind);
    const device = runDeviceName(options.device, loaded.config.training);
    if (device !== undefined) options = { ...options, device };
  };
  const isAlone = !isRank(options.ranks);
  let asked: AskedRanks | null = null;
  if (isAlone) {
    // A mistake in the configuration is found before anything is started.
    await read();
    const { config } = loaded;
    if (!options.printConfig) {
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
    const which = plansOnly ? ALONE : ranks, count = asked?.count ?? ranks.size;
    return await runTraining(loaded, which, options, phases, count);
  });
}

/**
 * @param count the number of ranks of the run: a plan is made by one of them
 * @returns the exit code: 0 done, 75 stopped and resumable
 */
async function runTraining(
  loaded: LoadedConfig,
  ranks: Ranks,
  options: TrainOptions,
  phases: "all" | "sft",
  count: number,
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
  const control = listenForStop(options.maxTime ?? null, undefined, !isFirst);
  opened.defer(() => control.ended());
  const observers = observersOf(config, device, options, isFirst);
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
      allowPython: options.allowPython ?? false,
      onLoad: observers.loading.on,
      onDraw: observers.drawing.on,
      shouldStop: () => control.stopRequested() !== "no",
      resumes: resume.resume !== false,
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
  // The estimate may take measurements of the model, so it is made only if somebody sees it.
  const counted = options.dryRun && !options.measure ? parts.model.sizes : null;
  const isShown = progress.secondsLeft !== null || (!options.quiet && resume.resume === false);
  if (isShown && isFirst) {
    progress.time = {
      ...await measuredRunTime(() => trainer.estimateSeconds(counted)),
      isRough: counted !== null,
    };
  }
  control.jobEnds(progress.secondsLeft);
  control.begin();
  if (options.dryRun) {
    await showDryRun(trainer, parts.memory, progress, config, options.json ?? false);
    return EXIT.ok;
  }
  return await runToEnd(trainer, outputDir, control, observers, isFirst && options.json === true);
}

/** The training itself, the report of the run, and the end of its uploads. */
async function runToEnd(
  trainer: GrpoTrainer,
  outputDir: string,
  control: StopControl,
  observers: RunObservers,
  printsSummary: boolean,
): Promise<number> {
  const summary = await trainer.run().finally(() => {
    // A job that was warned has little time, so its report is written when the run is complete.
    const hurry = control.reason !== null && slurmJob() !== null;
    return !observers.hasBegun() || hurry ? undefined : report(outputDir, observers.quiet);
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

/** If several parts are missing, one error names all. A single part has an error of its own. */
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

type RunObservers = ReturnType<typeof observersOf>;

/** What shows, tracks and uploads a run. All ranks but the first are silent. */
function observersOf(config: RunConfig, device: Device, options: TrainOptions, isFirst: boolean) {
  const progress = new TrainProgress(config, device, options);
  const quiet = options.quiet || options.logFormat === "json" || !isFirst;
  const loading = new LoadProgress(quiet), drawing = new LoadProgress(quiet, drawText);
  const warn = (message: string) => progress.on({ type: "warning", message });
  const tracking = isFirst ? new RunTracking(config, Deno.env.toObject(), warn) : null;
  let uploads: HubUploads | null = null, hasBegun = false;
  const listeners: TrainListener[] = [
    (event) => progress.on(event),
    (event) => tracking?.on(event),
    (event) => uploads?.on(event),
    (event) => hasBegun ||= event.type === "plan",
  ];
  return {
    progress,
    loading,
    drawing,
    quiet,
    listeners: isFirst ? listeners : [],
    /** Whether the run has been planned. After that, the output folder belongs to the run. */
    hasBegun: () => hasBegun,
    /** Prepares the uploads that the configuration asks for. @throws UsageError without a token */
    openUploads: async () => {
      if (isFirst) uploads = await hubUploads(config, quiet, warn);
    },
    /** Uploads the model of a complete run, and waits for uploads that are under way. */
    finishUploads: async (summary: TrainSummary) => await uploads?.finish(summary),
    close: () => {
      uploads?.close();
      loading.close();
      progress.close();
      tracking?.close();
    },
  };
}

/** An upload that the configuration asks for, by `hf_upload` or by `push_to_hub`. */
interface Asked extends ShareOptions {
  /** Which checkpoints are uploaded during the training; "end": none. */
  strategy: RunConfig["training"]["hub_strategy"];
}

function askedOf({ hf_upload: section, training }: RunConfig): Asked | null {
  if (section !== null) {
    const { repo_id, optimizer_save_mode: optimizerSaveMode, ...rest } = section;
    return { ...rest, optimizerSaveMode, repoId: repo_id!, strategy: "end" };
  }
  if (!training.push_to_hub) return null;
  const folder = training.output_dir.replace(/\/+$/, "").split("/").at(-1)!;
  return {
    repoId: training.hub_model_id ?? folder,
    optimizerSaveMode: null,
    private: training.hub_private_repo,
    revision: training.hub_revision,
    strategy: training.hub_strategy,
  };
}

/**
 * The uploads of a run; null when the configuration asks for none.
 * @param warn shows a failure, with advice
 * @throws UsageError when there is no token. If connections are forbidden, as on the nodes of a
 *   cluster, a note says how to upload later
 */
async function hubUploads(
  config: RunConfig,
  quiet: boolean,
  warn: (text: string) => void,
): Promise<HubUploads | null> {
  const asked = askedOf(config), found = asked === null ? null : await hubSettings();
  if (asked === null || found === null) return null;
  const settings = { ...found, token: config.training.hub_token ?? found.token };
  if (settings.offline === null) requireToken(settings);
  return new HubUploads(asked, config.training.output_dir, settings, quiet, warn);
}

class HubUploads {
  #running: { child: Deno.ChildProcess; done: Promise<void> } | null = null;

  constructor(
    private readonly asked: Asked,
    private readonly folder: string,
    private readonly settings: HubSettings,
    private readonly quiet: boolean,
    private readonly warn: (text: string) => void,
  ) {}

  /** Uploads a saved checkpoint, unless an earlier upload is still under way. */
  on(event: TrainEvent): void {
    const { asked: { strategy }, settings: { offline } } = this;
    if (event.type !== "checkpoint" || strategy === "end" || this.#running !== null) return;
    if (offline !== null || event.path.includes(`/${WARM_START}/`)) return;
    this.#running = this.#start(event.path, event.step);
  }

  #start(path: string, step: number): { child: Deno.ChildProcess; done: Promise<void> } {
    const { repoId, revision, strategy } = this.asked, [program, ...args] = programCommand();
    const mode = strategy === "every_save" ? "none" : "full";
    args.push("upload", path, "--repo-id", repoId, "--quiet", "--optimizer-save-mode", mode);
    args.push("--commit-message", `Training in progress, step ${step}`);
    if (strategy === "checkpoint") args.push("--checkpoint-folder", "last-checkpoint");
    if (this.asked.private) args.push("--private");
    if (revision != null) args.push("--revision", revision);
    const child = new Deno.Command(program!, {
      args,
      env: { HF_TOKEN: this.settings.token!, NO_COLOR: "1" },
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const done = child.output().then(({ success, stderr }) => {
      this.#running = null;
      if (success) return;
      const [line = ""] = new TextDecoder().decode(stderr).trim().split("\n")
        .filter((text) => text.startsWith("error:"));
      this.warn(`${path} was not uploaded: ${line.replace("error: ", "")}`);
    });
    return { child, done };
  }

  /** Uploads the model of a complete run; otherwise waits for an upload that is under way. */
  async finish({ status }: TrainSummary): Promise<void> {
    const { asked, settings, folder, quiet } = this, later = uploadCommand(folder, asked);
    if (settings.offline !== null) {
      const when = status === "completed" ? "On" : "When the run is complete, on";
      return this.warn(
        `${settings.offline} forbids uploads. ${when} a machine with a network: ${later}`,
      );
    }
    await this.#running?.done;
    if (status !== "completed") return;
    const onEvent = quiet ? () => {} : uploadProgress();
    try {
      const message = "End of training";
      const { url } = await shareModel(folder, { ...asked, settings, message, onEvent });
      if (!quiet) log(`Uploaded: ${url}`);
    } catch (error) {
      const advice = error instanceof RgxError ? ` ${error.advice ?? ""}` : "";
      this.warn(`The model was not uploaded: ${messageOf(error)}.${advice} Later: ${later}`);
    }
  }

  /** Ends an upload that is under way, after a failure of the run. */
  close(): void {
    try {
      this.#running?.child.kill("SIGTERM");
    } catch {
      // it has ended
    }
  }
}

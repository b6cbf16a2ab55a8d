/**
 * What a run tells, and where: events for its listeners, what is logged, advice, and the records in
 * its folder (lines of metrics.jsonl and run.log, completions, evaluations, `run.json`, the final
 * model). The checkpoints are in `resume_and_save.ts`; `run_folder.ts` writes files safely.
 */
import type { FileContent } from "../../core/atomic_file.ts";
import { messageOf } from "../../core/errors.ts";
import { type SlurmJob, slurmJob } from "../../core/machine/job.ts";
import { VERSION } from "../../core/version.ts";
import type { Restored } from "../checkpoint/checkpoint_files.ts";
import type { RunState } from "../checkpoint/run_state.ts";
import { Diagnosis, SupervisedDiagnosis } from "../diagnosis/diagnosis.ts";
import type { EvalItem } from "../evaluation/before_and_after.ts";
import { finiteOrNull, MetricAverager, type Metrics, unfiltered } from "../metrics/metrics.ts";
import type { Rollout } from "../rollout/rollout.ts";
import type { TrainEvent, TrainPhase, TrainSummary } from "./events.ts";
import { RunCheckpoints } from "./resume_and_save.ts";
import { completionsFile, encodeCompletions, readRun, type RunFolder } from "./run_folder.ts";
import type { RunSizes } from "./run_sizes.ts";
import { addSession, progressText, RUN_FORMAT, type Session } from "./sessions.ts";
import type { TrainerOptions } from "./trainer_options.ts";
import type { PromptEncoder } from "../../bench/evaluation/prompt_encoder.ts";
import type { PhaseClock } from "../metrics/phase_clock.ts";
import type { StopRequests } from "./stop_requests.ts";
import type { WeightUpdates } from "./weight_updates.ts";

/** What run.json has of the summary. */
const KEPT_OF_SUMMARY = [
  "checkpoint",
  "steps",
  "seconds",
  "seconds_by_phase",
  "eval_before",
  "eval_after",
  "item_overlap",
  "memory_planned_bytes",
  "peak_memory_bytes",
] as const;

export class RunReport {
  /** Set when the run's folder is open. */
  checkpoints!: RunCheckpoints;
  /** Null on the ranks after the first, which write nothing. */
  #folder: RunFolder | null = null;
  #averager: MetricAverager;
  readonly #diagnosis: Diagnosis;
  readonly #supervised: SupervisedDiagnosis;
  /** Never on the ranks after the first, which have nothing to record. */
  #begun = false;
  #sessions: Session[] = [];
  readonly #job: SlurmJob | null;

  constructor(private readonly options: TrainerOptions, private readonly sizes: RunSizes) {
    const { config, model, job } = options;
    this.#averager = new MetricAverager({}, unfiltered(config.training));
    this.#diagnosis = new Diagnosis(config, sizes.totalSteps);
    this.#supervised = new SupervisedDiagnosis(config, model.vocabSize, sizes.warmStartSteps);
    this.#job = job === undefined ? slurmJob() : job;
  }

  open(folder: RunFolder | null): void {
    const { options, sizes } = this;
    this.#folder = folder;
    this.checkpoints = new RunCheckpoints(folder, options, sizes, this.#job !== null);
  }

  emit(event: TrainEvent): void {
    for (const listener of this.options.listeners ?? []) listener(event);
  }

  phase(phase: TrainPhase): void {
    this.emit({ type: "phase", phase });
  }

  async warn(message: string): Promise<void> {
    this.emit({ type: "warning", message });
    await this.#folder?.log("warning", { message });
  }

  /** Adds a step to the means of the next log, and logs them if that is due. */
  log(step: number, totalSteps: number, metrics: Metrics, isDue: boolean): void {
    this.#averager.add(metrics);
    if (!isDue) return;
    const means = this.#averager.means();
    this.#averager.reset();
    this.checkpoints.logHistory.push({ ...means, step });
    this.emit({ type: "log", step, totalSteps, metrics: means });
  }

  get unlogged(): ReturnType<MetricAverager["state"]> {
    return this.#averager.state();
  }

  restore(unlogged: ReturnType<MetricAverager["state"]>): void {
    this.#averager = new MetricAverager(unlogged, unfiltered(this.options.config.training));
  }

  /** Looks at the metrics of a step, or at the loss of a supervised one. */
  async diagnose(step: number, seen: Readonly<Metrics> | number): Promise<void> {
    const found = typeof seen === "number"
      ? this.#supervised.observe(step, seen)
      : this.#diagnosis.observe(step, seen);
    for (const advice of found) {
      this.emit({ type: "advice", step, advice });
      await this.#folder?.log("advice", { step, ...advice });
    }
  }

  /**
   * The first writes of this session; removes metrics and completions that came after the
   * checkpoint.
   * @param state its time is what the chat template writes (null = it writes none)
   * @returns what the user should know
   */
  async begin(
    restored: Restored | null,
    { promptTime, kernels }: Pick<RunState, "promptTime" | "kernels">,
  ): Promise<string[]> {
    const { config, configText, device } = this.options, folder = this.#folder!;
    const earlier = await readRun(folder.path), job = this.#job;
    const from = progressText(restored?.state ?? null);
    const { sessions, stalled } = addSession(earlier, job, from);
    this.#sessions = sessions;
    await this.checkpoints.removeAbandoned();
    await folder.rewind(restored?.metricsBytes ?? 0, restored?.state.step ?? 0);
    // Of a run whose steps are all done, it says what the model was trained with.
    if (this.checkpoints.trainedConfig === config) {
      await folder.write("config.yaml", configText);
    }
    await folder.updateRun({
      format: RUN_FORMAT,
      version: VERSION,
      deno: Deno.version.deno,
      host: Deno.hostname(),
      // The paths in config.yaml are relative to it.
      working_directory: Deno.cwd(),
      pid: Deno.pid,
      device: device.name,
      ...(device.adapter === undefined ? {} : { adapter: device.adapter }),
      threads: device.threads,
      ...(device.tiles === undefined ? {} : { tiles: device.tiles }),
      // A state also keeps those of the card on which it was before.
      ...(kernels === null || device.adapter === undefined ? {} : { kernels: kernels.choices }),
      compute_dtype: device.computeDtype,
      ...(device.computeDtype !== "bfloat16" || device.bf16Unit === undefined
        ? {}
        : { bf16_unit: device.bf16Unit }),
      seed: config.training.seed,
      start: (restored !== null && earlier?.start) || new Date().toISOString(),
      ...(promptTime !== null && { prompt_time: promptTime }),
      end: null,
      status: "running",
      resumed_from: restored?.path ?? null,
      job: job && jobRecord(job),
      restarts_without_progress: stalled,
      sessions,
    });
    await folder.log(restored === null ? "start" : "resume", {
      version: VERSION,
      host: Deno.hostname(),
      ...(job === null ? {} : { job: job.id, restarts: job.restarts }),
      ...(restored === null ? {} : { checkpoint: restored.path }),
    });
    this.#begun = true;
    const before = restored === null ? device.name : earlier?.["device"] ?? device.name;
    return before === device.name ? [] : [
      `the run was on the device ${before} and goes on with ${device.name}: the bits differ from ` +
      `those of a run that was not stopped (--device ${before} keeps it)`,
    ];
  }

  async appendMetrics(
    line: { step: number; epoch: number; split: string } & Record<string, unknown>,
  ): Promise<void> {
    const { step, epoch, split, ...metrics } = line;
    const time = new Date().toISOString();
    await this.#folder?.metrics.append({ step, epoch, time, split, ...metrics });
  }

  /** To metrics.jsonl, as a line without a split, and to run.log. */
  async appendLevels(step: number, change: object): Promise<void> {
    const time = new Date().toISOString(), event = "curriculum";
    await this.#folder?.metrics.append({ event, step, time, ...change });
    await this.#folder?.log(event, { step, ...change });
  }

  /** Records a step, and emits its event. @param clock what depends on the clock */
  async step(
    { split, epoch, ...about }:
      & Omit<Extract<TrainEvent, { type: "step" }>, "type" | "metrics">
      & { split: string; epoch: number },
    metrics: Readonly<Metrics>,
    clock: Readonly<Record<string, number>>,
  ): Promise<void> {
    const { step } = about;
    await this.appendMetrics({ step, epoch, split, ...finiteOrNull(metrics), ...clock });
    this.emit({ type: "step", ...about, metrics: { ...metrics, ...clock } });
  }

  async writeCompletions(step: number, rollout: Rollout, names: readonly string[]): Promise<void> {
    if (this.#folder === null) return;
    await this.#folder.write(completionsFile(step), encodeCompletions(step, rollout, names));
  }

  async writeEvaluation(moment: "before" | "after", items: readonly EvalItem[]): Promise<void> {
    const lines = items.map((item) => JSON.stringify(item) + "\n").join("");
    await this.#folder?.write(`eval_${moment}.jsonl`, lines);
  }

  keepAlive(): void {
    this.#folder?.keepAlive();
  }

  /** The cause of an error of this session: the error itself, or that the run's files are gone. */
  async explain(error: unknown): Promise<unknown> {
    // If the folder cannot be looked at (a file server is down), the error itself says most.
    const folder = this.#folder;
    const isLost = this.#begun && folder !== null && !await folder.isThere().catch(() => true);
    return isLost ? await folder.lost(error) : error;
  }

  /** Records that the run is complete: final model, history, status. */
  async finish(
    files: ReadonlyMap<string, FileContent>,
    state: RunState,
    summary: TrainSummary,
  ): Promise<void> {
    if (!this.#begun) return;
    await this.#folder?.metrics.flush();
    for (const [name, content] of files) await this.#folder?.write(name, content);
    const trainerState = await this.checkpoints.trainerState(state, false);
    await this.#folder?.write("trainer_state.json", trainerState);
    await this.#close("completed", summary, state, null);
  }

  async stop(state: RunState, summary: TrainSummary): Promise<void> {
    if (!this.#begun) return;
    await this.#folder?.metrics.append({
      event: "stop",
      step: state.step,
      time: new Date().toISOString(),
      reason: this.options.control?.reason ?? null,
    }, { sync: true });
    await this.#close("stopped", summary, state, this.options.control?.reason ?? null);
  }

  /** Records that the run failed, unless it was refused before it began. */
  async fail(error: unknown, state: RunState, summary: TrainSummary): Promise<void> {
    if (!this.#begun || !await this.#folder?.isOurs()) return;
    await this.#close("failed", summary, state, messageOf(error));
  }

  async #close(
    status: TrainSummary["status"],
    summary: TrainSummary,
    state: RunState,
    reason: string | null,
  ): Promise<void> {
    const end = new Date().toISOString(), to = progressText(state);
    const why = reason === null ? {} : { [status === "failed" ? "error" : "reason"]: reason };
    await this.#folder?.log(status, why);
    const last = { ...this.#sessions.at(-1)!, end, status, reason, to };
    const sessions = this.#sessions.with(-1, last);
    const kept = Object.fromEntries(KEPT_OF_SUMMARY.map((name) => [name, summary[name]]));
    await this.#folder?.updateRun({ end, status, ...why, sessions, ...kept });
  }
}

const jobRecord = ({ id, name, partition, node, restarts }: SlurmJob) => ({
  id,
  name,
  partition,
  node,
  restarts,
});

export interface RunParts {
  options: TrainerOptions;
  sizes: RunSizes;
  state: RunState;
  prompts: PromptEncoder;
  clock: PhaseClock;
  report: RunReport;
  /** With the ranks of the run. */
  stop: StopRequests;
  updates: WeightUpdates;
}

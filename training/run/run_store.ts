/**
 * The run's records: metrics lines, log history, `run.json`, checkpoints, and finding the one to go
 * on from. What is in which file is fixed here; how files are written safely is in `run_folder.ts`,
 * `metrics_log.ts` and `checkpoint_store.ts`.
 */
import { stepInterval } from "../../configs/step_interval.ts";
import { sha256Hex } from "../../core/checksums.ts";
import { messageOf, UsageError } from "../../core/errors.ts";
import { type SlurmJob, slurmJob } from "../../core/machine/job.ts";
import { VERSION } from "../../core/version.ts";
import {
  checkpointFiles,
  namedCheckpoint,
  newestCheckpoint,
  readCheckpoint,
  type Restored,
  restoreWeights,
} from "../checkpoint/checkpoint.ts";
import {
  checkpointPath,
  listCheckpoints,
  openCheckpoint,
  saveCheckpoint,
  WARM_START,
} from "../checkpoint/checkpoint_store.ts";
import { changedKeys } from "./config_difference.ts";
import type { Advice } from "../diagnosis/diagnosis.ts";
import type { EvalItem } from "../../evaluation/evaluate.ts";
import type { TrainSummary } from "./events.ts";
import type { Rollout } from "../rollout/rollout.ts";
import type { RunFolder } from "./run_folder.ts";
import type { MicroSchedule } from "../step/micro_schedule.ts";
import type { RolloutBuffer } from "../step/rollout_buffer.ts";
import {
  type BestEvaluation,
  encodeState,
  type RolloutPosition,
  type RunState,
} from "../checkpoint/run_state.ts";
import { addSession, type Session, standing } from "./sessions.ts";
import { encodeTrainerState } from "../checkpoint/trainer_state.ts";
import type { RunSizes, TrainerOptions } from "./trainer_options.ts";

/** What a checkpoint holds beside the model and the state. */
export interface ResumeParts {
  /** null = starts fresh in the next phase. */
  optimizer: Uint8Array | null;
  reference: Uint8Array | null;
  /** The generation batch in use. */
  rollout: RolloutBuffer | null;
}

export class RunStore {
  /** One object per log call, as in trainer_state.json. */
  logHistory: Record<string, unknown>[] = [];
  #lastCheckpoint: string | null = null;
  /** Set once its weights are in the model. */
  #bestCheckpoint: string | null = null;
  /** The state of the last checkpoint, and whether a run can go on from it exactly. */
  #lastSaved: { position: string; complete: boolean } | null = null;
  #begun = false;
  /** Checkpoints that the start of this session removes. */
  #abandoned: string[] = [];
  /** Of the run, the last one being this. */
  #sessions: Session[] = [];
  readonly #job: SlurmJob | null;
  readonly #configSha256: string;

  constructor(
    private readonly folder: RunFolder,
    private readonly options: TrainerOptions,
    private readonly sizes: RunSizes,
  ) {
    this.#job = options.job === undefined ? slurmJob() : options.job;
    this.#configSha256 = sha256Hex(options.configText);
  }

  /**
   * The newest written or resumed from; of a completed run the best, where its weights were loaded.
   */
  checkpoint(status: TrainSummary["status"]): string | null {
    return (status === "completed" ? this.#bestCheckpoint : null) ?? this.#lastCheckpoint;
  }

  /**
   * Finds the checkpoint to go on from and puts its weights into the model; null = from the
   * beginning. Nothing in the folder is changed yet.
   */
  async restore(
    resume: boolean | string,
  ): Promise<{ restored: Restored | null; warnings: string[] }> {
    const warnings: string[] = [];
    if (resume === false) return { restored: null, warnings };
    const path = resume === true
      ? await newestCheckpoint(
        this.folder.path,
        (damaged, reason) => warnings.push(`${damaged} is damaged and was skipped: ${reason}`),
      )
      : await namedCheckpoint(this.folder.path, resume);
    if (path === null) {
      // A job that starts for the first time is asked to go on, too.
      if (this.#job === null || await this.folder.readRun() !== null) {
        warnings.push(
          `${this.folder.path} holds no usable checkpoint: starting from the beginning`,
        );
      }
      return { restored: null, warnings };
    }
    const { model, modelWriter } = this.options;
    const restored = await readCheckpoint(path, modelWriter.weightsFile);
    await restoreWeights(model, restored.weights, `${path}/${modelWriter.weightsFile}`);
    const { step, phase } = restored.state, { totalSteps } = this.sizes;
    if (this.options.phases === "sft" && phase === "grpo") {
      throw new UsageError(`${path}: GRPO has begun (step ${step}): its supervised part is over`, {
        advice: "Go on with rgx train … --resume, or start anew in another output_dir.",
      });
    }
    if (step > totalSteps) {
      throw new UsageError(`${path}: step ${step} is beyond the ${totalSteps} steps of this run`, {
        advice: `Set training.max_steps to ${step} or more.`,
      });
    }
    if (resume !== true) await this.#refuseToAbandon(path, step, warnings);
    if (restored.configSha256 !== this.#configSha256) {
      const changed = await this.#changedKeys();
      warnings.push(
        `the configuration differs from the one that ${path} was made with` +
          (changed.length > 0 ? `: ${changed.join(", ")}` : ""),
      );
    }
    // GRPO has a history of its own, with steps that count from 1 again.
    const begins = this.options.phases !== "sft" && phase === "warm_start";
    this.logHistory = begins ? [] : restored.logHistory;
    this.#lastCheckpoint = path;
    this.#lastSaved = {
      position: position(restored.state),
      complete: restored.state.phase === "eval_before" || restored.optimizer !== null,
    };
    return { restored, warnings };
  }

  /**
   * Later checkpoints would be taken for this run's own by the next --resume, so going back to an
   * earlier one (or to one of another run) means to give them up.
   */
  async #refuseToAbandon(path: string, step: number, warnings: string[]): Promise<void> {
    const inside = await Deno.realPath(`${path}/..`) === await Deno.realPath(this.folder.path);
    const later = (await listCheckpoints(this.folder.path))
      .filter((checkpoint) => !inside || checkpoint.step > step)
      .map((checkpoint) => checkpoint.path);
    if (later.length > 0 && !this.options.force) {
      throw new UsageError(`${path}: going on from here gives up ${later.join(", ")}`, {
        advice: "Use --force to delete what is given up, or another output_dir to keep it.",
      });
    }
    this.#abandoned = later;
    if (!inside) {
      warnings.push(`metrics.jsonl starts after step ${step}; the rest is beside ${path}`);
    }
  }

  /** Keys whose values differ from the folder's config.yaml; none when it cannot be read. */
  async #changedKeys(): Promise<string[]> {
    const text = await Deno.readTextFile(`${this.folder.path}/config.yaml`).catch(() => null);
    return text === null ? [] : changedKeys(text, this.options.configText);
  }

  /** The first writes of this session; metrics and completions past the checkpoint are removed. */
  async begin(restored: Restored | null): Promise<void> {
    const { config, configText, device } = this.options;
    const earlier = await this.folder.readRun(), job = this.#job;
    const from = standing(restored?.state ?? null);
    const { sessions, stalled } = addSession(earlier, job, from);
    this.#sessions = sessions;
    for (const path of this.#abandoned) await Deno.remove(path, { recursive: true });
    await this.folder.rewind(restored?.metricsBytes ?? 0, restored?.state.step ?? 0);
    await this.folder.writeText("config.yaml", configText);
    await this.folder.updateRun({
      version: VERSION,
      deno: Deno.version.deno,
      host: Deno.hostname(),
      pid: Deno.pid,
      device: device.name,
      ...(device.adapter === undefined ? {} : { adapter: device.adapter }),
      threads: device.threads,
      seed: config.training.seed,
      start: (restored !== null && earlier?.start) || new Date().toISOString(),
      end: null,
      status: "running",
      resumed_from: restored?.path ?? null,
      job: job === null ? null : {
        id: job.id,
        name: job.name,
        partition: job.partition,
        node: job.node,
        restarts: job.restarts,
      },
      restarts_without_progress: stalled,
      sessions,
    });
    await this.folder.log(restored === null ? "start" : "resume", {
      version: VERSION,
      host: Deno.hostname(),
      ...(job === null ? {} : { job: job.id, restarts: job.restarts }),
      ...(restored === null ? {} : { checkpoint: restored.path }),
    });
    this.#begun = true;
  }

  /** Adds the time and appends a line to metrics.jsonl. */
  async appendMetrics(
    line: { step: number; epoch: number; split: string } & Record<string, unknown>,
  ): Promise<void> {
    const { step, epoch, split, ...metrics } = line;
    await this.folder.metrics.append({
      step,
      epoch,
      time: new Date().toISOString(),
      split,
      ...metrics,
    });
  }

  /** A line in metrics.jsonl that is no split: what happened after a step. */
  async appendEvent(
    event: string,
    step: number,
    details: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    const time = new Date().toISOString();
    await this.folder.metrics.append({ event, step, time, ...details });
    await this.folder.log(event, { step, ...details });
  }

  writeCompletions(step: number, rollout: Rollout, names: readonly string[]): Promise<void> {
    return this.folder.writeCompletions(step, rollout, names);
  }

  /** Every problem of an evaluation with its completion, a line each. */
  async writeEvaluation(moment: "before" | "after", items: readonly EvalItem[]): Promise<void> {
    const lines = items.map((item) => JSON.stringify(item) + "\n").join("");
    await this.folder.writeText(`eval_${moment}.jsonl`, lines);
  }

  async warn(message: string): Promise<void> {
    await this.folder.log("warning", { message });
  }

  async advise(step: number, advice: Advice): Promise<void> {
    await this.folder.log("advice", { step, ...advice });
  }

  /** @see FolderLock.keepAlive */
  keepAlive(): void {
    this.folder.keepAlive();
  }

  /** False when the last checkpoint is of this very state and holds at least as much. */
  needsSave(state: RunState, complete: boolean): boolean {
    const last = this.#lastSaved;
    return last?.position !== position(state) || (complete && !last.complete);
  }

  /** Writes a checkpoint and returns its path. `parts` null: the model only (`save_only_model`). */
  async save(state: RunState, parts: ResumeParts | null): Promise<string> {
    if (!await this.folder.isOurs()) throw await this.folder.lost();
    const { config, modelWriter, tokenizer } = this.options, { training } = config;
    const { schedule, promptsPerGeneration, warmStartSteps } = this.sizes;
    await this.folder.metrics.flush();
    const trainerState = await this.#trainerState(state, true);
    const files = await checkpointFiles({
      model: modelWriter,
      tokenizer,
      config,
      state: encodeState(state, {
        version: VERSION,
        configSha256: this.#configSha256,
        metricsBytes: this.folder.metrics.bytes,
        epoch: schedule.epoch(state.step),
        seed: training.seed,
        dataSeed: training.data_seed ?? training.seed,
        promptsPerEpoch: schedule.options.generationsPerEpoch * promptsPerGeneration,
        microSteps: schedule.microSteps(state.step),
        rollout: parts?.rollout ? rolloutPosition(parts.rollout, schedule, state.step) : null,
      }),
      trainerState,
      optimizer: parts?.optimizer ?? null,
      reference: parts?.reference ?? null,
      rollout: parts?.rollout?.encode() ?? null,
    });
    const inWarmStart = state.phase === "warm_start" ||
      (state.phase === "eval_before" && warmStartSteps > 0);
    const { path, removed } = await saveCheckpoint(
      inWarmStart ? `${this.folder.path}/${WARM_START}` : this.folder.path,
      inWarmStart ? state.warmStartStep : state.step,
      files,
      {
        saveTotalLimit: training.save_total_limit,
        bestStep: inWarmStart ? null : state.best?.step ?? null,
      },
    );
    this.#lastCheckpoint = path;
    this.#lastSaved = { position: position(state), complete: parts !== null };
    await this.folder.writeText("trainer_state.json", trainerState);
    await this.folder.log("checkpoint", { path, ...(removed.length > 0 ? { removed } : {}) });
    return path;
  }

  /** What an error of this session comes from. */
  async explain(error: unknown): Promise<unknown> {
    // Where that cannot be found out, as when a file server is away, the error itself says most.
    const isLost = this.#begun && !await this.folder.isThere().catch(() => true);
    return isLost ? await this.folder.lost(error) : error;
  }

  /**
   * Puts the weights of the best checkpoint into the model; returns its path.
   * @throws RgxError when it is damaged
   */
  async loadBest(best: BestEvaluation): Promise<string> {
    const { model, modelWriter } = this.options;
    const path = checkpointPath(this.folder.path, best.step);
    const checkpoint = await openCheckpoint(path), name = modelWriter.weightsFile;
    await restoreWeights(model, await checkpoint.read(name), `${path}/${name}`);
    await this.folder.log("best_loaded", { path });
    return this.#bestCheckpoint = path;
  }

  /** The run is complete: final model, history, status. */
  async finish(
    files: ReadonlyMap<string, Uint8Array>,
    state: RunState,
    summary: TrainSummary,
  ): Promise<void> {
    await this.folder.metrics.flush();
    await this.folder.writeFiles(files);
    await this.folder.writeText("trainer_state.json", await this.#trainerState(state, false));
    await this.#close("completed", summary, state, null);
  }

  /** The run was stopped and can be resumed. */
  async stop(state: RunState, summary: TrainSummary): Promise<void> {
    await this.folder.metrics.append({
      event: "stop",
      step: state.step,
      time: new Date().toISOString(),
      reason: this.options.control?.reason ?? null,
    }, { sync: true });
    await this.#close("stopped", summary, state, this.options.control?.reason ?? null);
  }

  /** Nothing is recorded of a run that was refused before it began. */
  async fail(error: unknown, state: RunState, summary: TrainSummary): Promise<void> {
    if (!this.#begun || !await this.folder.isOurs()) return;
    await this.#close("failed", summary, state, messageOf(error));
  }

  async #close(
    status: TrainSummary["status"],
    summary: TrainSummary,
    state: RunState,
    reason: string | null,
  ): Promise<void> {
    const end = new Date().toISOString(), to = standing(state);
    const why = reason === null ? {} : { [status === "failed" ? "error" : "reason"]: reason };
    await this.folder.log(status, why);
    const sessions = this.#sessions.with(-1, {
      ...this.#sessions.at(-1)!,
      ...{ end, status, reason, to },
    });
    await this.folder.updateRun({
      end,
      status,
      ...why,
      sessions,
      checkpoint: summary.checkpoint,
      steps: summary.steps,
      seconds: summary.seconds,
      seconds_by_phase: summary.seconds_by_phase,
      eval_before: summary.eval_before,
      eval_after: summary.eval_after,
      item_overlap: summary.item_overlap,
      memory_planned_bytes: summary.memory_planned_bytes,
      peak_memory_bytes: summary.peak_memory_bytes,
    });
  }

  /** `saving`: a checkpoint of this state is about to be written. */
  async #trainerState(state: RunState, saving: boolean): Promise<string> {
    const { training, sft } = this.options.config, { best } = state;
    const logHistory = this.logHistory;
    if (this.options.phases === "sft") {
      const { warmStartSteps: total, trainProblems } = this.sizes, step = state.warmStartStep;
      const batchSize = sft!.per_device_train_batch_size;
      return encodeTrainerState({
        step,
        maxSteps: total,
        epoch: step / Math.floor(trainProblems / batchSize),
        epochs: null,
        batchSize,
        numTokens: state.warmStartTokens,
        loggingSteps: stepInterval(training.logging_steps, total),
        evalSteps: null,
        saveSteps: stepInterval(training.save_steps, total),
        best: null,
        bestCheckpoint: null,
        logHistory,
      });
    }
    const bestPath = best === null ? null : checkpointPath(this.folder.path, best.step);
    const saved = bestPath !== null && ((saving && best!.step === state.step) ||
      await Deno.stat(bestPath).then(() => true, () => false));
    return encodeTrainerState({
      step: state.step,
      maxSteps: this.sizes.totalSteps,
      epoch: this.sizes.schedule.epoch(state.step),
      numTokens: state.numTokens,
      loggingSteps: stepInterval(training.logging_steps, this.sizes.totalSteps),
      evalSteps: training.eval_strategy === "steps"
        ? stepInterval(training.eval_steps ?? training.logging_steps, this.sizes.totalSteps)
        : null,
      saveSteps: stepInterval(training.save_steps, this.sizes.totalSteps),
      epochs: training.max_steps > 0 ? null : training.num_train_epochs,
      batchSize: training.per_device_train_batch_size,
      best: state.best,
      bestCheckpoint: saved ? bestPath : null,
      logHistory,
    });
  }
}

/** Two states with the same position are the same state. */
function position({ phase, warmStartStep, step, evaluatedStep }: RunState): string {
  return [phase, warmStartStep, step, evaluatedStep].join();
}

function rolloutPosition(
  buffer: RolloutBuffer,
  schedule: MicroSchedule,
  step: number,
): RolloutPosition {
  const { position: done } = schedule.inFlight(step)!, slice = done % buffer.slices;
  const rowsBefore = (slices: number) =>
    Array.from({ length: slices }, (_, i) => buffer.slice(i).length).reduce((a, b) => a + b, 0);
  const doneRows = Math.floor(done / buffer.slices) * buffer.rows.length + rowsBefore(slice);
  return { generation: buffer.generation, done, slice, doneRows };
}

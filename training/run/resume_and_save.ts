/**
 * The checkpoints of a run: finding the one to resume from, writing them, and loading the best one.
 * `checkpoint/` defines what their files hold and writes the folders safely.
 */
import { parse } from "yaml";
import { resolve } from "node:path";
import { supervisedBatch } from "../../configs/batch_sizes.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { stepInterval } from "../../configs/step_interval.ts";
import { sha256Hex } from "../../core/checksums.ts";
import type { FileContent } from "../../core/atomic_file.ts";
import { UsageError } from "../../core/errors.ts";
import { VERSION } from "../../core/version.ts";
import {
  addStateFiles,
  finalModelFiles,
  namedCheckpoint,
  newestCheckpoint,
  readCheckpoint,
  type Restored,
  restoreWeights,
  type ResumeParts,
} from "../checkpoint/checkpoint_files.ts";
import {
  checkpointPath,
  listCheckpoints,
  openCheckpoint,
  saveCheckpoint,
  WARM_START,
} from "../checkpoint/checkpoint_folders.ts";
import { type BestEvaluation, encodeState, type RunState } from "../checkpoint/run_state.ts";
import { ALONE, type Ranks } from "../../cluster/ranks/ranks.ts";
import { readRun, type RunFolder, waitForFolder } from "./run_folder.ts";
import type { MicroSchedule } from "../step/micro_schedule.ts";
import type { RolloutBuffer } from "../step/rollout_buffer.ts";
import { changedKeys } from "../../configs/config_difference.ts";
import { textWithFilesOfRun } from "../../configs/reading/run_files.ts";
import type { TrainSummary } from "./events.ts";
import { progressText, type Session } from "./sessions.ts";
import type { RunSizes } from "./run_sizes.ts";
import type { TrainerOptions } from "./trainer_options.ts";

/** Entries of the history that are written at once: one by one they take four times as long. */
const ENTRIES_PER_PIECE = 64;

export class RunCheckpoints {
  /** One object for each log, as in trainer_state.json. */
  logHistory: Record<string, unknown>[] = [];
  #last: string | null = null;
  /** Set once its weights are in the model. */
  #best: string | null = null;
  /** The state in the last checkpoint, and whether it allows an exact resume. */
  #lastSaved: { position: string; complete: boolean } | null = null;
  /** Of a run whose steps were all done before this session. */
  #finishedConfig: RunConfig | null = null;
  #abandoned: string[] = [];
  readonly #configSha256: string;
  readonly #ranks: Ranks;
  readonly #path: string;

  /** @param folder null: a rank after the first, which writes nothing */
  constructor(
    private readonly folder: RunFolder | null,
    private readonly options: TrainerOptions,
    private readonly sizes: RunSizes,
    private readonly inJob: boolean,
  ) {
    this.#configSha256 = sha256Hex(options.configText);
    this.#ranks = options.ranks ?? ALONE;
    this.#path = options.config.training.output_dir;
  }

  /**
   * The one last written or resumed from, or the best one if its weights were loaded at the end.
   */
  resultOf(status: TrainSummary["status"]): string | null {
    return (status === "completed" ? this.#best : null) ?? this.#last;
  }

  /**
   * Finds the checkpoint to resume from and loads its weights into the model. `restored` is null
   * where the run starts from the beginning. Nothing in the folder is changed yet.
   */
  async restore(
    resume: boolean | string,
  ): Promise<{ restored: Restored | null; warnings: string[] }> {
    const warnings: string[] = [];
    if (resume === false) return { restored: null, warnings };
    const path = await this.#ranks.first(async () => {
      if (resume !== true) return await namedCheckpoint(this.#path, resume);
      const found = await newestCheckpoint(
        this.#path,
        (damaged, reason) => warnings.push(`${damaged} is damaged and was skipped: ${reason}`),
      );
      if (found === null) await this.#beginAnew(warnings);
      return found;
    });
    if (path === null) return { restored: null, warnings };
    const { model, modelWriter } = this.options;
    await waitForFolder(path);
    const restored = await readCheckpoint(path, modelWriter.weightsFile);
    await restoreWeights(model, restored.weights);
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
    await this.#ranks.first(async () => {
      if (resume !== true) await this.#refuseToAbandon(path, step, warnings);
      // One of its end that is damaged was there, and is made again.
      else if (warnings.length === 0) await this.#refuseToReplace(restored.state);
    });
    if (restored.configSha256 !== this.#configSha256) {
      const notice = await this.#changeNotice(restored);
      if (notice !== null) warnings.push(notice);
    }
    if (this.isFinished(restored.state) && restored.config !== null) {
      this.#finishedConfig = parse(restored.config) as RunConfig;
    }
    // GRPO has its own history, whose steps count from 1 again.
    const grpoBegins = this.options.phases !== "sft" && phase === "warm_start";
    this.logHistory = grpoBegins ? [] : restored.logHistory;
    this.#last = path;
    this.#lastSaved = {
      position: position(restored.state),
      complete: restored.state.phase === "eval_before" || restored.optimizer !== null,
    };
    return { restored, warnings };
  }

  /** @throws UsageError when a run is complete, which would be lost */
  async #beginAnew(warnings: string[]): Promise<void> {
    await this.#refuseToReplace(null);
    const run = await readRun(this.#path);
    // The scripts of a job ask to resume at its first start too, so that needs no warning.
    if (this.inJob && run === null) return;
    const holds = run === null ? "holds no run" : "holds no usable checkpoint";
    warnings.push(`${this.#path} ${holds}: starting from the beginning`);
  }

  /**
   * Refuses to overwrite the final weights of a complete run that has no checkpoint of its last
   * step.
   * @param state where this session would continue; null = at the beginning
   * @throws UsageError when the final weights would be lost
   */
  async #refuseToReplace(state: RunState | null): Promise<void> {
    const run = await readRun(this.#path), from = progressText(state);
    const end = (run?.["sessions"] as Session[] | undefined)?.at(-1)?.to;
    if (run?.["status"] !== "completed" || !end || end === from || this.options.force) return;
    throw new UsageError(
      `${this.#path}: the run is complete (${end}) and has kept no checkpoint of its end: ` +
        `this would go on from ${from} and replace it`,
      {
        advice: "--force (force: true) does so. To train its model further, name the folder in " +
          "model.model_name_or_path, with another output_dir.",
      },
    );
  }

  /**
   * A later --resume would continue from the newest checkpoint, even one from before this restart.
   * Therefore resuming from an earlier one, or from one of another run, deletes the later ones,
   * and needs `force`.
   */
  async #refuseToAbandon(path: string, step: number, warnings: string[]): Promise<void> {
    const inside = await Deno.realPath(`${path}/..`) === await Deno.realPath(this.#path);
    const later = (await listCheckpoints(this.#path))
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

  /** What a person must know of a checkpoint that another configuration has made. */
  async #changeNotice({ path, state, config }: Restored): Promise<string | null> {
    // Checkpoints of earlier versions do not hold their configuration.
    const older = config ??
      await Deno.readTextFile(`${this.#path}/config.yaml`).catch(() => null);
    // A run may be moved, and be resumed from another folder.
    const changed = older === null
      ? []
      : changedKeys(await this.#withItsFiles(older), this.options.configText).filter((key) =>
        key !== "training.output_dir"
      );
    if (older !== null && changed.length === 0) return null;
    const differs = `the configuration differs from the one that ${path} was made with` +
      (changed.length > 0 ? `: ${changed.join(", ")}` : "");
    if (!this.isFinished(state)) return differs;
    const done = this.options.phases === "sft" ? state.warmStartStep : state.step;
    return `${differs}. All ${done} steps are done, so this changes no training, and config.yaml ` +
      "keeps the values that the model was trained with";
  }

  /** With its paths as they are read from this working directory. */
  async #withItsFiles(config: string): Promise<string> {
    const path = resolve(this.#path, "config.yaml");
    return await textWithFilesOfRun(config, path, Deno.cwd());
  }

  /** The configuration of the steps that were done; in a finished run not that of this session. */
  get trainedConfig(): RunConfig {
    return this.#finishedConfig ?? this.options.config;
  }

  /** Whether no step is left of the run that this session was asked for. */
  isFinished({ phase, step, warmStartStep }: RunState): boolean {
    return this.options.phases === "sft"
      ? warmStartStep >= this.sizes.warmStartSteps
      : phase === "grpo" && step >= this.sizes.totalSteps;
  }

  async removeAbandoned(): Promise<void> {
    for (const path of this.#abandoned) await Deno.remove(path, { recursive: true });
  }

  /** False if the last checkpoint is of the same state and holds as much. */
  needsSave(state: RunState, complete: boolean): boolean {
    const last = this.#lastSaved;
    return last?.position !== position(state) || (complete && !last.complete);
  }

  /** @param parts null: the model only (`save_only_model`) */
  async save(state: RunState, parts: ResumeParts | null): Promise<string> {
    const { folder } = this;
    if (folder !== null && !await folder.isOurs()) throw await folder.lost();
    const { config, modelWriter, tokenizer } = this.options, { training } = config;
    const { schedule, promptsPerGeneration, warmStartSteps } = this.sizes;
    const perEpoch = schedule.options.generationsPerEpoch * promptsPerGeneration;
    const inWarmStart = state.phase === "warm_start" ||
      (state.phase === "eval_before" && warmStartSteps > 0);
    const parent = inWarmStart && config.dpo === null ? `${this.#path}/${WARM_START}` : this.#path;
    const step = inWarmStart ? state.warmStartStep : state.step;
    const saved = (path: string) => {
      this.#last = path;
      this.#lastSaved = { position: position(state), complete: parts !== null };
      return path;
    };
    if (folder === null) {
      await parts?.follow();
      return saved(checkpointPath(parent, step));
    }
    await folder.metrics.flush();
    const trainerState = await this.trainerState(state, true);
    const files = finalModelFiles(modelWriter, tokenizer, config);
    const texts = {
      trainerState,
      state: encodeState(state, {
        version: VERSION,
        micro_step: schedule.microSteps(state.step),
        epoch: schedule.epoch(state.step),
        sampler: {
          seed: training.data_seed ?? training.seed,
          epoch: Math.floor(state.nextPrompt / perEpoch),
          position: state.nextPrompt % perEpoch,
        },
        rng: { seed: training.seed, counters: {} },
        metrics_bytes: folder.metrics.bytes,
        rollout: parts?.rollout ? rolloutPosition(parts.rollout, schedule, state.step) : null,
        config: this.options.configText,
      }),
    };
    addStateFiles(files, texts, parts);
    const { path, removed } = await saveCheckpoint(parent, step, files, {
      saveTotalLimit: training.save_total_limit,
      bestStep: inWarmStart ? null : state.best?.step ?? null,
    });
    await folder.write("trainer_state.json", trainerState);
    await folder.log("checkpoint", { path, ...(removed.length > 0 ? { removed } : {}) });
    return saved(path);
  }

  /** @throws RgxError when the checkpoint is damaged */
  async loadBest(best: BestEvaluation): Promise<string> {
    const { model, modelWriter } = this.options;
    const path = checkpointPath(this.#path, best.step);
    // The first rank has written it.
    await this.#ranks.meet();
    await waitForFolder(path);
    const { open } = await openCheckpoint(path);
    await restoreWeights(model, await open(modelWriter.weightsFile));
    await this.folder?.log("best_loaded", { path });
    return this.#best = path;
  }

  /**
   * transformers' `trainer_state.json`, as it formats it (indent 2, keys sorted): the log history,
   * which may be long, and the run's settings, for other tools.
   * @param saving whether a checkpoint of this state is being written
   */
  async trainerState(state: RunState, saving: boolean): Promise<FileContent> {
    const { config: { training, sft }, phases } = this.options, { sizes } = this;
    const supervised = phases === "sft" ? sft! : null, { best } = state;
    const total = supervised === null ? sizes.totalSteps : sizes.warmStartSteps;
    const epoch = supervised === null
      ? sizes.schedule.epoch(state.step)
      : state.warmStartStep / Math.floor(sizes.trainProblems / supervisedBatch(supervised));
    const bestPath = best === null ? null : checkpointPath(this.#path, best.step);
    const isSaved = bestPath !== null && ((saving && best!.step === state.step) ||
      await Deno.stat(bestPath).then(() => true, () => false));
    const hasEvalSteps = supervised === null && training.eval_strategy === "steps";
    const hasEpochs = supervised === null && training.max_steps <= 0;
    const json = {
      best_global_step: best?.step ?? null,
      best_metric: best?.metric ?? null,
      best_model_checkpoint: isSaved ? bestPath : null,
      epoch,
      eval_steps: hasEvalSteps
        ? stepInterval(training.eval_steps ?? training.logging_steps, total)
        : null,
      global_step: supervised === null ? state.step : state.warmStartStep,
      is_hyper_param_search: false,
      is_local_process_zero: true,
      is_world_process_zero: true,
      log_history: [], // written below
      logging_steps: stepInterval(training.logging_steps, total),
      max_steps: total,
      num_input_tokens_seen: supervised === null ? state.numTokens : state.warmStartTokens,
      num_train_epochs: hasEpochs ? training.num_train_epochs : Math.max(1, Math.ceil(epoch)),
      save_steps: stepInterval(training.save_steps, total),
      stateful_callbacks: {},
      total_flos: 0,
      train_batch_size: (supervised ?? training).per_device_train_batch_size,
      trial_name: null,
      trial_params: null,
    };
    const history = this.logHistory, lines = (value: unknown) => JSON.stringify(value, null, 2);
    const [head, tail] = lines(json).split(`"log_history": []`) as [string, string];
    return function* () {
      const encoder = new TextEncoder();
      yield encoder.encode(`${head}"log_history": [`);
      for (let from = 0; from < history.length; from += ENTRIES_PER_PIECE) {
        const sorted = history.slice(from, from + ENTRIES_PER_PIECE).map((entry) =>
          Object.fromEntries(Object.entries(entry).sort(([a], [b]) => a < b ? -1 : 1))
        );
        const entries = lines(sorted).slice("[".length, -"\n]".length).replaceAll("\n", "\n  ");
        yield encoder.encode(`${from === 0 ? "" : ","}${entries}`);
      }
      yield encoder.encode(`${history.length === 0 ? "" : "\n  "}]${tail}\n`);
    };
  }
}

/** Identifies a state of the run: states with equal positions are equal. */
function position({ phase, warmStartStep, step, evaluatedStep }: RunState): string {
  return [phase, warmStartStep, step, evaluatedStep].join();
}

/** How far the run has come in a generation batch after `step` steps, for other tools. */
function rolloutPosition(buffer: RolloutBuffer, schedule: MicroSchedule, step: number) {
  const { position: done } = schedule.inFlight(step)!, slice = done % buffer.slices;
  const rowsBefore = (slices: number) =>
    Array.from({ length: slices }, (_, i) => buffer.slice(i).length).reduce((a, b) => a + b, 0);
  const doneRows = Math.floor(done / buffer.slices) * buffer.rows.length + rowsBefore(slice);
  return { step: buffer.generation, micro_steps: done, slice, done_rows: doneRows };
}

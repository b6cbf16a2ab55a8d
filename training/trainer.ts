/**
 * A training run: supervised warm start, evaluation before, GRPO steps, evaluation after, final
 * model. The trainer emits events and writes the run's folder; it prints nothing. `train.ts` calls
 * it for programs that need no more than one call.
 *
 * `run` and `#phases` show the whole course of a run. The parts are in other files:
 * `warm_start.ts`, `grpo.ts` (one step of the algorithm), `run/run_evaluations.ts`.
 *
 * A run that is stopped or killed at any moment continues from its newest valid checkpoint to the
 * same bits: everything random is a function of (seed, prompt number, branch, position), and
 * everything else is in the checkpoint. A stop takes effect at the next operation of the device. A
 * step that it ends before the weights change is done again after the resume, with the same tokens.
 */
import { supervisedBatch } from "../configs/batch_sizes.ts";
import { Interrupted, RgxError, UsageError } from "../core/errors.ts";
import type { EvalResult } from "./evaluation/before_and_after.ts";
import {
  finalModelFiles,
  REFERENCE_FILE,
  type Restored,
  ROLLOUT_FILE,
} from "./checkpoint/checkpoint_files.ts";
import { diskWarnings } from "./run/disk_plan.ts";
import { changedWeights, TrainingCurriculum } from "./curriculum/curriculum.ts";
import type { ModelSizes } from "../models/network/weights/model_sizes.ts";
import { estimateRun } from "./duration/time_estimate.ts";
import { RunEvaluations } from "./run/run_evaluations.ts";
import type { RecordedCall } from "../kernels/ops/common/recorded_call.ts";
import { Grpo } from "./grpo.ts";
import { GroupSource, type Sampler } from "./rollout/sampler.ts";
import { RewardFailure, StepRecords } from "./run/step_records.ts";
import type { TrainPlan, TrainSummary } from "./run/events.ts";
import { checkPrompts, continueState, newState, promptsOf, timeOf } from "./run/session_state.ts";
import { IntervalStrategy } from "./run/interval_strategy.ts";
import { type RunParts, RunReport } from "./run/run_report.ts";
import { type RunSizes, runSizes } from "./run/run_sizes.ts";
import { StopRequests } from "./run/stop_requests.ts";
import { WeightUpdates } from "./run/weight_updates.ts";
import type { RunState } from "./checkpoint/run_state.ts";
import { Transcript } from "../bench/dialogue/transcript.ts";
import { MemoryTracker, PhaseClock } from "./metrics/phase_clock.ts";
import { ProblemOrder } from "./rollout/prompt_sampler.ts";
import type { PromptEncoder } from "../bench/evaluation/prompt_encoder.ts";
import { compareRanks, compareStep, rankNotes } from "./run/compare_ranks.ts";
import { RunFolder, type RunFolderOptions, waitForFolder } from "./run/run_folder.ts";
import { finalMetrics, progressOf, summarize, trainPlan } from "./run/run_summary.ts";
import { canRehearse, chooseRunKernels, rehearseRun } from "./tuning/run_kernels.ts";
import type { TrainerOptions } from "./run/trainer_options.ts";
import type { AdamW } from "./step/optimizer.ts";
import { createGradientSum, createOptimizer } from "./step/run_optimizer.ts";
import {
  adapterOffReference,
  frozenReference,
  type ReferencePolicy,
} from "./step/reference_policy.ts";
import { samplerOf } from "./servers/remote_sampler.ts";
import { RolloutBuffer } from "./step/rollout_buffer.ts";
import { pauseBetweenSteps } from "./step/yield_to_events.ts";
import { requireWarmStart, warmStart } from "./warm_start.ts";

export type { TrainerOptions } from "./run/trainer_options.ts";

/** Trains a model through all phases of a run. `train` makes one with its parts. */
export class GrpoTrainer {
  readonly #options: TrainerOptions;
  readonly #sizes: RunSizes;
  readonly #report: RunReport;
  readonly #stop: StopRequests;
  readonly #intervals: IntervalStrategy;
  /** null = the parameters of the tasks do not change. */
  readonly #curriculum: TrainingCurriculum | null;
  #prompts: PromptEncoder;
  #state: RunState;
  #clock!: PhaseClock;
  #updates!: WeightUpdates;
  #optimizer: AdamW | null = null;
  #reference: ReferencePolicy | null = null;
  #grpo: Grpo | null = null;
  #sampler: Sampler | null = null;
  #evalAfter: EvalResult | null = null;
  #promptsChecked = false;
  #hasBegun = false;
  /** The checkpoint that `check` found to resume from. */
  #checkpoint: string | null = null;

  /** Computes and writes nothing yet. @throws UsageError for sizes that do not fit together */
  constructor(options: TrainerOptions) {
    this.#options = options;
    const { config, phases } = options, { training, curriculum, data, sft } = config;
    const problems = options.trainProblems ?? data.num_examples;
    if (problems === null) {
      throw new UsageError("trainProblems: expected a number where data.num_examples is null");
    }
    const sizes = this.#sizes = runSizes(config, problems, phases);
    this.#report = new RunReport(options, sizes);
    this.#stop = new StopRequests(options, () => this.#report.keepAlive());
    const { schedule, totalSteps, warmStartSteps } = sizes;
    this.#intervals = new IntervalStrategy(training, totalSteps, schedule.stepsPerEpoch);
    this.#prompts = promptsOf(options);
    this.#curriculum = curriculum &&
      new TrainingCurriculum(curriculum, data, options.problems.source);
    this.#state = newState(options, warmStartSteps, this.#prompts);
    // Orders are made here to check the sizes now, and not after a long warm start.
    if (phases === "sft") requireWarmStart(config);
    else new ProblemOrder(training, problems, sizes.promptsPerGeneration, "GRPO");
    if (warmStartSteps > 0) {
      new ProblemOrder(training, problems, supervisedBatch(sft!), "warm start");
    }
    this.#start(null);
  }

  /** @returns warnings about the restored state */
  #start(restored: RunState | null): string[] {
    const options = this.#options, memory = new MemoryTracker(options.device);
    this.#state = restored ?? this.#state;
    this.#clock = new PhaseClock(restored?.secondsByPhase, memory, restored?.seconds);
    const warn = (message: string) => this.#report.warn(message);
    this.#updates = new WeightUpdates(this.#state, this.#clock, this.#stop, warn);
    if (restored === null) return [];
    // The prompts of a resumed run have the time of its first start, so that they stay the same.
    this.#prompts = promptsOf(options, restored.promptTime);
    restored.promptTime = timeOf(this.#prompts);
    return continueState(restored, options, this.#report, this.#curriculum);
  }

  /**
   * The prompts of all ranks have the time of the first one, whose clock may be another. A resume
   * replaces it by that of the run's first start.
   */
  async #agreeOnTime(): Promise<void> {
    const { ranks } = this.#stop, time = await ranks.first(() => this.#state.promptTime);
    if (ranks.isFirst || time === null) return;
    this.#prompts = promptsOf(this.#options, time);
    this.#state.promptTime = time;
  }

  /**
   * Runs to the end, or until the control asks to stop (status "stopped", which can be resumed).
   * @throws UsageError before any work when output_dir cannot be used; RgxError for later failures
   */
  async run(): Promise<TrainSummary> {
    this.#checkPrompts();
    const { ranks } = this.#stop;
    if (ranks.size > 1) {
      await compareRanks(this.#options, ranks, this.#sizes.trainProblems);
      await this.#agreeOnTime();
    }
    const folder = await this.#openFolder();
    this.#report.open(folder);
    try {
      await this.#openTranscript();
      await this.#begin(this.#resume);
      this.#hasBegun = true;
      await (this.#supervisedOnly ? this.#supervisedPhases() : this.#phases());
      return await this.#completed();
    } catch (error) {
      if (error instanceof Interrupted) return await this.#stopped();
      if (error instanceof RewardFailure) await this.#save(true);
      // Ranks save together, and only one of them may have the error.
      else if (this.#hasBegun && this.#updates.isWholeStep && this.#stop.ranks.size === 1) {
        await this.#save(true).catch(() => {}); // the disk may be what has failed
      }
      // The user has to see what ended the run, even if its record cannot be written either.
      await this.#report.fail(error, this.#state, this.#summary("failed")).catch(
        () => {},
      );
      throw await this.#report.explain(error);
    } finally {
      this.#optimizer?.dispose();
      this.#reference?.dispose();
      this.#options.teacher?.dispose();
      await this.#sampler?.close();
      await this.#options.rubric.close();
      await this.#options.dialogues?.environments.close();
      await folder?.close();
    }
  }

  /** The first rank opens the folder of the run; null for the others, which write nothing. */
  async #openFolder(): Promise<RunFolder | null> {
    let folder: RunFolder | null = null;
    await this.#stop.ranks.first(async () => {
      folder = await RunFolder.open(this.#folderOptions());
    });
    return folder;
  }

  /** What depended on the clock in earlier sessions of the run stays as it was. */
  async #openTranscript(): Promise<void> {
    const { config: { training: { output_dir: path } }, dialogues } = this.#options;
    const { rank } = this.#stop.ranks;
    if (dialogues == null) return;
    if (rank > 0) await waitForFolder(path);
    const transcript = dialogues.transcript = await Transcript.open(path, rank);
    transcript.onDifference = (message) => void this.#report.warn(message).catch(() => {});
  }

  async #phases(): Promise<void> {
    const { model } = this.#options, training = this.#training;
    const state = this.#state, report = this.#report, stop = this.#stop, { ranks } = stop;
    const compare = (isLast = false) =>
      compareStep(model, ranks, state, this.#updates.lastNorm, isLast);
    const save = () => this.#save(), evaluations = new RunEvaluations(this.#parts, this.#intervals);
    if (state.phase === "warm_start") {
      this.#optimizer ??= this.#supervisedOptimizer();
      await warmStart(this.#parts, this.#optimizer, save);
      this.#optimizer.dispose();
      this.#optimizer = null;
      state.phase = "eval_before";
      await save();
    }
    if (state.phase === "eval_before") {
      state.evalBefore = await evaluations.around("before");
      await this.#beginGrpo(null, null);
      state.phase = "grpo";
      state.lossSum = 0;
    }
    report.phase("grpo");
    const pause = pauseBetweenSteps();
    for (;;) {
      await evaluations.ifDue(this.#reference);
      if (this.#intervals.savesAt(state.step, state.best?.step === state.step)) await save();
      if (state.step >= this.#sizes.totalSteps) break;
      await stop.check();
      await compare();
      await this.#grpo!.step();
      await pause();
    }
    await compare(true);
    if (training.load_best_model_at_end) await evaluations.loadBest();
    this.#evalAfter = await evaluations.around("after");
    report.phase("finish");
  }

  async #supervisedPhases(): Promise<void> {
    const state = this.#state, save = () => this.#save(), { dpo } = this.#options.config;
    const evaluations = new RunEvaluations(this.#parts, this.#intervals);
    if (dpo === null && state.warmStartStep === 0) {
      state.evalBefore = await evaluations.around("before");
    }
    this.#optimizer ??= this.#supervisedOptimizer();
    if (this.#comparesWithReference) this.#reference ??= await this.#referenceOf(null);
    const reference = this.#reference, evaluate = () => evaluations.pairs(reference);
    if (dpo !== null && state.warmStartStep === 0) await evaluate();
    await warmStart(this.#parts, this.#optimizer, save, { reference, evaluate });
    await save();
    if (dpo === null) this.#evalAfter = await evaluations.around("after");
    else await evaluate();
    this.#report.phase("finish");
  }

  #supervisedOptimizer(): AdamW {
    const { sft } = this.#options.config;
    return createOptimizer(this.#options, this.#stop.ranks, sft!, "supervised");
  }

  get #parts(): RunParts {
    return {
      options: this.#options,
      sizes: this.#sizes,
      state: this.#state,
      prompts: this.#prompts,
      clock: this.#clock,
      report: this.#report,
      stop: this.#stop,
      updates: this.#updates,
    };
  }

  async #beginGrpo(
    savedReference: Restored["reference"],
    buffer: RolloutBuffer | null,
  ): Promise<void> {
    const { config, model, problems, rubric } = this.#options;
    const { training } = config;
    this.#optimizer = createOptimizer(this.#options, this.#stop.ranks, training, "grpo");
    if (training.beta !== 0) this.#reference = await this.#referenceOf(savedReference);
    const sampler = this.#sampler!;
    const parts = this.#parts, { options, sizes, state, prompts, clock, stop, updates } = parts;
    const { ranks } = stop, { promptsPerGeneration: perBatch, trainProblems, totalSteps } = sizes;
    const order = new ProblemOrder(training, trainProblems, perBatch, "GRPO");
    const entryAt = (n: number) => clock.problem(() => problems.trainEntry(order.draw(n)));
    // Buffers of the warm start and of the time estimate would stay beside what sampling keeps.
    if (sampler.kept !== null) model.releasePasses();
    const shouldStop = () => stop.requested();
    const { dialogues = null } = this.#options;
    const rollouts = { training, prompts, rubric, dialogues, perBatch, clock, ranks, shouldStop };
    this.#grpo = new Grpo({
      options,
      sizes,
      state,
      stop,
      rollouts,
      groups: new GroupSource(rollouts, entryAt, totalSteps, config.teacher),
      sampler,
      reference: this.#reference,
      gradients: createGradientSum(options, ranks, training.gradient_accumulation_steps),
      optimizer: this.#optimizer,
      updates,
      records: new StepRecords(parts, this.#intervals, this.#curriculum),
    }, buffer);
  }

  /** @param saved of a checkpoint; null = the reference is the model as it is now */
  async #referenceOf(saved: Restored["reference"]): Promise<ReferencePolicy> {
    const { config, device, model, referenceStorage } = this.#options;
    if (this.#referenceIsBase()) return adapterOffReference(model);
    return await frozenReference(device, model, saved, {
      ...(referenceStorage === undefined ? {} : { storage: referenceStorage }),
      moves: config.training.sync_ref_model,
    });
  }

  get #training(): TrainerOptions["config"]["training"] {
    return this.#options.config.training;
  }

  get #comparesWithReference(): boolean {
    return this.#options.config.dpo?.reference_free === false;
  }

  /**
   * Whether the reference is the base model, as for a fresh adapter. An adapter that was trained
   * before (by an earlier run or by the warm start) has a copy of itself at the beginning of GRPO.
   */
  #referenceIsBase(): boolean {
    return this.#options.config.lora !== null && !this.#options.continuesAdapter &&
      (this.#sizes.warmStartSteps === 0 || this.#options.config.dpo !== null);
  }

  async #begin(resume: boolean | string): Promise<void> {
    const report = this.#report, { ranks } = this.#stop, options = this.#options;
    const { restored, warnings } = await report.checkpoints.restore(resume);
    warnings.push(...this.#start(restored?.state ?? null));
    if (!this.#supervisedOnly) {
      // A note that cannot be written to the log is still shown.
      const note = (message: string) => void report.warn(message).catch(() => {});
      this.#sampler = samplerOf(options, this.#prompts, restored?.stale ?? new Map(), note);
    }
    if (restored !== null) {
      await this.#restoreOptimizer(restored, warnings);
      ranks.progress.keeps();
    }
    const rehearse = () => this.rehearse(), isRestored = restored !== null;
    const kernels = await chooseRunKernels(options, this.#state, ranks, isRestored, rehearse);
    warnings.push(...await ranks.first(() => report.begin(restored, this.#state)));
    report.emit({ type: "plan", plan: this.plan(restored?.path ?? null) });
    if (kernels.event !== null) report.emit(kernels.event);
    warnings.push(...kernels.notes);
    warnings.push(...await ranks.first(() => diskWarnings(this.#options.config, this.plan().disk)));
    for (const message of [...warnings, ...this.#notes()]) await report.warn(message);
    // A wrong address is found before a long warm start.
    await this.#sampler?.open?.(() => this.#stop.requested());
  }

  #notes(): string[] {
    const { problems, dialogues } = this.#options;
    return [
      ...rankNotes(this.#options, this.#stop.ranks.size, this.#sizes.warmStartSteps),
      ...problems.notes,
      ...problems.source.notes ?? [],
      ...this.#prompts.notes(),
      ...dialogues == null ? [] : this.#prompts.dialogueNotes(dialogues.limits.format),
      ...this.#curriculum?.takeNotes() ?? [],
    ];
  }

  async #restoreOptimizer(restored: Restored, warnings: string[]): Promise<void> {
    const { state, optimizer, reference, rollout, path } = restored, { beta } = this.#training;
    const isWarmStart = state.phase === "warm_start";
    if (state.phase === "eval_before") return;
    const hasReference = isWarmStart ? this.#comparesWithReference : beta !== 0;
    if (hasReference && reference === null && !this.#referenceIsBase()) {
      throw new RgxError(`${path}: a run with beta ≠ 0 cannot go on without ${REFERENCE_FILE}`, {
        advice: "Checkpoints of save_only_model do not hold it: start a new run from the model.",
      });
    }
    if (isWarmStart) {
      this.#optimizer = this.#supervisedOptimizer();
      if (hasReference) this.#reference = await this.#referenceOf(reference);
    } else {
      const buffer = rollout && await RolloutBuffer.decode(rollout, `${path}/${ROLLOUT_FILE}`);
      if (buffer === null && this.#sizes.schedule.inFlight(state.step) !== null) {
        warnings.push(`${path} holds no generation batch in use: a new one is sampled`);
      }
      await this.#beginGrpo(reference, buffer);
    }
    if (optimizer !== null) await this.#optimizer!.load(optimizer);
    else warnings.push(`${path} holds no optimizer state: the optimizer starts fresh`);
  }

  /**
   * Writes a checkpoint of the current state, unless there is one already or nothing was done yet.
   * @param complete with everything that an exact resume needs
   */
  async #save(complete = !this.#training.save_only_model): Promise<void> {
    const state = this.#state, report = this.#report, clock = this.#clock;
    const { control, problems, config } = this.#options;
    if (state.phase === "warm_start" && state.warmStartStep === 0) return;
    if (!report.checkpoints.needsSave(state, complete)) return;
    control?.saving?.(true);
    const path = await clock.time(
      "checkpoint",
      async () =>
        await report.checkpoints.save(
          {
            ...state,
            taskWeights: changedWeights(problems.source, config.data),
            averager: report.unlogged,
            seconds: clock.seconds(),
            secondsByPhase: clock.totals(),
          },
          !complete ? null : {
            optimizer: this.#optimizer?.save() ?? null,
            follow: async () => await this.#optimizer?.follow(),
            reference: this.#reference?.save() ?? null,
            rollout: this.#grpo?.inFlight() ?? null,
            stale: this.#sampler?.stalePolicies?.(state.step) ?? new Map(),
          },
        ),
    ).finally(() => control?.saving?.(false));
    this.#stop.ranks.progress.keeps();
    report.emit({ type: "checkpoint", path, step: state.step });
  }

  async #completed(): Promise<TrainSummary> {
    const { modelWriter, tokenizer } = this.#options, state = this.#state;
    const report = this.#report, summary = this.#summary("completed");
    const progress = progressOf(this.#options, this.#sizes, state);
    await report.appendMetrics(finalMetrics(progress, summary.seconds, state.lossSum));
    const { trainedConfig } = report.checkpoints;
    const files = finalModelFiles(modelWriter, tokenizer, trainedConfig);
    await report.finish(files, state, summary);
    report.emit({ type: "done", summary });
    return summary;
  }

  async #stopped(): Promise<TrainSummary> {
    await this.#save(true);
    const summary = this.#summary("stopped");
    await this.#report.stop(this.#state, summary);
    this.#report.emit({ type: "done", summary });
    return summary;
  }

  #summary(status: TrainSummary["status"]): TrainSummary {
    return summarize(this.#options, this.#state, this.#clock, {
      status,
      steps: progressOf(this.#options, this.#sizes, this.#state).step,
      checkpoint: this.#report.checkpoints.resultOf(status),
      eval_after: this.#evalAfter,
    });
  }

  /**
   * Refuses what `run` would refuse before its first step, but for a folder of another run: nothing
   * is written.
   * @returns the warnings with which `run` would begin
   * @throws UsageError
   */
  async check(): Promise<string[]> {
    this.#checkPrompts();
    const options = this.#folderOptions();
    const refused = await RunFolder.check(options);
    this.#report.open(RunFolder.unlocked(options.path));
    const { restored, warnings } = await this.#report.checkpoints.restore(options.resume);
    warnings.push(...this.#start(restored?.state ?? null));
    this.#checkpoint = restored?.path ?? null;
    warnings.push(...await diskWarnings(this.#options.config, this.plan().disk));
    return [...refused === null ? [] : [refused], ...warnings, ...this.#notes()];
  }

  get #supervisedOnly(): boolean {
    return this.#options.phases === "sft";
  }

  #checkPrompts(): void {
    if (!this.#promptsChecked) {
      checkPrompts(this.#options, this.#prompts, this.#sizes.trainProblems);
    }
    this.#promptsChecked = true;
  }

  #folderOptions(): RunFolderOptions {
    const { force = false } = this.#options;
    return { path: this.#training.output_dir, resume: this.#resume, force };
  }

  /** The checkpoint to resume from, by the options or else by the configuration. */
  get #resume(): boolean | string {
    return this.#options.resume || this.#training.resume_from_checkpoint;
  }

  /** What `run` would do, after `check` also where it would resume from; nothing is written. */
  plan(resumedFrom: string | null = this.#checkpoint): TrainPlan {
    return trainPlan(this.#options, this.#sizes, this.#state, resumedFrom);
  }

  /**
   * The calls of the run in which operations have a choice of kernels; none on a device without
   * such operations. Nothing is computed.
   * @internal
   */
  rehearse(): Promise<RecordedCall[]> {
    const { device } = this.#options;
    if (!canRehearse(device)) return Promise.resolve([]);
    const shouldStop = () => this.#stop.requested();
    return rehearseRun(this.#options, device, this.#sizes, this.#prompts, shouldStop);
  }

  /**
   * An estimate of the seconds that a fresh run takes on this device (`duration/time_estimate.ts`).
   * @param counted the sizes of the model, for a rough estimate at once; default: the model works
   *   for some seconds, after which the run is the same as without it
   * @internal
   */
  estimateSeconds(counted: ModelSizes | null = null): Promise<number> {
    const shouldStop = () => this.#stop.requested();
    return estimateRun(this.#options, this.#sizes, this.#prompts, { counted, shouldStop });
  }

  /** Training problem 0 as the model would get it. */
  samplePrompt(): { prompt: string; tokens: number; answer: string | null } {
    const entry = this.#options.problems.trainEntry(0);
    const { text, ids } = this.#prompts.prompt(entry);
    return { prompt: text, tokens: ids.length, answer: entry.answer };
  }
}

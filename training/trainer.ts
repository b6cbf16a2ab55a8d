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
import { Interrupted, RgxError } from "../core/errors.ts";
import type { EvalResult } from "./evaluation/before_and_after.ts";
import {
  finalModelFiles,
  REFERENCE_FILE,
  type Restored,
  ROLLOUT_FILE,
} from "./checkpoint/checkpoint_files.ts";
import { diskWarning } from "./run/disk_plan.ts";
import { changedWeights } from "./curriculum/task_weights.ts";
import { estimateRun } from "./duration/time_estimate.ts";
import { evaluateAround, evaluateIfDue, loadBest } from "./run/run_evaluations.ts";
import type { RecordedCall } from "../kernels/ops/common/recorded_call.ts";
import { Grpo } from "./grpo.ts";
import { GroupSource } from "./rollout/group_source.ts";
import { RewardFailure } from "./rollout/failing_rewards.ts";
import type { TrainPlan, TrainSummary } from "./run/events.ts";
import { checkPrompts } from "./run/prompt_check.ts";
import { RunContext } from "./run/run_context.ts";
import { compareRanks, compareStep, rankNotes } from "./run/compare_ranks.ts";
import { followedFolder } from "./run/followed_folder.ts";
import { type RunFiles, RunFolder, type RunFolderOptions } from "./run/run_folder.ts";
import { RunRecords } from "./run/run_records.ts";
import { finalMetrics, summarize } from "./run/run_summary.ts";
import { trainPlan } from "./run/train_plan.ts";
import { canRehearse, rehearseRun } from "./tuning/rehearse_run.ts";
import { chooseRunKernels } from "./tuning/run_kernels.ts";
import type { TrainerOptions } from "./run/trainer_options.ts";
import type { AdamW } from "./step/optimizer.ts";
import { createGradientSum, createOptimizer } from "./step/run_optimizer.ts";
import {
  adapterOffReference,
  frozenReference,
  type ReferencePolicy,
} from "./step/reference_policy.ts";
import type { Sampler } from "./rollout/sampler.ts";
import { samplerOf } from "./servers/remote_sampler.ts";
import { RolloutBuffer } from "./step/rollout_buffer.ts";
import { yieldToEvents } from "./step/yield_to_events.ts";
import { requireWarmStart, warmStart } from "./warm_start.ts";

export type { TrainerOptions } from "./run/trainer_options.ts";

/** Trains a model through all phases of a run. `train` makes one with its parts. */
export class GrpoTrainer {
  readonly #options: TrainerOptions;
  readonly #run: RunContext;
  #optimizer: AdamW | null = null;
  #reference: ReferencePolicy | null = null;
  #grpo: Grpo | null = null;
  #sampler: Sampler | null = null;
  #evalAfter: EvalResult | null = null;
  #promptsChecked = false;
  #hasBegun = false;
  /** The checkpoint that `check` found to resume from. */
  #checkpoint: string | null = null;

  /**
   * Makes a trainer; nothing is computed or written yet.
   * @throws UsageError when the configuration's sizes do not fit together
   */
  constructor(options: TrainerOptions) {
    this.#options = options;
    this.#run = new RunContext(options);
    // Samplers are created here to check the sizes now, and not after a long warm start.
    const { sizes } = this.#run, { sft } = options.config;
    if (options.phases === "sft") requireWarmStart(options.config);
    else this.#run.createSampler("GRPO", sizes.promptsPerGeneration);
    if (sizes.warmStartSteps > 0) {
      this.#run.createSampler("warm start", supervisedBatch(sft!));
    }
  }

  /**
   * Runs to the end, or until the control asks to stop (status "stopped", which can be resumed).
   * @throws UsageError before any work when output_dir cannot be used; RgxError for later failures
   */
  async run(): Promise<TrainSummary> {
    this.#checkPrompts();
    await compareRanks(this.#run);
    const folder = await this.#openFolder();
    this.#run.report.records = new RunRecords(folder, this.#options, this.#run.sizes);
    try {
      await this.#begin(this.#resume());
      this.#hasBegun = true;
      await (this.#run.supervisedOnly ? this.#supervisedPhases() : this.#phases());
      return await this.#completed();
    } catch (error) {
      if (error instanceof Interrupted) return await this.#stopped();
      if (error instanceof RewardFailure) await this.#save(true);
      // Ranks save together, and only one of them may have the error.
      else if (this.#hasBegun && this.#run.isWholeStep && this.#run.ranks.size === 1) {
        await this.#save(true).catch(() => {}); // the disk may be what has failed
      }
      // The user has to see what ended the run, even if its record cannot be written either.
      await this.#run.report.records.fail(error, this.#run.state, this.#summary("failed")).catch(
        () => {},
      );
      throw await this.#run.report.records.explain(error);
    } finally {
      this.#optimizer?.dispose();
      this.#reference?.dispose();
      await this.#sampler?.close();
      await this.#options.rubric.close();
      await folder.close();
    }
  }

  /** The first rank opens the folder of the run, the others write nothing. */
  async #openFolder(): Promise<RunFiles> {
    const options = this.#folderOptions();
    let folder = followedFolder(options.path);
    await this.#run.ranks.first(async () => {
      folder = await RunFolder.open(options);
    });
    return folder;
  }

  /** All phases, from the one that the restored state is in. */
  async #phases(): Promise<void> {
    const run = this.#run, { state } = run, { training, sft } = this.#options.config;
    const save = () => this.#save();
    if (state.phase === "warm_start") {
      this.#optimizer ??= createOptimizer(this.#options, run.ranks, sft!, "supervised");
      await warmStart(run, this.#optimizer, save);
      this.#optimizer.dispose();
      this.#optimizer = null;
      state.phase = "eval_before";
      await save();
    }
    if (state.phase === "eval_before") {
      state.evalBefore = await evaluateAround(run, "before");
      await this.#beginGrpo(null, null);
      state.phase = "grpo";
      state.lossSum = 0;
    }
    run.report.phase("grpo");
    for (;;) {
      await evaluateIfDue(run, this.#reference);
      if (run.intervals.savesAt(state.step, state.best?.step === state.step)) await save();
      if (state.step >= run.sizes.totalSteps) break;
      await run.stop.check();
      await compareStep(run);
      await this.#grpo!.step();
      await yieldToEvents();
    }
    await compareStep(run, true);
    if (training.load_best_model_at_end) await loadBest(run);
    this.#evalAfter = await evaluateAround(run, "after");
    run.report.phase("finish");
  }

  /** The phases of `rgx sft`: the warm start alone, with an evaluation before and after it. */
  async #supervisedPhases(): Promise<void> {
    const run = this.#run, { state } = run, save = () => this.#save();
    if (state.warmStartStep === 0) state.evalBefore = await evaluateAround(run, "before");
    this.#optimizer ??= createOptimizer(
      this.#options,
      run.ranks,
      this.#options.config.sft!,
      "supervised",
    );
    await warmStart(run, this.#optimizer, save);
    await save();
    this.#evalAfter = await evaluateAround(run, "after");
    run.report.phase("finish");
  }

  /** Creates the optimizer, the reference model and the steps of GRPO. */
  async #beginGrpo(
    savedReference: Restored["reference"],
    buffer: RolloutBuffer | null,
  ): Promise<void> {
    const { config, device, model, problems, rubric, referenceStorage } = this.#options;
    const { training } = config;
    this.#optimizer = createOptimizer(this.#options, this.#run.ranks, training, "grpo");
    if (training.beta !== 0) {
      this.#reference = this.#referenceIsBase()
        ? adapterOffReference(model)
        : await frozenReference(device, model, savedReference, {
          ...(referenceStorage === undefined ? {} : { storage: referenceStorage }),
          moves: training.sync_ref_model,
        });
    }
    const sampler = this.#sampler!;
    const { prompts, clock, ranks, sizes } = this.#run, perBatch = sizes.promptsPerGeneration;
    const order = this.#run.createSampler("GRPO", perBatch);
    const entryAt = (n: number) => clock.problem(() => problems.trainEntry(order.draw(n)));
    // Buffers of the warm start and of the time estimate would stay beside what sampling keeps.
    if (sampler.kept !== null) model.releasePasses();
    const shouldStop = () => this.#run.stop.requested();
    const rollouts = { training, prompts, rubric, perBatch, clock, ranks, shouldStop };
    this.#grpo = new Grpo(
      this.#run,
      rollouts,
      new GroupSource(rollouts, entryAt, sizes.totalSteps),
      sampler,
      this.#reference,
      createGradientSum(this.#options, ranks, training.gradient_accumulation_steps),
      this.#optimizer,
      buffer,
    );
  }

  /**
   * Whether the reference is the base model, as for a fresh adapter. An adapter that was trained
   * before (by an earlier run or by the warm start) has a copy of itself at the beginning of GRPO.
   */
  #referenceIsBase(): boolean {
    return this.#options.config.lora !== null && !this.#options.continuesAdapter &&
      this.#run.sizes.warmStartSteps === 0;
  }

  /** Restores a checkpoint, if the run resumes from one, and makes the first records. */
  async #begin(resume: boolean | string): Promise<void> {
    const run = this.#run;
    const { restored, warnings } = await run.report.records.checkpoints.restore(resume);
    warnings.push(...run.start(restored?.state ?? null));
    if (!run.supervisedOnly) this.#sampler = samplerOf(run, restored?.stale ?? new Map());
    if (restored !== null) {
      await this.#restoreOptimizer(restored, warnings);
      run.ranks.progress.keeps();
    }
    const kernels = await chooseRunKernels(run, restored !== null);
    warnings.push(...await run.ranks.first(() => run.report.records.begin(restored, run.state)));
    run.report.emit({ type: "plan", plan: this.plan(restored?.path ?? null) });
    if (kernels.event !== null) run.report.emit(kernels.event);
    warnings.push(...kernels.notes);
    warnings.push(...await run.ranks.first(() => this.#diskWarnings()));
    for (const message of [...warnings, ...this.#notes()]) await run.report.warn(message);
    // A wrong address is found before a long warm start.
    await this.#sampler?.open(() => run.stop.requested());
  }

  /** What a user should know about the problems and prompts of this run. */
  #notes(): string[] {
    const { problems } = this.#options, { prompts, curriculum } = this.#run;
    return [
      ...rankNotes(this.#run),
      ...problems.notes,
      ...problems.source.notes ?? [],
      ...prompts.notes(),
      ...curriculum?.takeNotes() ?? [],
    ];
  }

  async #restoreOptimizer(restored: Restored, warnings: string[]): Promise<void> {
    const { state, optimizer, path } = restored;
    if (state.phase === "eval_before") return;
    if (state.phase === "warm_start") {
      this.#optimizer = createOptimizer(
        this.#options,
        this.#run.ranks,
        this.#options.config.sft!,
        "supervised",
      );
    } else {
      await this.#beginGrpo(restored.reference, await this.#restoreRollout(restored, warnings));
    }
    if (optimizer !== null) await this.#optimizer!.load(optimizer);
    else warnings.push(`${path} holds no optimizer state: the optimizer starts fresh`);
  }

  /**
   * The generation batch that was being trained on.
   * @throws RgxError for a checkpoint without the reference model, where the loss needs it
   */
  async #restoreRollout(restored: Restored, warnings: string[]): Promise<RolloutBuffer | null> {
    const { state, path, reference, rollout } = restored;
    const { beta } = this.#options.config.training;
    if (beta !== 0 && reference === null && !this.#referenceIsBase()) {
      throw new RgxError(`${path}: a run with beta ≠ 0 cannot go on without ${REFERENCE_FILE}`, {
        advice: "Checkpoints of save_only_model do not hold it: start a new run from the model.",
      });
    }
    if (rollout !== null) return await RolloutBuffer.decode(rollout, `${path}/${ROLLOUT_FILE}`);
    if (this.#run.sizes.schedule.inFlight(state.step) !== null) {
      warnings.push(`${path} holds no generation batch in use: a new one is sampled`);
    }
    return null;
  }

  /**
   * Writes a checkpoint of the current state, unless there is one already or nothing was done yet.
   * @param complete with everything that an exact resume needs
   */
  async #save(complete = !this.#options.config.training.save_only_model): Promise<void> {
    const run = this.#run, { state } = run, { control, problems, config } = this.#options;
    if (state.phase === "warm_start" && state.warmStartStep === 0) return;
    if (!run.report.records.checkpoints.needsSave(state, complete)) return;
    control?.saving?.(true);
    const path = await run.clock.time(
      "checkpoint",
      async () =>
        await run.report.records.checkpoints.save(
          {
            ...state,
            taskWeights: changedWeights(problems.source, config.data),
            averager: run.report.unlogged,
            seconds: run.seconds(),
            secondsByPhase: run.clock.totals(),
          },
          !complete ? null : {
            optimizer: this.#optimizer?.save() ?? null,
            follow: async () => await this.#optimizer?.follow(),
            reference: this.#reference?.save() ?? null,
            rollout: this.#grpo?.inFlight() ?? null,
            stale: this.#sampler?.stalePolicies(state.step) ?? new Map(),
          },
        ),
    ).finally(() => control?.saving?.(false));
    run.ranks.progress.keeps();
    run.report.emit({ type: "checkpoint", path, step: state.step });
  }

  async #completed(): Promise<TrainSummary> {
    const run = this.#run, { modelWriter, tokenizer } = this.#options;
    const summary = this.#summary("completed");
    await run.report.records.appendMetrics(finalMetrics(run, summary.seconds));
    const { trainedConfig } = run.report.records.checkpoints;
    const files = finalModelFiles(modelWriter, tokenizer, trainedConfig);
    await run.report.records.finish(files, run.state, summary);
    run.report.emit({ type: "done", summary });
    return summary;
  }

  async #stopped(): Promise<TrainSummary> {
    await this.#save(true);
    const summary = this.#summary("stopped");
    await this.#run.report.records.stop(this.#run.state, summary);
    this.#run.report.emit({ type: "done", summary });
    return summary;
  }

  #summary(status: TrainSummary["status"]): TrainSummary {
    return summarize(this.#run, status, this.#evalAfter);
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
    const run = this.#run;
    run.report.records = new RunRecords(RunFolder.unlocked(options.path), this.#options, run.sizes);
    const { restored, warnings } = await run.report.records.checkpoints.restore(options.resume);
    warnings.push(...run.start(restored?.state ?? null));
    this.#checkpoint = restored?.path ?? null;
    warnings.push(...await this.#diskWarnings());
    return [...refused === null ? [] : [refused], ...warnings, ...this.#notes()];
  }

  /** Whether the disk may be full before the end. */
  async #diskWarnings(): Promise<string[]> {
    const warning = await diskWarning(this.#options.config, this.plan().disk);
    return warning === null ? [] : [warning];
  }

  #checkPrompts(): void {
    if (!this.#promptsChecked) checkPrompts(this.#run);
    this.#promptsChecked = true;
  }

  #folderOptions(): RunFolderOptions {
    const { config, force = false } = this.#options;
    return { path: config.training.output_dir, resume: this.#resume(), force };
  }

  /** The checkpoint to resume from, by the options or else by the configuration. */
  #resume(): boolean | string {
    return this.#options.resume || this.#options.config.training.resume_from_checkpoint;
  }

  /** What `run` would do, after `check` also where it would resume from; nothing is written. */
  plan(resumedFrom: string | null = this.#checkpoint): TrainPlan {
    return trainPlan(this.#run, resumedFrom);
  }

  /**
   * The calls of the run in which operations have a choice of kernels; none on a device without
   * such operations. Nothing is computed.
   * @internal
   */
  rehearse(): Promise<RecordedCall[]> {
    const { device } = this.#options;
    return canRehearse(device) ? rehearseRun(this.#run, device) : Promise.resolve([]);
  }

  /**
   * An estimate of the seconds that a fresh run takes on this device (`duration/time_estimate.ts`).
   * For this the model works for some seconds; the run is the same without it.
   */
  estimateSeconds(): Promise<number> {
    return estimateRun(this.#run);
  }

  /** Training problem 0 as the model would get it. */
  samplePrompt(): { prompt: string; tokens: number; answer: string | null } {
    const entry = this.#options.problems.trainEntry(0);
    const { text, ids } = this.#run.prompts.prompt(entry);
    return { prompt: text, tokens: ids.length, answer: entry.answer };
  }
}

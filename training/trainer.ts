/**
 * The training run: supervised warm start, evaluation before, GRPO steps, evaluation after, final
 * model. Emits events and writes the run's folder; prints nothing. A run that is stopped or killed
 * at any moment continues from its newest valid checkpoint to the same bits, because everything
 * random is a function of (seed, prompt number, branch, position) and everything else is in the
 * checkpoint.
 *
 * A stop is obeyed at the next operation of the device: a step that was cut off before its weights
 * moved is done again after the resume, with the same tokens.
 */
import { bestMetric } from "../configs/best_metric.ts";
import { Interrupted, RgxError, UsageError } from "../core/errors.ts";
import {
  finalModelFiles,
  REFERENCE_FILE,
  type Restored,
  ROLLOUT_FILE,
} from "./checkpoint/checkpoint.ts";
import { changedWeights } from "./curriculum/curriculum.ts";
import { yieldToEvents } from "./step/yield_to_events.ts";
import { type EvalItem, evalMetrics, type EvalResult, evaluate } from "../evaluation/evaluate.ts";
import type { TrainPlan, TrainSummary } from "./run/events.ts";
import { GrpoSteps, RewardFailure } from "./grpo_step.ts";
import { evaluateHeldOut } from "./evaluation/held_out_eval.ts";
import type { Metrics } from "./metrics/metrics.ts";
import type { AdamW } from "./step/optimizer.ts";
import {
  adapterOffReference,
  frozenReference,
  type ReferencePolicy,
} from "./step/reference_policy.ts";
import { RolloutBuffer } from "./step/rollout_buffer.ts";
import { RunContext } from "./run/run_context.ts";
import { RunFolder, type RunFolderOptions } from "./run/run_folder.ts";
import { RunStore } from "./run/run_store.ts";
import { estimateRun } from "./duration/time_estimate.ts";
import { trainPlan } from "./run/train_plan.ts";
import type { TrainerOptions } from "./run/trainer_options.ts";
import { requireWarmStart, warmStart } from "./warm_start.ts";

export type { TrainerOptions } from "./run/trainer_options.ts";

/**
 * Runs the phases of a training run: warm start, evaluation, GRPO, evaluation. `train` makes one
 * and its parts.
 */
export class GrpoTrainer {
  readonly #options: TrainerOptions;
  readonly #run: RunContext;
  #optimizer: AdamW | null = null;
  #reference: ReferencePolicy | null = null;
  #steps: GrpoSteps | null = null;
  #evalAfter: EvalResult | null = null;
  #promptsChecked = false;

  /** @throws UsageError when the configuration's sizes do not fit together. */
  constructor(options: TrainerOptions) {
    this.#options = options;
    this.#run = new RunContext(options);
    // Refused here and not after a long warm start.
    const { sizes } = this.#run, { sft } = options.config;
    if (options.phases === "sft") requireWarmStart(options.config);
    else this.#run.createSampler("GRPO", sizes.promptsPerGeneration);
    if (sizes.warmStartSteps > 0) {
      this.#run.createSampler("warm start", sft!.per_device_train_batch_size);
    }
  }

  /**
   * Runs to the end, or until the control asks to stop (status "stopped": resumable).
   * @throws UsageError before any work when output_dir cannot be used; RgxError for what goes wrong
   *   later
   */
  async run(): Promise<TrainSummary> {
    this.#checkPrompts();
    const folder = await RunFolder.open(this.#folderOptions());
    this.#run.store = new RunStore(folder, this.#options, this.#run.sizes);
    try {
      await this.#begin(this.#resume());
      await (this.#run.supervisedOnly ? this.#supervisedPhases() : this.#phases());
      return await this.#completed();
    } catch (error) {
      if (error instanceof Interrupted) return await this.#stopped();
      if (error instanceof RewardFailure) await this.#save(true);
      // What ended the run is what the user has to see, not that its record could not be written
      // either.
      await this.#run.store.fail(error, this.#run.state, this.#summary("failed")).catch(() => {});
      throw await this.#run.store.explain(error);
    } finally {
      this.#optimizer?.dispose();
      this.#reference?.dispose();
      await this.#options.rubric.close();
      await folder.close();
    }
  }

  /**
   * Refuses what `run` would refuse before its first step; nothing is written.
   * @throws UsageError
   */
  async check(): Promise<void> {
    this.#checkPrompts();
    await RunFolder.check(this.#folderOptions());
  }

  #folderOptions(): RunFolderOptions {
    const { config, force = false } = this.#options;
    return { path: config.training.output_dir, resume: this.#resume(), force };
  }

  /** Where the run goes on from: as asked for, else as the configuration says. */
  #resume(): boolean | string {
    return this.#options.resume || this.#options.config.training.resume_from_checkpoint;
  }

  #checkPrompts(): void {
    const { config, problems, promptMisfit } = this.#options;
    const { max_prompt_length: limit, truncate_prompts: cut } = config.training;
    if (cut !== null || this.#promptsChecked) return;
    // What a task makes is about as long as what was looked at; the rows of a file may be of any
    // length.
    if (limit === null && problems.source.endless) return;
    const longest = this.#run.prompts.checkLengths(this.#allProblems(), limit ?? Infinity);
    const misfit = promptMisfit?.(longest) ?? null;
    if (misfit !== null) {
      throw new UsageError(`${problems.source.name}: ${misfit}`, {
        advice: "Leave such problems out, or cut prompts to their last tokens: " +
          "training.truncate_prompts=left with training.max_prompt_length.",
      });
    }
    this.#promptsChecked = true;
  }

  /** What `run` would do; nothing is read or written. */
  plan(resumedFrom: string | null = null): TrainPlan {
    return trainPlan(this.#run, resumedFrom);
  }

  /**
   * About how many seconds a fresh run takes on this device (`time_estimate.ts`). The model works
   * for some seconds to find out; the run is the same without it.
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

  async #begin(resume: boolean | string): Promise<void> {
    const run = this.#run, { problems } = this.#options;
    const { restored, warnings } = await run.store.restore(resume);
    warnings.push(...run.start(restored?.state ?? null));
    if (restored !== null) await this.#restoreOptimizer(restored, warnings);
    await run.store.begin(restored);
    this.#emitPlan(restored?.path ?? null);
    const more = [
      ...problems.notes,
      ...problems.source.notes ?? [],
      ...run.prompts.notes(),
      ...run.curriculum?.takeNotes() ?? [],
    ];
    for (const message of [...warnings, ...more]) {
      await run.warn(message);
    }
  }

  async #restoreOptimizer(restored: Restored, warnings: string[]): Promise<void> {
    const { state, optimizer, path } = restored;
    if (state.phase === "eval_before") return;
    if (state.phase === "warm_start") {
      this.#optimizer = this.#run.createOptimizer(this.#options.config.sft!);
    } else {
      await this.#beginGrpo(restored.reference, await this.#restoreRollout(restored, warnings));
    }
    if (optimizer !== null) await this.#optimizer!.load(optimizer, `${path}/optimizer.safetensors`);
    else warnings.push(`${path} holds no optimizer state: the optimizer starts fresh`);
  }

  /**
   * The generation batch that was in use.
   * @throws RgxError for a checkpoint without the reference
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

  async #supervisedPhases(): Promise<void> {
    const run = this.#run, { state } = run, save = () => this.#save();
    if (state.warmStartStep === 0) state.evalBefore = await this.#evaluate("before");
    this.#optimizer ??= run.createOptimizer(this.#options.config.sft!);
    await warmStart(run, this.#optimizer, save);
    await save();
    this.#evalAfter = await this.#evaluate("after");
    run.phase("finish");
  }

  async #phases(): Promise<void> {
    const run = this.#run, { state } = run, { training, sft } = this.#options.config;
    const save = () => this.#save();
    if (state.phase === "warm_start") {
      this.#optimizer ??= run.createOptimizer(sft!);
      await warmStart(run, this.#optimizer, save);
      this.#optimizer.dispose();
      this.#optimizer = null;
      state.phase = "eval_before";
      await save();
    }
    if (state.phase === "eval_before") {
      state.evalBefore = await this.#evaluate("before");
      await this.#beginGrpo(null, null);
      state.phase = "grpo";
      state.lossSum = 0;
    }
    run.phase("grpo");
    for (;;) {
      await this.#evaluateIfDue();
      if (run.intervals.savesAt(state.step, state.best?.step === state.step)) await save();
      if (state.step >= run.sizes.totalSteps) break;
      run.stopIfAsked();
      await this.#steps!.step();
      await yieldToEvents();
    }
    if (training.load_best_model_at_end) await this.#loadBest();
    this.#evalAfter = await this.#evaluate("after");
    run.phase("finish");
  }

  async #beginGrpo(savedReference: Uint8Array | null, buffer: RolloutBuffer | null): Promise<void> {
    const { config, device, model } = this.#options, { training } = config;
    this.#optimizer = this.#run.createOptimizer(training);
    if (training.beta !== 0) {
      this.#reference = this.#referenceIsBase()
        ? adapterOffReference(model)
        : await frozenReference(device, model, savedReference);
    }
    this.#steps = new GrpoSteps(this.#run, this.#optimizer, this.#reference, buffer);
  }

  /**
   * A fresh adapter's reference is the base model; one that was trained before (by an earlier run
   * or by the warm start) has a copy of itself as GRPO found it.
   */
  #referenceIsBase(): boolean {
    return this.#options.config.lora !== null && !this.#options.continuesAdapter &&
      this.#run.sizes.warmStartSteps === 0;
  }

  /** The evaluation of where the run stands, unless it is not due or was made already. */
  async #evaluateIfDue(): Promise<void> {
    const run = this.#run, { state } = run, { config, model, problems, rubric } = this.#options;
    const { heldOut } = problems;
    if (heldOut.length === 0 || !run.intervals.evaluatesAt(state.step)) return;
    if (state.evaluatedStep === state.step) return;
    const start = performance.now();
    const { metrics, ci95, problems: total, completions, batches } = await this.#evaluation(() =>
      evaluateHeldOut(heldOut, {
        model,
        prompts: run.prompts,
        rubric,
        training: config.training,
        reference: this.#reference,
        step: state.step,
        shouldStop: () => run.stopRequested(),
        onProgress: (done, all) => run.emit({ type: "eval_progress", done, total: all }),
      })
    );
    run.clock.lap();
    const epoch = run.epoch(), { step } = state;
    const line = { ...metrics, eval_ci95: ci95, eval_total: total };
    await run.store.appendMetrics({
      step,
      epoch,
      split: "eval",
      ...line,
      ...evalSpeed(start, completions, batches),
      ...run.memory.lap(),
    });
    run.store.logHistory.push({ ...line, epoch, step });
    state.evaluatedStep = step;
    const improved = this.#improves(metrics);
    run.emit({ type: "held_out", step, metrics, ci95, total, improved });
  }

  #evaluation<T>(work: () => Promise<T>): Promise<T> {
    return this.#run.clock.time("eval", () => this.#run.stoppable(work));
  }

  /** Whether an evaluation is the best so far, which is then remembered. */
  #improves(metrics: Metrics): boolean {
    const { state } = this.#run,
      { name, greaterIsBetter } = bestMetric(this.#options.config.training);
    const metric = metrics[name];
    if (metric === undefined) {
      throw new UsageError(`training.metric_for_best_model: there is no ${name}`, {
        advice: `Name one of ${Object.keys(metrics).join(", ")}.`,
      });
    }
    if (metric === null) return false;
    const { best } = state;
    if (best !== null && (greaterIsBetter ? metric <= best.metric : metric >= best.metric)) {
      return false;
    }
    state.best = { step: state.step, metric };
    return true;
  }

  async #loadBest(): Promise<void> {
    const run = this.#run, { best } = run.state;
    if (best === null || best.step === 0) {
      const why = best === null ? "nothing was evaluated" : "no step was better than the start";
      return await run.warn(`load_best_model_at_end: ${why}, so the last weights stay`);
    }
    const path = await run.store.loadBest(best);
    run.emit({ type: "best_loaded", path, ...best });
  }

  async #evaluate(moment: "before" | "after"): Promise<EvalResult | null> {
    const run = this.#run, { config, model, problems } = this.#options;
    const { heldOut } = problems;
    if (heldOut.length === 0) return null;
    run.phase(moment === "before" ? "eval_before" : "eval_after");
    const start = performance.now();
    const items: EvalItem[] = [];
    const result = await this.#evaluation(() =>
      evaluate(heldOut, {
        model,
        prompts: run.prompts,
        training: config.training,
        eval: config.eval,
        shouldStop: () => run.stopRequested(),
        onProgress: (done, total) => run.emit({ type: "eval_progress", done, total }),
        onItem: (item) => items.push(item),
      })
    );
    run.clock.lap();
    await run.store.writeEvaluation(moment, items);
    const { step, epoch } = run.progress(), metrics = evalMetrics(result);
    await run.store.appendMetrics({
      step,
      epoch,
      split: "eval",
      ...metrics,
      ...evalSpeed(start, result.total),
      ...run.memory.lap(),
    });
    run.store.logHistory.push({ ...metrics, epoch, step });
    run.emit({ type: "eval", moment, result });
    return result;
  }

  /**
   * Writes a checkpoint of where the run stands, unless there is one already or nothing was done
   * yet.
   * @param complete with everything that an exact resume needs
   */
  async #save(complete = !this.#options.config.training.save_only_model): Promise<void> {
    const run = this.#run, { state } = run;
    if (state.phase === "warm_start" && state.warmStartStep === 0) return;
    if (!run.store.needsSave(state, complete)) return;
    const { control } = this.#options;
    control?.saving?.(true);
    const path = await run.clock.time("checkpoint", async () =>
      await run.store.save(
        {
          ...state,
          taskWeights: changedWeights(
            this.#options.problems.source,
            this.#options.config.data,
          ),
          averager: run.averager.state(),
          seconds: run.seconds(),
          secondsByPhase: run.clock.totals(),
        },
        !complete ? null : {
          optimizer: await this.#optimizer?.save() ?? null,
          reference: await this.#reference?.save() ?? null,
          rollout: this.#steps?.inFlight() ?? null,
        },
      )).finally(() => control?.saving?.(false));
    run.emit({ type: "checkpoint", path, step: state.step });
  }

  async #completed(): Promise<TrainSummary> {
    const run = this.#run, { state } = run, { modelWriter, tokenizer } = this.#options;
    const { step, epoch, samples } = run.progress();
    const summary = this.#summary("completed"), runtime = summary.seconds;
    await run.store.appendMetrics({
      step,
      epoch,
      split: "final",
      train_runtime: runtime,
      train_samples_per_second: samples / runtime,
      train_steps_per_second: step / runtime,
      // TRL's GRPO trainer counts none either.
      total_flos: 0,
      train_loss: state.lossSum / step,
    });
    const files = await finalModelFiles(modelWriter, tokenizer, this.#options.config);
    await run.store.finish(files, state, summary);
    run.emit({ type: "done", summary });
    return summary;
  }

  async #stopped(): Promise<TrainSummary> {
    await this.#save(true);
    const summary = this.#summary("stopped");
    await this.#run.store.stop(this.#run.state, summary);
    this.#run.emit({ type: "done", summary });
    return summary;
  }

  #summary(status: TrainSummary["status"]): TrainSummary {
    const run = this.#run, { state } = run, { config, problems } = this.#options;
    return {
      output_dir: config.training.output_dir,
      checkpoint: run.store.checkpoint(status),
      status,
      steps: run.progress().step,
      seconds: run.seconds(),
      seconds_by_phase: run.clock.totals(),
      tokens_generated: state.tokensGenerated,
      tokens_trained: state.tokensTrained,
      memory_planned_bytes: this.#options.memory?.peak ?? null,
      peak_memory_bytes: this.#run.memory.peakBytes,
      eval_before: state.evalBefore,
      eval_after: this.#evalAfter,
      item_overlap: state.heldOut?.changed ? null : problems.overlap,
      items_redrawn: problems.redrawn,
      skipped_steps: state.skippedSteps,
    };
  }

  #emitPlan(resumedFrom: string | null): void {
    this.#run.emit({ type: "plan", plan: this.plan(resumedFrom) });
  }

  *#allProblems() {
    const { problems } = this.#options;
    yield* problems.heldOut;
    for (let i = 0; i < this.#run.sizes.trainProblems; i++) yield problems.trainEntry(i);
  }
}

function evalSpeed(start: number, samples: number, batches?: number): Record<string, number> {
  const seconds = (performance.now() - start) / 1000;
  return {
    eval_runtime: seconds,
    eval_samples_per_second: samples / seconds,
    ...(batches === undefined ? {} : { eval_steps_per_second: batches / seconds }),
  };
}

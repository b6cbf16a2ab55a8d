/**
 * What the phases of a run share: its parts, progress, clock, records and listeners.
 */
import { supervisedBatch } from "../../configs/batch_sizes.ts";
import { Interrupted, UsageError } from "../../core/errors.ts";
import { DROPOUT_PASS } from "../../core/philox.ts";
import { TrainingCurriculum } from "../curriculum/curriculum.ts";
import { restoreTaskWeights } from "../curriculum/task_weights.ts";
import { Diagnosis } from "../diagnosis/diagnosis.ts";
import type { Advice } from "../diagnosis/finding.ts";
import { SupervisedDiagnosis } from "../diagnosis/supervised_diagnosis.ts";
import { IntervalStrategy } from "./interval_strategy.ts";
import type { TrainEvent, TrainPhase } from "./events.ts";
import { heldApart, heldOutRecord, reviseHeldOut } from "../checkpoint/held_out_record.ts";
import { MemoryTracker } from "../metrics/memory_tracker.ts";
import { addUp, MetricAverager, type Metrics, unfiltered } from "../metrics/metrics.ts";
import { GradientSum, type Reduction, reductionOf } from "../step/gradient_sum.ts";
import { firstScale, grown } from "../step/loss_scale.ts";
import { optimizerKind } from "../step/moments.ts";
import { AdamW } from "../step/optimizer.ts";
import { Shards } from "../step/shards.ts";
import { PhaseClock } from "../metrics/phase_clock.ts";
import { type PromptEncoder, runPrompts } from "../../evaluation/prompt_encoder.ts";
import { freshState, type RunState } from "../checkpoint/run_state.ts";
import { ALONE, type Ranks } from "../../ranks/ranks.ts";
import type { RunRecords } from "./run_records.ts";
import { PromptSampler } from "../rollout/prompt_sampler.ts";
import { type RunSizes, runSizes } from "./run_sizes.ts";
import type { TrainerOptions } from "./trainer_options.ts";

export class RunContext {
  readonly sizes: RunSizes;
  /** A stop request ends the work that is dealt to them. */
  readonly ranks: Ranks;
  prompts: PromptEncoder;
  readonly intervals: IntervalStrategy;
  /** null = the parameters of the tasks do not change. */
  readonly curriculum: TrainingCurriculum | null;
  state: RunState;
  memory: MemoryTracker;
  clock: PhaseClock;
  averager: MetricAverager;
  /** Set when the run's folder is open. */
  records!: RunRecords;
  readonly #diagnosis: Diagnosis;
  readonly #supervised: SupervisedDiagnosis;
  #started = performance.now();
  /** False from the change of the weights until the step is counted and recorded. */
  isWholeStep = true;
  /** Gradient norm of the last step. */
  #lastNorm = 0;

  /** @throws UsageError when the configuration's sizes do not fit together. */
  constructor(readonly options: TrainerOptions) {
    const { config, tokenizer } = options;
    this.ranks = (options.ranks ?? ALONE).guardedBy((work) => this.#watched(work, true));
    const problems = options.trainProblems ?? config.data.num_examples;
    if (problems === null) {
      throw new UsageError("trainProblems: expected a number where data.num_examples is null");
    }
    this.sizes = runSizes(config, problems, options.phases);
    const { schedule, totalSteps } = this.sizes;
    this.intervals = new IntervalStrategy(config.training, totalSteps, schedule.stepsPerEpoch);
    const eosIds = options.eosIds ?? (tokenizer.eosId === null ? [] : [tokenizer.eosId]);
    this.prompts = runPrompts(tokenizer, config, eosIds);
    const promptTime = this.prompts.settings.prompt_time ?? null;
    this.curriculum = config.curriculum === null
      ? null
      : new TrainingCurriculum(config.curriculum, config.data, options.problems.source);
    this.state = freshState(this.sizes.warmStartSteps > 0 ? "warm_start" : "eval_before");
    this.state.heldOut = heldOutRecord(heldApart(options.problems));
    this.state.promptTime = promptTime;
    this.state.lossScale = firstScale(config.training.compute_dtype);
    this.averager = new MetricAverager({}, unfiltered(config.training));
    this.memory = new MemoryTracker(options.device);
    this.clock = new PhaseClock({}, this.memory);
    this.#diagnosis = new Diagnosis(config, totalSteps);
    const { vocabSize } = options.model;
    this.#supervised = new SupervisedDiagnosis(config, vocabSize, this.sizes.warmStartSteps);
  }

  /**
   * Starts the clock, and continues from a restored state if there is one.
   * @returns warnings about the restored state
   */
  start(restored: RunState | null): string[] {
    this.#started = performance.now();
    this.memory = new MemoryTracker(this.options.device);
    this.clock = new PhaseClock(restored?.secondsByPhase, this.memory);
    if (restored === null) return [];
    const scale = firstScale(this.options.config.training.compute_dtype);
    restored.lossScale = scale === null ? null : restored.lossScale ?? scale;
    this.#keepPromptTime(restored);
    this.state = restored;
    // In a run of all phases, the supervised part is complete in this phase.
    if (this.supervisedOnly && restored.phase === "eval_before") restored.phase = "warm_start";
    // GRPO does not log metrics of supervised steps that were not logged yet.
    const grpoBegins = !this.supervisedOnly && restored.phase === "warm_start";
    const { training } = this.options.config;
    this.averager = new MetricAverager(
      grpoBegins ? {} : restored.averager,
      unfiltered(training),
    );
    if (restored.curriculum !== null) this.curriculum?.restore(restored.curriculum);
    const { problems } = this.options;
    if (restored.taskWeights !== null) restoreTaskWeights(problems.source, restored.taskWeights);
    return reviseHeldOut(restored, heldApart(problems), this.options.config);
  }

  /** The prompts of a resumed run have the time of its first start, so that they stay the same. */
  #keepPromptTime(restored: RunState): void {
    const { tokenizer, config } = this.options, { eosIds } = this.prompts;
    this.prompts = runPrompts(tokenizer, config, eosIds, restored.promptTime);
    restored.promptTime = this.prompts.settings.prompt_time ?? null;
  }

  /** Seconds of work so far, including earlier sessions. */
  seconds(): number {
    return this.state.seconds + (performance.now() - this.#started) / 1000;
  }

  /** Whether the run is the supervised warm start alone. */
  get supervisedOnly(): boolean {
    return this.options.phases === "sft";
  }

  /** Adds a step's loss to those of train_loss: by default a single NaN would make it NaN. */
  addLoss(loss: number): void {
    const { logging_nan_inf_filter: filter } = this.options.config.training;
    if (Number.isFinite(loss) || !filter) this.state.lossSum += loss;
  }

  /** Epochs of GRPO so far. */
  epoch(): number {
    return this.sizes.schedule.epoch(this.state.step);
  }

  /**
   * Optimizer steps, epochs and examples so far, of GRPO or, in a supervised run, of the warm
   * start.
   */
  progress(): { step: number; epoch: number; samples: number } {
    const { state, sizes } = this;
    if (!this.supervisedOnly) {
      const { step } = state;
      return { step, epoch: this.epoch(), samples: step * sizes.rowsPerStep };
    }
    const step = state.warmStartStep, batch = supervisedBatch(this.options.config.sft!);
    const epoch = step / Math.floor(sizes.trainProblems / batch);
    return { step, epoch, samples: step * batch };
  }

  /** @param phase a key of DROPOUT_PASS */
  createOptimizer(
    settings: { weight_decay: number; max_grad_norm: number },
    phase: keyof typeof DROPOUT_PASS,
  ): AdamW {
    const { device, model, config } = this.options;
    return new AdamW(device, model, {
      kind: optimizerKind(config.training),
      seed: config.training.seed,
      pass: DROPOUT_PASS[phase],
      beta1: config.training.adam_beta1,
      beta2: config.training.adam_beta2,
      epsilon: config.training.adam_epsilon,
      weightDecay: settings.weight_decay,
      maxGradNorm: settings.max_grad_norm,
    }, this.shards());
  }

  /** Which rank keeps which states of the optimizer; null: each one has all (`training.zero`). */
  shards(): Shards | null {
    const { model, config: { training } } = this.options;
    if (training.zero === 0 || this.ranks.size === 1) return null;
    return new Shards(this.ranks, model, optimizerKind(training));
  }

  /** How the gradients of so many micro-batches are added. */
  reduction(microBatches: number): Reduction {
    const { model, config } = this.options;
    const bytes = model.trainableArenas.reduce((sum, { length }) => sum + 4 * length, 0);
    return reductionOf(config.training.reduction, microBatches, bytes);
  }

  /** Adds up the gradients of the micro-batches of a step. */
  createGradientSum(microBatches: number): GradientSum {
    const { device, model, config } = this.options;
    return new GradientSum(model, device, {
      reduction: this.reduction(microBatches),
      ranks: this.ranks,
      shards: this.shards(),
      halves: config.training.reduce_dtype === "bfloat16",
    });
  }

  /** @throws UsageError when there are fewer problems than a step takes */
  createSampler(name: string, chunk: number): PromptSampler {
    const { training } = this.options.config;
    return new PromptSampler({
      count: this.sizes.trainProblems,
      chunk,
      seed: training.data_seed ?? training.seed,
      shuffle: training.shuffle_dataset,
      name,
    });
  }

  /**
   * Applies the gradients. A step whose gradient is not finite is skipped, counted and reported.
   */
  async applyGradients(optimizer: AdamW, rate: number, gradNorm: number): Promise<void> {
    this.#lastNorm = gradNorm;
    const { state } = this, { lossScale } = state;
    this.isWholeStep = false;
    const applied = await this.clock.time(
      "optimizer",
      () => optimizer.apply(rate, gradNorm, lossScale?.scale),
    );
    if (applied) {
      if (lossScale !== null) state.lossScale = grown(lossScale);
      return;
    }
    state.skippedSteps++;
    await this.warn(
      "the gradient is not finite: this step was left out, the weights are unchanged" +
        (lossScale === null
          ? ""
          : "; compute_dtype float16 holds magnitudes up to 65504: if this goes on, take bfloat16"),
    );
  }

  /**
   * Times and memory of the step that began at `start`. Comparisons of runs leave out these names.
   */
  clockMetrics(start: number): Record<string, number> {
    const metrics: Record<string, number> = { step_time: (performance.now() - start) / 1000 };
    for (const [phase, seconds] of Object.entries(this.clock.lap())) {
      metrics[`time/${phase}`] = seconds;
    }
    return { ...metrics, ...this.memory.lap() };
  }

  /**
   * Adds what rewards have spent to the run's totals.
   * @returns it as metrics, with the totals of time and price
   */
  spend(spent: Readonly<Record<string, number>>): Metrics {
    const total = this.state.spent = addUp([this.state.spent, spent]);
    const totals = Object.keys(spent).flatMap((name) => {
      const [, place, what] = /^(.*\/)(seconds|cost)$/.exec(name) ?? [];
      return what === undefined ? [] : [[`${place}total_${what}`, total[name]!] as const];
    });
    return { ...spent, ...Object.fromEntries(totals) };
  }

  stopRequested(): boolean {
    return this.options.control?.stopRequested() === "save";
  }

  /**
   * Ends the run here if a stop was requested, of any rank.
   * @throws Interrupted
   */
  async stopIfRequested(): Promise<void> {
    await this.ranks.each(() => {
      if (this.stopRequested()) throw new Interrupted();
    });
    if (this.ranks.size > 1) {
      await this.ranks.compare(
        { "gradient of the last step": String(this.#lastNorm) },
        "They have computed different things, as different processors or damaged memory would. " +
          "--resume goes on from the last checkpoint.",
      );
    }
  }

  /**
   * The prompts of all ranks have the time of the first one, whose clock may be another. A resume
   * replaces it by that of the run's first start.
   */
  async agreeOnTime(): Promise<void> {
    const { tokenizer, config } = this.options, { eosIds } = this.prompts;
    const time = await this.ranks.first(() => this.state.promptTime);
    if (this.ranks.isFirst || time === null) return;
    this.prompts = runPrompts(tokenizer, config, eosIds, time);
    this.state.promptTime = time;
  }

  /**
   * Does work that a stop request ends at the next operation of the device: a pass over a large
   * batch may take longer than the notice that a job gets. The state must not change before the
   * work is done. With several ranks, only work that is dealt to them ends so, where all learn of
   * it.
   * @throws Interrupted
   */
  async stoppable<T>(work: () => Promise<T>): Promise<T> {
    return await this.#watched(work, this.ranks.size === 1);
  }

  /** Stoppable work of forward and backward passes. */
  passes<T>(work: () => Promise<T>): Promise<T> {
    return this.clock.time("forward_backward", () => this.stoppable(work));
  }

  async #watched<T>(work: () => Promise<T>, stops: boolean): Promise<T> {
    const { device } = this.options, outer = device.beforeRun ?? null;
    device.beforeRun = () => {
      this.records.keepAlive();
      this.ranks.progress.beat();
      if (!stops || !this.stopRequested()) return;
      device.beforeRun = null; // the operations that clean up must still run
      throw new Interrupted();
    };
    try {
      return await work();
    } finally {
      device.beforeRun = outer;
    }
  }

  phase(phase: TrainPhase): void {
    this.emit({ type: "phase", phase });
  }

  async warn(message: string): Promise<void> {
    this.emit({ type: "warning", message });
    await this.records.warn(message);
  }

  /** Emits and records advice, if the metrics show why the run does not get better. */
  async diagnose(step: number, metrics: Readonly<Metrics>): Promise<void> {
    await this.#advise(step, this.#diagnosis.observe(step, metrics));
  }

  /** The same for the loss of a supervised step. */
  async diagnoseSupervised(step: number, loss: number): Promise<void> {
    await this.#advise(step, this.#supervised.observe(step, loss));
  }

  async #advise(step: number, found: readonly Advice[]): Promise<void> {
    for (const advice of found) {
      this.emit({ type: "advice", step, advice });
      await this.records.advise(step, advice);
    }
  }

  emit(event: TrainEvent): void {
    for (const listener of this.options.listeners ?? []) listener(event);
  }
}

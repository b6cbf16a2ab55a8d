/**
 * Where a run is: its sizes, problems and prompts, its state and clock, and what it tells
 * (`run_report.ts`) and listens to (`stop_requests.ts`).
 */
import { supervisedBatch } from "../../configs/batch_sizes.ts";
import { UsageError } from "../../core/errors.ts";
import { TrainingCurriculum } from "../curriculum/curriculum.ts";
import { restoreTaskWeights } from "../curriculum/task_weights.ts";
import { IntervalStrategy } from "./interval_strategy.ts";
import { heldApart, heldOutRecord, reviseHeldOut } from "../checkpoint/run_state.ts";
import { MemoryTracker } from "../metrics/phase_clock.ts";
import { addUp, type Metrics } from "../metrics/metrics.ts";
import { firstScale, grown } from "../step/loss_scale.ts";
import type { AdamW } from "../step/optimizer.ts";
import { PhaseClock } from "../metrics/phase_clock.ts";
import { type PromptEncoder, runPrompts } from "../../bench/evaluation/prompt_encoder.ts";
import { freshState, type RunState } from "../checkpoint/run_state.ts";
import type { Ranks } from "../../cluster/ranks/ranks.ts";
import { PromptSampler } from "../rollout/prompt_sampler.ts";
import { RunReport } from "./run_report.ts";
import { type RunSizes, runSizes } from "./run_sizes.ts";
import { StopRequests } from "./stop_requests.ts";
import type { TrainerOptions } from "./trainer_options.ts";

export class RunContext {
  readonly sizes: RunSizes;
  readonly report: RunReport;
  readonly stop: StopRequests;
  prompts: PromptEncoder;
  readonly intervals: IntervalStrategy;
  /** null = the parameters of the tasks do not change. */
  readonly curriculum: TrainingCurriculum | null;
  state: RunState;
  memory: MemoryTracker;
  clock: PhaseClock;
  #started = performance.now();
  /** False from the change of the weights until the step is counted and recorded. */
  isWholeStep = true;
  /** Gradient norm of the last step. */
  lastNorm = 0;

  /** @throws UsageError when the configuration's sizes do not fit together. */
  constructor(readonly options: TrainerOptions) {
    const { config, tokenizer } = options;
    const problems = options.trainProblems ?? config.data.num_examples;
    if (problems === null) {
      throw new UsageError("trainProblems: expected a number where data.num_examples is null");
    }
    this.sizes = runSizes(config, problems, options.phases);
    this.report = new RunReport(options, this.sizes);
    this.stop = new StopRequests(options, () => this.report.records.keepAlive());
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
    this.memory = new MemoryTracker(options.device);
    this.clock = new PhaseClock({}, this.memory);
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
    if (!grpoBegins) this.report.restore(restored.averager);
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

  get ranks(): Ranks {
    return this.stop.ranks;
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
    this.lastNorm = gradNorm;
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
    await this.report.warn(
      "the gradient is not finite: this step was left out, the weights are unchanged" +
        (lossScale === null
          ? ""
          : "; compute_dtype float16 holds magnitudes up to 65504: if this goes on, take bfloat16"),
    );
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

  /** Stoppable work of forward and backward passes. */
  passes<T>(work: () => Promise<T>): Promise<T> {
    return this.clock.time("forward_backward", () => this.stop.during(work));
  }
}

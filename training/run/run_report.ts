/** What a run tells: events for its listeners, its records, what is logged, and advice. */
import type { Advice } from "../diagnosis/finding.ts";
import { Diagnosis } from "../diagnosis/diagnosis.ts";
import { SupervisedDiagnosis } from "../diagnosis/diagnosis.ts";
import { MetricAverager, type Metrics, unfiltered } from "../metrics/metrics.ts";
import type { TrainEvent, TrainPhase } from "./events.ts";
import type { RunRecords } from "./run_records.ts";
import type { RunSizes } from "./run_sizes.ts";
import type { TrainerOptions } from "./trainer_options.ts";

export class RunReport {
  /** Set when the run's folder is open. */
  records!: RunRecords;
  #averager: MetricAverager;
  readonly #diagnosis: Diagnosis;
  readonly #supervised: SupervisedDiagnosis;

  constructor(
    private readonly options: Pick<TrainerOptions, "config" | "model" | "listeners">,
    sizes: RunSizes,
  ) {
    const { config, model } = options;
    this.#averager = new MetricAverager({}, unfiltered(config.training));
    this.#diagnosis = new Diagnosis(config, sizes.totalSteps);
    this.#supervised = new SupervisedDiagnosis(config, model.vocabSize, sizes.warmStartSteps);
  }

  emit(event: TrainEvent): void {
    for (const listener of this.options.listeners ?? []) listener(event);
  }

  phase(phase: TrainPhase): void {
    this.emit({ type: "phase", phase });
  }

  async warn(message: string): Promise<void> {
    this.emit({ type: "warning", message });
    await this.records.warn(message);
  }

  /** Adds a step to the means of the next log, and logs them if that is due. */
  log(step: number, totalSteps: number, metrics: Metrics, isDue: boolean): void {
    this.#averager.add(metrics);
    if (!isDue) return;
    const means = this.#averager.means();
    this.#averager.reset();
    this.records.addLog({ ...means, step });
    this.emit({ type: "log", step, totalSteps, metrics: means });
  }

  /** What was added since the last log, for a checkpoint. */
  get unlogged(): ReturnType<MetricAverager["state"]> {
    return this.#averager.state();
  }

  restore(unlogged: ReturnType<MetricAverager["state"]>): void {
    this.#averager = new MetricAverager(unlogged, unfiltered(this.options.config.training));
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
}

/**
 * At which steps a run logs, evaluates and saves (transformers' `DefaultFlowCallback`): every n
 * steps (an interval below 1 is a share of all steps) or at the end of every epoch. The last step
 * is always logged. It is also evaluated and saved, unless the strategy is "no".
 */
import { stepInterval } from "../../configs/step_interval.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";

type Training = RunConfig["training"];

export class IntervalStrategy {
  readonly loggingSteps: number;
  readonly evalSteps: number;
  readonly saveSteps: number;

  constructor(
    private readonly training: Training,
    private readonly totalSteps: number,
    private readonly stepsPerEpoch: number,
  ) {
    this.loggingSteps = stepInterval(training.logging_steps, totalSteps);
    this.evalSteps = stepInterval(training.eval_steps ?? training.logging_steps, totalSteps);
    this.saveSteps = stepInterval(training.save_steps, totalSteps);
  }

  logsAt(step: number): boolean {
    const { logging_strategy: strategy, logging_first_step: first } = this.training;
    if (strategy === "no") return false;
    return step === this.totalSteps || (first && step === 1) ||
      this.#isDue(strategy, this.loggingSteps, step);
  }

  /** Whether the held-out problems are evaluated after this step; 0 is before the first step. */
  evaluatesAt(step: number): boolean {
    const { eval_strategy: strategy, eval_delay: delay, eval_on_start: onStart } = this.training;
    if (step === 0) return onStart;
    if (strategy === "no") return false;
    const done = strategy === "epoch" ? step / this.stepsPerEpoch : step;
    return done >= delay &&
      (step === this.totalSteps || this.#isDue(strategy, this.evalSteps, step));
  }

  /** @param improved whether this step was evaluated and is the best so far */
  savesAt(step: number, improved: boolean): boolean {
    const { save_strategy: strategy, load_best_model_at_end: best } = this.training;
    if (step === 0) return false;
    if (improved && (strategy === "best" || best)) return true;
    if (strategy === "no" || strategy === "best") return false;
    return step === this.totalSteps || this.#isDue(strategy, this.saveSteps, step);
  }

  #isDue(strategy: "steps" | "epoch", interval: number, step: number): boolean {
    return step % (strategy === "epoch" ? this.stepsPerEpoch : interval) === 0;
  }
}

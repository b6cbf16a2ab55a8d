/**
 * At which steps a run logs, evaluates and saves (transformers' `DefaultFlowCallback`): every so many steps
 * (a value below 1 is a share of all steps) or at the end of every epoch. The last step is always logged;
 * it is evaluated and saved unless nothing is.
 */
import { stepInterval } from "../../configs/batch_sizes.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";

type Training = RunConfig["training"];

export class Due {
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

  log(step: number): boolean {
    const { logging_strategy: strategy, logging_first_step: first } = this.training;
    if (strategy === "no") return false;
    return step === this.totalSteps || (first && step === 1) ||
      this.#at(strategy, this.loggingSteps, step);
  }

  /** Of the evaluations while training; step 0 is before the first. */
  evaluate(step: number): boolean {
    const { eval_strategy: strategy, eval_delay: delay, eval_on_start: onStart } = this.training;
    if (step === 0) return onStart;
    if (strategy === "no") return false;
    const begun = strategy === "epoch" ? step / this.stepsPerEpoch : step;
    return begun >= delay &&
      (step === this.totalSteps || this.#at(strategy, this.evalSteps, step));
  }

  /** `improved`: the newest evaluation was of this step and is the best so far. */
  save(step: number, improved: boolean): boolean {
    const { save_strategy: strategy, load_best_model_at_end: best } = this.training;
    if (step === 0) return false;
    if (improved && (strategy === "best" || best)) return true;
    if (strategy === "no" || strategy === "best") return false;
    return step === this.totalSteps || this.#at(strategy, this.saveSteps, step);
  }

  #at(strategy: "steps" | "epoch", interval: number, step: number): boolean {
    return step % (strategy === "epoch" ? this.stepsPerEpoch : interval) === 0;
  }
}

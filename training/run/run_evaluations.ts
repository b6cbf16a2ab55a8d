/**
 * The evaluations of a run on its held-out problems: before training, while training and after it,
 * with their records in the run's folder and their events.
 */
import { bestMetric } from "../../configs/schema/metric_names.ts";
import { UsageError } from "../../core/errors.ts";
import { wilson } from "../../core/intervals.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { publishedPlace } from "../../hub/set_addresses.ts";
import { askedWhileTraining } from "../../data/held_out.ts";
import {
  type EvalItem,
  evalMetrics,
  type EvalResult,
  evaluate,
} from "../evaluation/before_and_after.ts";
import { evalNames, type Metrics } from "../metrics/metrics.ts";
import { addSpent } from "../checkpoint/run_state.ts";
import type { IntervalStrategy } from "./interval_strategy.ts";
import type { RunParts } from "./run_report.ts";
import { progressOf } from "./run_summary.ts";
import { evaluatePairs } from "../preference_step.ts";
import type { ReferencePolicy } from "../step/reference_policy.ts";
import { evaluateHeldOut } from "../evaluation/held_out_eval.ts";

export class RunEvaluations {
  constructor(
    private readonly run: RunParts,
    private readonly intervals: IntervalStrategy,
  ) {}

  /** Evaluates before (or after) training; null if no problems are held out. */
  async around(moment: "before" | "after"): Promise<EvalResult | null> {
    const { options, report, state, sizes } = this.run, { config, rubric } = options;
    const { heldOut } = options.problems, items: EvalItem[] = [];
    if (heldOut.length === 0) return null;
    report.phase(moment === "before" ? "eval_before" : "eval_after");
    const start = performance.now();
    const result = await this.#timed(() =>
      evaluate(heldOut, {
        ...this.#shared(),
        eval: config.eval,
        onItem: (item) => items.push(item),
        rubric,
        onSpent: (spent) => addSpent(state, spent),
      })
    );
    await report.writeEvaluation(moment, items);
    const progress = progressOf(options, sizes, state);
    await this.#record(progress, evalMetrics(result), evalSpeed(start, heldOut.length));
    report.emit({ type: "eval", moment, result, items });
    const unread = whyUnread(items, config);
    if (unread !== null) await report.warn(unread);
    return result;
  }

  /**
   * Evaluates while training, if an evaluation is due after the current step and was not made yet:
   * on the validation problems, else on the held-out ones.
   */
  async ifDue(reference: ReferencePolicy | null): Promise<void> {
    const { state, report, sizes, options: { problems, rubric } } = this.run;
    const asked = askedWhileTraining(problems);
    if (asked.length === 0 || !this.intervals.evaluatesAt(state.step)) return;
    if (state.evaluatedStep === state.step) return;
    const start = performance.now();
    const { metrics, spent, ci95, problems: total, completions, batches } = await this.#timed(() =>
      evaluateHeldOut(asked, { ...this.#shared(), rubric, reference })
    );
    addSpent(state, spent);
    const epoch = sizes.schedule.epoch(state.step), { step } = state;
    const line = { ...metrics, eval_ci95: ci95, eval_total: total };
    await this.#record({ step, epoch }, line, evalSpeed(start, completions, batches));
    state.evaluatedStep = step;
    const improved = this.#rememberIfBest(metrics);
    report.emit({ type: "held_out", step, metrics, ci95, total, improved });
  }

  /** Evaluates the held-out pairs. @param reference null = there is none */
  async pairs(reference: ReferencePolicy | null): Promise<void> {
    const { state, report, sizes, prompts, stop, options } = this.run;
    const { model, config: { dpo, training } } = options;
    const pairs = prompts.pairs(askedWhileTraining(options.problems), dpo!.max_length);
    if (pairs.length === 0) return;
    const start = performance.now(), microBatchSize = training.per_device_eval_batch_size;
    const found = await this.#timed(() =>
      evaluatePairs(model, pairs, { microBatchSize, settings: dpo!, reference, ranks: stop.ranks })
    );
    const metrics = evalNames(found);
    const total = pairs.length, right = metrics["eval_rewards/accuracies"]! * total;
    const ci95 = wilson(Math.round(right), total);
    const progress = progressOf(options, sizes, state), line = { ...metrics, eval_total: total };
    const batches = Math.ceil(total / microBatchSize);
    await this.#record(progress, line, evalSpeed(start, total, batches));
    const { step } = progress;
    report.emit({ type: "held_out", step, metrics, ci95, total, improved: false });
  }

  async #record(
    { step, epoch }: { step: number; epoch: number },
    metrics: Readonly<Record<string, unknown>>,
    speed: Readonly<Record<string, number>>,
  ): Promise<void> {
    const { report, clock } = this.run;
    clock.lap();
    const more = { ...speed, ...clock.memory?.lap() };
    await report.appendMetrics({ step, epoch, split: "eval", ...metrics, ...more });
    report.checkpoints.logHistory.push({ ...metrics, epoch, step });
  }

  /** `load_best_model_at_end`: loads the weights of the step with the best evaluation. */
  async loadBest(): Promise<void> {
    const { report, state: { best } } = this.run;
    if (best === null || best.step === 0) {
      const why = best === null ? "nothing was evaluated" : "no step was better than the start";
      return await report.warn(`load_best_model_at_end: ${why}, so the last weights stay`);
    }
    const path = await report.checkpoints.loadBest(best);
    report.emit({ type: "best_loaded", path, ...best });
  }

  /** Whether an evaluation is the best so far; if it is, the state remembers it. */
  #rememberIfBest(metrics: Metrics): boolean {
    const { state, options } = this.run;
    const { name, greaterIsBetter } = bestMetric(options.config.training);
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

  #shared() {
    const { options, prompts, state, stop, report } = this.run;
    const { model, config, dialogues = null } = options;
    return {
      model,
      prompts,
      dialogues,
      training: config.training,
      step: state.step,
      shouldStop: () => stop.requested(),
      onProgress: (done: number, total: number) =>
        report.emit({ type: "eval_progress", done, total }),
      ranks: stop.ranks,
    };
  }

  #timed<T>(work: () => Promise<T>): Promise<T> {
    return this.run.clock.time("eval", () => this.run.stop.during(work));
  }
}

/** Where no answer was found in any completion for problems of a data set: what to change. */
function whyUnread(items: readonly EvalItem[], { data, training }: RunConfig): string | null {
  const isOwn = data.dataset_name !== null || publishedPlace(data.task_name ?? "") !== null;
  const judged = items.filter(({ expected }) => expected !== null);
  if (!isOwn || judged.length === 0) return null;
  if (judged.some(({ extracted }) => extracted !== null)) return null;
  const what = `no answer could be extracted from any of the ${judged.length} completions of ` +
    "held-out problems, so their accuracy says nothing";
  if (judged.every(({ truncated }) => truncated)) {
    return `${what}: all were cut off, a larger training.max_completion_length lets them end ` +
      `(now ${training.max_completion_length})`;
  }
  return data.add_instructions
    ? `${what}: data.system_prompt may say the form again, and sft.max_steps teaches it`
    : `${what}: data.add_instructions=true asks for it between <answer> and </answer>`;
}

function evalSpeed(start: number, samples: number, batches?: number): Record<string, number> {
  const seconds = (performance.now() - start) / 1000;
  return {
    eval_runtime: seconds,
    eval_samples_per_second: samples / seconds,
    ...(batches === undefined ? {} : { eval_steps_per_second: batches / seconds }),
  };
}

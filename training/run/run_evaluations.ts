/**
 * The evaluations of a run on its held-out problems: before training, while training and after it,
 * with their records in the run's folder and their events.
 */
import { bestMetric } from "../../configs/best_metric.ts";
import { UsageError } from "../../core/errors.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { publishedPlace } from "../../hub/set_addresses.ts";
import { askedWhileTraining } from "../../data/held_out.ts";
import {
  type EvalItem,
  evalMetrics,
  type EvalResult,
  evaluate,
} from "../evaluation/before_and_after.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { RunContext } from "./run_context.ts";
import type { ReferencePolicy } from "../step/reference_policy.ts";
import { evaluateHeldOut } from "../evaluation/held_out_eval.ts";

/** Evaluates before (or after) training; null if no problems are held out. */
export async function evaluateAround(
  run: RunContext,
  moment: "before" | "after",
): Promise<EvalResult | null> {
  const { config, model, problems, rubric } = run.options, { heldOut } = problems;
  if (heldOut.length === 0) return null;
  run.report.phase(moment === "before" ? "eval_before" : "eval_after");
  const start = performance.now();
  const items: EvalItem[] = [];
  const result = await timed(run, () =>
    evaluate(heldOut, {
      model,
      prompts: run.prompts,
      training: config.training,
      eval: config.eval,
      shouldStop: () => run.stop.requested(),
      onProgress: (done, total) => run.report.emit({ type: "eval_progress", done, total }),
      onItem: (item) => items.push(item),
      rubric,
      step: run.state.step,
      onSpent: (spent) => run.spend(spent),
      ranks: run.ranks,
    }));
  run.clock.lap();
  await run.report.records.writeEvaluation(moment, items);
  const { step, epoch } = run.progress(), metrics = evalMetrics(result);
  await run.report.records.appendMetrics({
    step,
    epoch,
    split: "eval",
    ...metrics,
    ...evalSpeed(start, heldOut.length),
    ...run.memory.lap(),
  });
  run.report.records.addLog({ ...metrics, epoch, step });
  run.report.emit({ type: "eval", moment, result, items });
  const unread = whyUnread(items, config);
  if (unread !== null) await run.report.warn(unread);
  return result;
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

/**
 * Evaluates while training, if an evaluation is due after the current step and was not made yet:
 * on the validation problems, else on the held-out ones.
 */
export async function evaluateIfDue(
  run: RunContext,
  reference: ReferencePolicy | null,
): Promise<void> {
  const { state } = run, { config, model, problems, rubric } = run.options;
  const asked = askedWhileTraining(problems);
  if (asked.length === 0 || !run.intervals.evaluatesAt(state.step)) return;
  if (state.evaluatedStep === state.step) return;
  const start = performance.now();
  const { metrics, spent, ci95, problems: total, completions, batches } = await timed(
    run,
    () =>
      evaluateHeldOut(asked, {
        model,
        prompts: run.prompts,
        rubric,
        training: config.training,
        reference,
        step: state.step,
        shouldStop: () => run.stop.requested(),
        onProgress: (done, all) => run.report.emit({ type: "eval_progress", done, total: all }),
        ranks: run.ranks,
      }),
  );
  run.clock.lap();
  run.spend(spent);
  const epoch = run.epoch(), { step } = state;
  const line = { ...metrics, eval_ci95: ci95, eval_total: total };
  await run.report.records.appendMetrics({
    step,
    epoch,
    split: "eval",
    ...line,
    ...evalSpeed(start, completions, batches),
    ...run.memory.lap(),
  });
  run.report.records.addLog({ ...line, epoch, step });
  state.evaluatedStep = step;
  const improved = rememberIfBest(run, metrics);
  run.report.emit({ type: "held_out", step, metrics, ci95, total, improved });
}

/** `load_best_model_at_end`: loads the weights of the step with the best evaluation. */
export async function loadBest(run: RunContext): Promise<void> {
  const { best } = run.state;
  if (best === null || best.step === 0) {
    const why = best === null ? "nothing was evaluated" : "no step was better than the start";
    return await run.report.warn(`load_best_model_at_end: ${why}, so the last weights stay`);
  }
  const path = await run.report.records.checkpoints.loadBest(best);
  run.report.emit({ type: "best_loaded", path, ...best });
}

/** Whether an evaluation is the best so far; if it is, the state remembers it. */
function rememberIfBest({ state, options }: RunContext, metrics: Metrics): boolean {
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

function timed<T>(run: RunContext, work: () => Promise<T>): Promise<T> {
  return run.clock.time("eval", () => run.stop.during(work));
}

function evalSpeed(start: number, samples: number, batches?: number): Record<string, number> {
  const seconds = (performance.now() - start) / 1000;
  return {
    eval_runtime: seconds,
    eval_samples_per_second: samples / seconds,
    ...(batches === undefined ? {} : { eval_steps_per_second: batches / seconds }),
  };
}

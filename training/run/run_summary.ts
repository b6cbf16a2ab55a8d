/** What a run came to: its summary and the last line of its metrics. */
import type { EvalResult } from "../evaluation/before_and_after.ts";
import type { TrainSummary } from "./events.ts";
import type { RunContext } from "./run_context.ts";

export function summarize(
  run: RunContext,
  status: TrainSummary["status"],
  evalAfter: EvalResult | null,
): TrainSummary {
  const { state } = run, { config, problems, memory } = run.options;
  return {
    output_dir: config.training.output_dir,
    checkpoint: run.report.records.checkpoints.resultOf(status),
    status,
    steps: run.progress().step,
    seconds: run.seconds(),
    seconds_by_phase: run.clock.totals(),
    tokens_generated: state.tokensGenerated,
    tokens_trained: state.tokensTrained,
    memory_planned_bytes: memory?.peak ?? null,
    peak_memory_bytes: run.memory.peakBytes,
    eval_before: state.evalBefore,
    eval_after: evalAfter,
    item_overlap: state.heldOut?.changed ? null : problems.overlap,
    items_redrawn: problems.redrawn,
    skipped_steps: state.skippedSteps,
  };
}

/** The line of metrics.jsonl at the end of a completed run, which took `seconds`. */
export function finalMetrics(run: RunContext, seconds: number) {
  const { step, epoch, samples } = run.progress();
  return {
    step,
    epoch,
    split: "final",
    train_runtime: seconds,
    train_samples_per_second: samples / seconds,
    train_steps_per_second: step / seconds,
    // TRL's GRPO trainer does not count them either.
    total_flos: 0,
    train_loss: run.state.lossSum / step,
  };
}

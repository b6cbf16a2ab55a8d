/** What a run came to: how far it is, its summary and the last line of its metrics. */
import { supervisedBatch } from "../../configs/batch_sizes.ts";
import type { RunState } from "../checkpoint/run_state.ts";
import type { PhaseClock } from "../metrics/phase_clock.ts";
import type { TrainSummary } from "./events.ts";
import type { RunSizes } from "./run_sizes.ts";
import type { TrainerOptions } from "./trainer_options.ts";

/** Optimizer steps, epochs and examples. */
export interface Progress {
  step: number;
  epoch: number;
  samples: number;
}

/** The progress of GRPO or, in a supervised run, of the warm start. */
export function progressOf(
  { config, phases }: TrainerOptions,
  sizes: RunSizes,
  state: RunState,
): Progress {
  if (phases !== "sft") {
    const { step } = state;
    return { step, epoch: sizes.schedule.epoch(step), samples: step * sizes.rowsPerStep };
  }
  const step = state.warmStartStep, batch = supervisedBatch(config.sft!);
  const epoch = step / Math.floor(sizes.trainProblems / batch);
  return { step, epoch, samples: step * batch };
}

/** @param result what the session came to */
export function summarize(
  { config, problems, memory }: TrainerOptions,
  state: RunState,
  clock: PhaseClock,
  result: Pick<TrainSummary, "status" | "steps" | "checkpoint" | "eval_after">,
): TrainSummary {
  return {
    output_dir: config.training.output_dir,
    ...result,
    seconds: clock.seconds(),
    seconds_by_phase: clock.totals(),
    tokens_generated: state.tokensGenerated,
    tokens_trained: state.tokensTrained,
    memory_planned_bytes: memory?.peak ?? null,
    peak_memory_bytes: clock.memory!.peakBytes,
    eval_before: state.evalBefore,
    item_overlap: state.heldOut?.changed ? null : problems.overlap,
    items_redrawn: problems.redrawn,
    skipped_steps: state.skippedSteps,
  };
}

/** The line of metrics.jsonl at the end of a completed run, which took `seconds`. */
export function finalMetrics(
  { step, epoch, samples }: Progress,
  seconds: number,
  lossSum: number,
) {
  return {
    step,
    epoch,
    split: "final",
    train_runtime: seconds,
    train_samples_per_second: samples / seconds,
    train_steps_per_second: step / seconds,
    // TRL's GRPO trainer does not count them either.
    total_flos: 0,
    train_loss: lossSum / step,
  };
}

/** What a run would do, and what it came to: its summary and the last line of its metrics. */
import { supervisedBatch } from "../../configs/batch_sizes.ts";
import type { RunState } from "../checkpoint/run_state.ts";
import type { PhaseClock } from "../metrics/phase_clock.ts";
import type { TrainPlan, TrainSummary } from "./events.ts";
import type { RunSizes } from "./run_sizes.ts";
import type { TrainerOptions } from "./trainer_options.ts";
import { hasChatTemplate } from "../../bench/evaluation/prompt_encoder.ts";
import type { Entry } from "../../tasks/types.ts";
import { planDisk } from "./disk_plan.ts";

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
export function finalMetrics({ step, epoch, samples }: Progress, seconds: number, lossSum: number) {
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

export function trainPlan(
  { config, model, problems, rubric, tokenizer, phases = "all" }: TrainerOptions,
  sizes: RunSizes,
  state: RunState,
  resumedFrom: string | null,
): TrainPlan {
  const { training } = config, { source } = problems;
  const count = (list: readonly { shape: readonly number[] }[]) =>
    list.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
  return {
    phases,
    outputDir: training.output_dir,
    parameters: count(model.parameters),
    trainable: count(model.trainable),
    warmStartSteps: sizes.warmStartSteps,
    steps: sizes.totalSteps,
    promptsPerGeneration: sizes.promptsPerGeneration,
    stepsPerGeneration: sizes.schedule.perGeneration / training.gradient_accumulation_steps,
    numGenerations: training.num_generations,
    trainProblems: sizes.trainProblems,
    files: source.files ?? [],
    fileHeldOut: source.endless ? null : source.length("test"),
    heldOut: problems.heldOut.length,
    validation: problems.validation.length,
    heldOutTasks: source.mix === null ? null : tasksOf(problems.heldOut),
    chatTemplate: hasChatTemplate(tokenizer),
    heldOutChanged: state.heldOut?.changed ?? false,
    rewards: rubric.names,
    disk: planDisk({
      config,
      sizes,
      stored: count(config.lora === null ? model.parameters : model.trainable),
      tokenizer: [...tokenizer.files().values()]
        .reduce((sum, { length }) => sum + length, 0),
      phases,
      done: { warmStart: state.warmStartStep, steps: state.step },
    }),
    resumedFrom,
    warmStartDone: state.warmStartStep,
    stepsDone: state.step,
  };
}

function tasksOf(entries: readonly Entry[]): Record<string, number> {
  const byTask = Map.groupBy(entries, ({ metadata }) => String(metadata["source_dataset"]));
  return Object.fromEntries([...byTask].map(([task, { length }]) => [task, length]));
}

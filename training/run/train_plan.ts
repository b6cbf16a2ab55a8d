/**
 * What a run would do, from its parts and its state. Nothing is read or written.
 */
import { hasChatTemplate } from "../../bench/evaluation/prompt_encoder.ts";
import type { Entry } from "../../tasks/types.ts";
import { planDisk } from "./disk_plan.ts";
import type { TrainPlan } from "./events.ts";
import type { RunState } from "../checkpoint/run_state.ts";
import type { RunSizes } from "./run_sizes.ts";
import type { TrainerOptions } from "./trainer_options.ts";

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

/** The number of entries of each task. */
function tasksOf(entries: readonly Entry[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { metadata } of entries) {
    const task = String(metadata["source_dataset"]);
    counts[task] = (counts[task] ?? 0) + 1;
  }
  return counts;
}

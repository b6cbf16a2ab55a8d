/** What a training run is made of, and the sizes that follow from its configuration. */
import { batchSizes } from "../../configs/batch_sizes.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { UsageError } from "../../core/errors.ts";
import type { SlurmJob } from "../../core/machine/job.ts";
import type { SplitProblems } from "../../data/held_out.ts";
import type { Device } from "../../kernels/device.ts";
import type { LanguageModel } from "../../models/language_model.ts";
import type { Tokenizer } from "../../models/tokenizers/types.ts";
import type { Rubric } from "../../rewards/rubric.ts";
import type { ModelWriter } from "../checkpoint/checkpoint.ts";
import type { TrainControl } from "./train_control.ts";
import type { TrainListener } from "./events.ts";
import type { MemoryPlan } from "../memory/memory_plan.ts";
import { MicroSchedule } from "../step/micro_schedule.ts";

/** The parts of a run, and what else a trainer needs. */
export interface TrainerOptions {
  config: RunConfig;
  /** The merged configuration as YAML, for `config.yaml`. */
  configText: string;
  device: Device;
  /** On `device`, with something to train. Its weights are replaced on a resume. */
  model: LanguageModel;
  modelWriter: ModelWriter;
  tokenizer: Tokenizer;
  /** Ids that end a completion; default: the tokenizer's end token. */
  eosIds?: readonly number[];
  problems: SplitProblems;
  /** Number of training problems; default: data.num_examples. */
  trainProblems?: number;
  rubric: Rubric;
  /**
   * The model came with an adapter that is trained further: the reference of the KL term is a copy
   * of it.
   */
  continuesAdapter?: boolean;
  /**
   * Why prompts of so many tokens do not fit beside their completions; null: they do. Default: all
   * fit.
   */
  promptMisfit?: (tokens: number) => string | null;
  /** What the run was planned to take, for its summary. */
  memory?: MemoryPlan;
  /**
   * "sft": the supervised warm start alone, with an evaluation before and after it. Default: all
   * phases.
   */
  phases?: "all" | "sft";
  /** true: from the newest valid checkpoint of output_dir; a path: from that one. */
  resume?: boolean | string;
  /** Replace another run's files in output_dir. */
  force?: boolean;
  control?: TrainControl;
  /** The job that the run is in, for run.json; default: what the environment says. */
  job?: SlurmJob | null;
  listeners?: readonly TrainListener[];
}

export interface RunSizes {
  warmStartSteps: number;
  /** Completions of a generation batch (before dynamic sampling, if that leaves some out). */
  rowsPerGeneration: number;
  promptsPerGeneration: number;
  /** Completions of an optimizer step; the last one of an epoch may have fewer. */
  rowsPerStep: number;
  /** Which micro-batches are trained on when. */
  schedule: MicroSchedule;
  totalSteps: number;
  trainProblems: number;
}

/**
 * @param phases "sft": those of GRPO, which is not run, need not fit together
 * @throws UsageError when the sizes do not fit together
 */
export function runSizes(
  config: RunConfig,
  trainProblems: number,
  phases: "all" | "sft" = "all",
): RunSizes {
  const { sft } = config, training = phases === "all" ? config.training : withoutGroups(config);
  const sizes = batchSizes(training), { generationBatchSize: rowsPerGeneration } = sizes;
  if (rowsPerGeneration % training.num_generations !== 0) {
    throw new UsageError(
      `training: ${rowsPerGeneration} completions are generated at a time, which ` +
        `num_generations = ${training.num_generations} does not divide`,
      {
        advice:
          "Make per_device_train_batch_size × steps_per_generation (or gradient_accumulation_steps) " +
          "a multiple of num_generations.",
      },
    );
  }
  if (!Number.isInteger(sizes.stepsPerGeneration)) {
    throw new UsageError(
      `training: generation_batch_size = ${rowsPerGeneration} is no multiple of ` +
        `per_device_train_batch_size = ${training.per_device_train_batch_size}`,
    );
  }
  const { promptsPerGeneration } = sizes;
  const schedule = new MicroSchedule({
    accumulation: training.gradient_accumulation_steps,
    stepsPerGeneration: sizes.stepsPerGeneration,
    iterations: training.num_iterations,
    generationsPerEpoch: Math.floor(trainProblems / promptsPerGeneration),
  });
  return {
    warmStartSteps: sft?.max_steps ?? 0,
    rowsPerGeneration,
    promptsPerGeneration,
    rowsPerStep: sizes.completionsPerOptimizerStep,
    schedule,
    totalSteps: training.max_steps > 0
      ? training.max_steps
      : Math.ceil(training.num_train_epochs * schedule.stepsPerEpoch),
    trainProblems,
  };
}

/** Sizes that always fit, for a run without GRPO. */
function withoutGroups({ training }: RunConfig): RunConfig["training"] {
  return {
    ...training,
    generation_batch_size: null,
    steps_per_generation: null,
    gradient_accumulation_steps: 1,
    per_device_train_batch_size: training.num_generations,
  };
}

/** What a training run is made of, and the sizes that follow from its configuration. */
import type { RunConfig } from "../configs/run_config.ts";
import { UsageError } from "../core/errors.ts";
import type { SplitProblems } from "../data/held_out.ts";
import type { Device } from "../kernels/device.ts";
import type { LanguageModel, Tokenizer } from "../models/types.ts";
import type { Rubric } from "../rewards/rubric.ts";
import type { ModelWriter } from "./checkpoint.ts";
import type { TrainControl } from "./control.ts";
import type { TrainListener } from "./events.ts";

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
  /** The model came with an adapter that is trained further: the reference of the KL term is a copy of it. */
  continuesAdapter?: boolean;
  /** true: from the newest valid checkpoint of output_dir; a path: from that one. */
  resume?: boolean | string;
  /** Replace another run's files in output_dir. */
  force?: boolean;
  control?: TrainControl;
  listeners?: readonly TrainListener[];
}

export interface RunSizes {
  warmStartSteps: number;
  /** Completions of an optimizer step. */
  rowsPerStep: number;
  promptsPerStep: number;
  /** Steps of an epoch; the last incomplete chunk of problems is dropped. */
  chunksPerEpoch: number;
  totalSteps: number;
  trainProblems: number;
}

/** @throws UsageError when the sizes do not fit together. */
export function runSizes(config: RunConfig, trainProblems: number): RunSizes {
  const { training, sft } = config;
  const rowsPerStep = training.per_device_train_batch_size * training.gradient_accumulation_steps;
  if (rowsPerStep % training.num_generations !== 0) {
    throw new UsageError(
      `training: per_device_train_batch_size × gradient_accumulation_steps = ${rowsPerStep} ` +
        `completions a step, which num_generations = ${training.num_generations} does not divide`,
      { advice: "Make the product a multiple of num_generations." },
    );
  }
  const promptsPerStep = rowsPerStep / training.num_generations;
  const chunksPerEpoch = Math.floor(trainProblems / promptsPerStep);
  const totalSteps = training.max_steps > 0
    ? training.max_steps
    : Math.ceil(training.num_train_epochs * chunksPerEpoch);
  return {
    warmStartSteps: sft?.max_steps ?? 0,
    rowsPerStep,
    promptsPerStep,
    chunksPerEpoch,
    totalSteps,
    trainProblems,
  };
}

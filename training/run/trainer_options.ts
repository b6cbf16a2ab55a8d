/** What a training run is made of. */
import type { RunConfig } from "../../configs/schema/run_config.ts";
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

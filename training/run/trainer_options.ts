/** What a training run is made of. */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import type { SlurmJob } from "../../core/machine/job.ts";
import type { SplitProblems } from "../../data/held_out.ts";
import type { DialogueSetup } from "../../bench/dialogue/dialogue.ts";
import type { Device } from "../../kernels/device.ts";
import type { WeightStorage } from "../../models/formats/stored_weight.ts";
import type { CausalLM } from "../../models/causal_lm.ts";
import type { Tokenizer } from "../../models/tokenizers/types.ts";
import type { Ranks } from "../../cluster/ranks/ranks.ts";
import type { Rubric } from "../../rewards/rubric.ts";
import type { ModelWriter } from "../checkpoint/checkpoint_files.ts";
import type { TrainListener } from "./events.ts";
import type { Teacher } from "../model/teacher.ts";
import type { MemoryPlan } from "../memory/run_memory.ts";

/** The parts of a run and the options of a trainer. */
export interface TrainerOptions {
  /** What is trained, and how. */
  config: RunConfig;
  /** The complete configuration as YAML, for `config.yaml`. */
  configText: string;
  /** Where everything is computed. The caller closes it. */
  device: Device;
  /** On `device`, with trainable parameters. A resume replaces its weights. */
  model: CausalLM;
  /** @internal */
  modelWriter: ModelWriter;
  /** The model's tokenizer. */
  tokenizer: Tokenizer;
  /** Token ids that end a completion; default: the tokenizer's end token. */
  eosIds?: readonly number[];
  /** The problems to train on, and those that are held out. */
  problems: SplitProblems;
  /** Number of training problems; default: data.num_examples. */
  trainProblems?: number;
  /** The rewards, with their weights. */
  rubric: Rubric;
  /**
   * Environments, tools and limits of dialogues; default: an answer is one turn.
   * @internal
   */
  dialogues?: DialogueSetup | null;
  /**
   * The model was loaded with an adapter, which is trained further. The reference of the KL term is
   * then a copy of it.
   */
  continuesAdapter?: boolean;
  /**
   * Storage types of that copy; a weight that they round is float.
   * @internal
   */
  referenceStorage?: WeightStorage;
  /**
   * The model that the policy learns from; default: none.
   * @internal
   */
  teacher?: Teacher | null;
  /** Why prompts of so many tokens do not fit beside their completions; null: they do. */
  promptMisfit?: (tokens: number) => string | null;
  /** The memory plan of the run, for its summary. */
  memory?: MemoryPlan;
  /** "sft": the warm start alone, with an evaluation before and after it. */
  phases?: "all" | "sft";
  /** true: from the newest valid checkpoint of output_dir; a text: its name or path. */
  resume?: boolean | string;
  /** Replace the files of another run in output_dir. */
  force?: boolean;
  /**
   * Whether kernels are measured at the beginning of a run on a graphics card (at most 20 s); a
   * resumed run uses those of its checkpoint. Default: on a card, and not where a CPU emulates one.
   */
  tuneKernels?: boolean;
  /** How the run is asked to stop; default: it never is. */
  control?: TrainControl;
  /** The SLURM job of the run, for run.json; default: from the environment variables. */
  job?: SlurmJob | null;
  /** Called with each event, in this order. */
  listeners?: readonly TrainListener[];
  /**
   * The ranks of the run: all make a trainer with the same configuration. The first one writes the
   * run's folder. Default: this process alone.
   * @internal
   */
  ranks?: Ranks;
  /** The number of ranks that a plan is for; default: those of the run. */
  plannedRanks?: number;
}

/** How a run is told to stop. */
export interface TrainControl {
  /**
   * Called between two operations of the device, up to a million times in a run. "save": the run
   * ends the current work before the weights change, saves a checkpoint and ends with status
   * "stopped".
   */
  stopRequested(): "no" | "save";
  /** Why, in a word or two, once a stop was requested: "SIGUSR2", "the time limit". */
  readonly reason?: string | null;
  /** A checkpoint is being written, which should not be interrupted. */
  saving?(now: boolean): void;
}

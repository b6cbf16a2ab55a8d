/**
 * The events of a training run, for listeners such as the progress display and the trackers. The
 * trainer itself prints nothing.
 */
import type { LevelChange } from "../../tasks/curriculum/coach.ts";
import type { SourceFile } from "../../data/problem_source.ts";
import type { DiskPlan } from "./disk_plan.ts";
import type { Advice } from "../diagnosis/diagnosis.ts";
import type { EvalItem, EvalResult } from "../evaluation/before_and_after.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { SecondsByPhase } from "../metrics/phase_clock.ts";

/** Phases of a run, in order. */
export type TrainPhase = "warm_start" | "eval_before" | "grpo" | "eval_after" | "finish";

/** What a run will do. */
export interface TrainPlan {
  /** All phases, or the supervised warm start alone with an evaluation before and after it. */
  phases: "all" | "sft";
  /** The folder of the run. */
  outputDir: string;
  /** Number of parameters of the model, and of those that are trained. */
  parameters: number;
  /** Number of parameters that are trained. */
  trainable: number;
  /** Supervised steps before GRPO; 0: none. */
  warmStartSteps: number;
  /** Optimizer steps of GRPO, or of the warm start where it is all. */
  steps: number;
  /** Different prompts of a generation batch. */
  promptsPerGeneration: number;
  /** Steps on one generation batch; below 1 where a step takes several batches. */
  stepsPerGeneration: number;
  /** Completions of each prompt. */
  numGenerations: number;
  /** Problems that are trained on. */
  trainProblems: number;
  /** The files that the problems were read from. */
  files: readonly SourceFile[];
  /** Held-out entries of a data file; null for tasks, which generate any number. */
  fileHeldOut: number | null;
  /** Problems that only evaluations use. */
  heldOut: number;
  /** Problems of the validation split, which evaluations while training use. */
  validation: number;
  /** How many of the held-out problems are of each task, of several; else null. */
  heldOutTasks: Readonly<Record<string, number>> | null;
  /** Whether the model has a chat template. */
  chatTemplate: boolean;
  /** An earlier session held out other problems. */
  heldOutChanged: boolean;
  /** Names of the rewards. */
  rewards: readonly string[];
  /** What the run will write to its folder. */
  disk: DiskPlan;
  /** Checkpoint that the run resumes from, or null. */
  resumedFrom: string | null;
  /** Steps that are done already. */
  warmStartDone: number;
  /** Steps of GRPO that are done already. */
  stepsDone: number;
}

/** A completion of a step with its rewards. */
export interface SampledCompletion {
  /** Without special tokens. */
  text: string;
  /** Unweighted, in the order of `rewardNames`; null: did not apply. */
  rewards: readonly (number | null)[];
  /** What the loss weighs the completion with. */
  advantage: number;
}

/** The result of a run; `rgx train --json` prints the same. */
export interface TrainSummary {
  /** The folder of the run, which `loadModel` reads. */
  output_dir: string;
  /**
   * The newest checkpoint, or the best one if that was loaded at the end; null: none was written.
   */
  checkpoint: string | null;
  /** "stopped": it can be resumed. */
  status: "completed" | "stopped" | "failed";
  /** Optimizer steps that were done, also in earlier sessions. */
  steps: number;
  /** Seconds of all sessions of the run. */
  seconds: number;
  /** The same by what it went into. */
  seconds_by_phase: SecondsByPhase;
  /** Tokens that were sampled. */
  tokens_generated: number;
  /** Number of completion tokens in the loss. */
  tokens_trained: number;
  /** Planned device memory (null: not planned), and the measured peak. */
  memory_planned_bytes: number | null;
  /** Measured peak of device memory. */
  peak_memory_bytes: number;
  /** Accuracy on held-out problems before training; null: not measured. */
  eval_before: EvalResult | null;
  /** The same after training. */
  eval_after: EvalResult | null;
  /** Training problems that are held out too; null: an earlier session held out others. */
  item_overlap: number | null;
  /** Training problems that were replaced because they were held out. */
  items_redrawn: number;
  /** Optimizer steps that were skipped because the gradient was not finite. */
  skipped_steps: number;
}

/** The events in order: `plan` is first and `done` last. */
export type TrainEvent =
  | { type: "plan"; plan: TrainPlan }
  | {
    /** The kernels of a graphics card were chosen, before the first step. */
    type: "kernels";
    /** Numbers of classes of shapes: measured now, known from before, not measured. */
    measured: number;
    known: number;
    left: number;
    /** How many of them use another kernel than without a measurement. */
    changed: number;
    seconds: number;
  }
  | { type: "phase"; phase: TrainPhase }
  | {
    /** After every optimizer step. */
    type: "step";
    phase: "warm_start" | "grpo";
    step: number;
    totalSteps: number;
    metrics: Metrics;
    /** Tokens generated and trained in this step. */
    tokens: { generated: number; trained: number };
  }
  | {
    /** The level of a task changes after this step. */
    type: "curriculum";
    step: number;
    change: LevelChange;
  }
  | { type: "log"; step: number; totalSteps: number; metrics: Metrics }
  | {
    /** One prompt of the step with its completions, emitted with every log. */
    type: "sample";
    step: number;
    question: string;
    answer: string | null;
    prompt: string;
    rewardNames: readonly string[];
    completions: readonly SampledCompletion[];
  }
  | {
    /** All prompts and completions of a step, emitted after it. */
    type: "completions";
    step: number;
    rewardNames: readonly string[];
    groups: readonly {
      question: string;
      answer: string | null;
      prompt: string;
      completions: readonly SampledCompletion[];
    }[];
  }
  | { type: "eval_progress"; done: number; total: number }
  | {
    type: "eval";
    moment: "before" | "after";
    result: EvalResult;
    /** The problems with their completions, first those at the run's temperature. */
    items: readonly EvalItem[];
  }
  | {
    /** An evaluation while training. */
    type: "held_out";
    step: number;
    /** Names begin with `eval_`. */
    metrics: Metrics;
    /** Confidence interval of eval_accuracy over `total` problems. */
    ci95: [low: number, high: number];
    total: number;
    /** Whether it is the best so far, by metric_for_best_model. */
    improved: boolean;
  }
  | { type: "checkpoint"; path: string; step: number }
  | {
    /** load_best_model_at_end: these weights are the result of the run. */
    type: "best_loaded";
    path: string;
    step: number;
    metric: number;
  }
  | { type: "warning"; message: string }
  | {
    /** Why the run does not get better, and what to try. */
    type: "advice";
    step: number;
    advice: Advice;
  }
  | { type: "done"; summary: TrainSummary };

/** Called with every event; an error that it throws ends the run. */
export type TrainListener = (event: TrainEvent) => void;

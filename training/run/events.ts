/**
 * What a training run tells those who listen (progress display, trackers). The trainer prints
 * nothing.
 */
import type { LevelChange } from "../../tasks/curriculum/coach.ts";
import type { Advice } from "../diagnosis/advice.ts";
import type { EvalResult } from "../../evaluation/evaluate.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { SecondsByPhase } from "../metrics/phase_clock.ts";

/** Phases of a run, in their order. */
export type TrainPhase = "warm_start" | "eval_before" | "grpo" | "eval_after" | "finish";

/** What a run is going to do. */
export interface TrainPlan {
  /** All of them, or the supervised warm start alone with an evaluation before and after it. */
  phases: "all" | "sft";
  outputDir: string;
  /** Parameters of the model, and how many of them are trained. */
  parameters: number;
  trainable: number;
  warmStartSteps: number;
  steps: number;
  promptsPerGeneration: number;
  /** Optimizer steps that a generation batch serves; below 1 where a step takes several. */
  stepsPerGeneration: number;
  numGenerations: number;
  trainProblems: number;
  /** Entries of a data file that are not trained on; 0 where a task makes as many as are wanted. */
  keptBack: number;
  heldOut: number;
  /** Others were held out before the run was resumed. */
  heldOutChanged: boolean;
  rewards: readonly string[];
  /** Checkpoint that the run continues, or null. */
  resumedFrom: string | null;
  /** Steps already done. */
  warmStartDone: number;
  stepsDone: number;
}

/** A completion of a step, with what it was worth. */
export interface SampledCompletion {
  /** Special tokens left out. */
  text: string;
  rewards: readonly (number | null)[];
  advantage: number;
}

/** What a run came to; `rgx train --json` prints the same. */
export interface TrainSummary {
  output_dir: string;
  /**
   * The newest, or of a completed run the best where it was loaded at the end; null when none was
   * written.
   */
  checkpoint: string | null;
  status: "completed" | "stopped" | "failed";
  steps: number;
  seconds: number;
  seconds_by_phase: SecondsByPhase;
  tokens_generated: number;
  tokens_trained: number;
  /** Device memory as planned before step 1 (null: it was not), and the most that was taken. */
  memory_planned_bytes: number | null;
  peak_memory_bytes: number;
  eval_before: EvalResult | null;
  eval_after: EvalResult | null;
  /**
   * Training problems that are also held out; null: not known, since a resumed run held out others
   * before.
   */
  item_overlap: number | null;
  /** Training problems drawn again because they were held out. */
  items_redrawn: number;
  /** Optimizer steps left out because the gradient was not finite. */
  skipped_steps: number;
}

/** What a run tells its listeners, in order; `plan` is first and `done` last. */
export type TrainEvent =
  | { type: "plan"; plan: TrainPlan }
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
    /** A task goes on with harder or easier problems after this step. */
    type: "curriculum";
    step: number;
    change: LevelChange;
  }
  | { type: "log"; step: number; totalSteps: number; metrics: Metrics }
  | {
    /** One prompt of the step with its completions, at every log. */
    type: "sample";
    step: number;
    question: string;
    answer: string | null;
    prompt: string;
    rewardNames: readonly string[];
    completions: readonly SampledCompletion[];
  }
  | {
    /** All that was generated for a step, after it. */
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
  | { type: "eval"; moment: "before" | "after"; result: EvalResult }
  | {
    /** An evaluation while training. */
    type: "held_out";
    step: number;
    /** With `eval_` names. */
    metrics: Metrics;
    /** Interval of eval_accuracy over `total` problems. */
    ci95: [low: number, high: number];
    total: number;
    /** Best so far, by metric_for_best_model. */
    improved: boolean;
  }
  | { type: "checkpoint"; path: string; step: number }
  | {
    /** load_best_model_at_end: its weights are the result of the run. */
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

/** Is told every event; what it throws ends the run. */
export type TrainListener = (event: TrainEvent) => void;

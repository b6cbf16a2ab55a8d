/** The types of the JSON that the dashboard's server sends to its page. */
import type { Accuracy } from "../../bench/evaluation/accuracy.ts";
import type { PairedTest } from "../../bench/evaluation/matched_pairs.ts";
import type {
  Failure,
  ModelResult,
  PairedComparison,
  SampleResult,
} from "../../bench/results/result_file.ts";
import type { Session } from "../../training/run/sessions.ts";
import type { RunRecord } from "../run_report/run_record.ts";

/**
 * The state of a run: the words of `run.json`, and further ones for states that only other files
 * show.
 */
export type RunStatus = "running" | "completed" | "stopped" | "failed" | "killed" | "unknown";

/** Correct answers to held-out problems. */
export type AccuracyInfo = Pick<Accuracy, "accuracy" | "ci95" | "total">;

/** What people write about a run; `notes.json` in its folder keeps it. */
export interface Notes {
  tags: string[];
  note: string;
}

/** A run in the list. Times are ISO 8601; unknown values are null. */
export interface RunInfo extends Notes {
  id: string;
  /** The folder's name, with enough folders above it to be distinct. */
  name: string;
  /** `logging.run_name` of its configuration. */
  runName: string | null;
  folder: string;
  status: RunStatus;
  step: number | null;
  totalSteps: number | null;
  /** From 0 to 1. */
  progress: number | null;
  /** Estimated from the time of the latest steps. */
  secondsLeft: number | null;
  started: string | null;
  /** The newest time at which one of its files changed. */
  lastSign: string | null;
  /** Values of the newest step, by the names of metrics.jsonl. */
  latest: Record<string, number>;
  before: AccuracyInfo | null;
  after: AccuracyInfo | null;
  /** After minus before, over the same problems; null: not measured. */
  gain: PairedTest | null;
  /** Seconds that its sessions have taken. */
  seconds: number | null;
  /** Completions of a step. */
  samplesPerStep: number | null;
  /** The same for runs whose configurations differ only in seeds and names. */
  family: string;
  model: string | null;
  task: string | null;
  device: string | null;
  job: { id: string; name: string | null; node: string | null; restarts: number } | null;
  restarts: number;
  restartsWithoutProgress: number;
  hasCompletions: boolean;
  /** Problems with the run's files, in sentences. */
  problems: string[];
}

/** A run with everything that its own page shows. */
export interface RunDetails extends RunInfo {
  sessions: Session[];
  /** Seconds until the job's time limit, by SLURM. */
  jobSecondsLeft: number | null;
  secondsByPhase: Record<string, number>;
  /** Warnings and advice in their order. */
  remarks: RunRecord["remarks"];
  error: string | null;
  /** The weight of each reward in the sum. */
  weights: Record<string, number>;
}

/** What the page of a run gets. */
export interface RunPage extends RunDetails {
  /** The address of its report; null: there is none. */
  report: string | null;
}

export type SparkAccuracy = AccuracyInfo & { step: number };

/** What the list shows of a run's metrics. */
export interface Spark {
  /** Some rewards, in the order of the steps. */
  reward: (number | null)[];
  /** The first and the newest evaluation while training. */
  first: SparkAccuracy | null;
  now: SparkAccuracy | null;
}

export interface BenchmarkInfo {
  id: string;
  name: string;
  folder: string;
  created: string | null;
}

export interface Overview {
  folders: string[];
  runs: RunInfo[];
  benchmarks: BenchmarkInfo[];
  version: string;
  /** Whether the page may start runs. */
  allowsRuns: boolean;
}

/** A key of a configuration in the form of a new run. */
export interface LaunchKey {
  key: string;
  /** What kind of value is expected, and all values if there are few. */
  expected: string;
  values: string[];
  meaning: string;
  /** The default, and the value in the recipe. */
  usual: string;
  value: string;
}

export interface LaunchForm {
  recipes: string[];
  recipe: string;
  keys: LaunchKey[];
}

/** The answer of a process: its messages, and whether it did what was asked. */
export interface Said {
  isOk: boolean;
  text: string;
}

/** A curve, thinned: the lowest and the highest value of each part of the steps. */
export interface Curve {
  steps: number[];
  values: (number | null)[];
  /** The smoothed values at the same steps; absent without smoothing. */
  smooth?: number[];
  /** The 95 % interval at each step, for accuracies. */
  low?: (number | null)[];
  high?: (number | null)[];
}

export interface CurvesOfRun {
  run: string;
  /** false: only some lines of the file have been read yet. */
  complete: boolean;
  /** All metrics of the run. */
  metrics: string[];
  curves: Record<string, Curve>;
  /** Seconds since the first step. */
  clock: Curve;
  problems: string[];
}

export interface CompletionRow {
  step: number;
  /** Position in the file of the step. */
  row: number;
  prompt: string;
  completion: string;
  /** The right answer; null: many are right, or it was not recorded. */
  expected: string | null;
  /** The messages of a dialogue; null: one answer. The loss counts those of the assistant. */
  dialogue: { role: string; text: string }[] | null;
  /** Why it ended, if not by itself. */
  ending: string | null;
  /** null: no answer was found. */
  extracted: string | null;
  rewards: Record<string, number | null>;
  advantage: number | null;
  /** Further columns that rewards have written. */
  extras: Record<string, string | number | boolean | null>;
}

export interface CompletionPage {
  rows: CompletionRow[];
  /** Where the next page begins; null at the end. */
  next: string | null;
  /** Steps that have completions: the first, the last, and how many. */
  steps: { first: number; last: number; count: number } | null;
  /** Number of steps that were searched for this page. */
  searched: number;
  problems: string[];
  /** All rewards of the run. */
  rewards: string[];
}

export interface ConfigComparison {
  first: { id: string; name: string; text: string };
  second: { id: string; name: string; text: string } | null;
  /** Every key with the values of both, as JSON; null: not set. */
  keys: { key: string; first: string | null; second: string | null; differs: boolean }[];
  problems: string[];
}

/** The answers of two runs to the same held-out problems after training. */
export interface AnswerPairs {
  /** Second minus first; null: the runs were not asked the same. */
  test: PairedTest | null;
  /** Problems that one of them has right. */
  different: {
    question: string;
    expected: string | null;
    first: string;
    second: string;
    firstIsRight: boolean;
  }[];
}

export interface BenchmarkDetails extends BenchmarkInfo {
  tasks: string[];
  models: string[];
  /** Why the file cannot be shown. */
  problem: string | null;
  results: { task: string; models: (Omit<ModelResult, "examples"> & { model: string })[] }[];
  averages: ({ model: string } & Pick<ModelResult, "accuracy" | "ci95">)[];
  comparisons: PairedComparison[];
  failures: Failure[];
}

/** An answer of a model to a problem. */
export interface ExampleAnswer extends SampleResult {
  model: string;
  isRight: boolean;
}

/** A problem with the answers of all models. */
export interface ExampleRow {
  index: number;
  question: string;
  expected: string | null;
  answers: ExampleAnswer[];
}

export interface ExamplePage {
  rows: ExampleRow[];
  /** Number of problems that fit the filter. */
  total: number;
  next: number | null;
}

/** An event of the stream: ids of runs whose files changed, and whether the list changed. */
export interface Changes {
  metrics: string[];
  states: string[];
  completions: string[];
  list: boolean;
}

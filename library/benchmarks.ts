/**
 * Benchmarks, their charts, and the page that shows runs and benchmarks. docs/library.md has
 * examples.
 * @module
 */
export { type Benchmark, benchmark, type BenchmarkOptions } from "../bench/benchmark.ts";
export type { BenchEvent, Shard } from "../bench/benchmark_run.ts";
export type { TaskRequest } from "../bench/plan/test_set.ts";
export type { RemoteOptions, RemoteUsage } from "../core/remote/server.ts";
export type { WorkerOptions } from "../bench/workers/worker_pool.ts";
export type { ModelDevice } from "../bench/local/local_model.ts";
export type { AskedDialogues, AskedModels } from "../bench/plan/model_plan.ts";
export type { AskedTasks } from "../bench/plan/task_plan.ts";
export type {
  DialogueFacts,
  DialogueKeys,
  DialogueLimits,
  DialogueRecord,
  StopReason,
} from "../bench/dialogue/dialogue.ts";
export {
  type AllTasksResultFile,
  type DialogueSummary,
  type ExampleResult,
  type Failure,
  type Interval,
  type ModelAverage,
  type ModelResult,
  type PairedComparison,
  type PromptRecord,
  readResultFile,
  RESULT_FORMAT,
  type ResultFile,
  type RunHeader,
  type SampleResult,
  type SampleStatistics,
  type Sampling,
  type TaskResultFile,
  type TaskResults,
} from "../bench/results/result_file.ts";
export type { Took } from "../bench/answerer.ts";
export type { SamplingSettings } from "../bench/evaluation/sampling.ts";
export type { LocalTime } from "../core/local_time.ts";
export type { PromptSettings } from "../bench/evaluation/prompt_settings.ts";
export { type Plot, type PlotOptions, plotResults } from "../reports/charts/plot_results.ts";
export { type Curves, type CurvesOptions, plotCurves } from "../reports/charts/curves.ts";
export {
  type Dashboard,
  type DashboardOptions,
  startDashboard,
} from "../reports/dashboard/server.ts";
